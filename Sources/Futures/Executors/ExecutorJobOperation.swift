import Foundation

/// Runs a job of a Swift executor in a slot of an operation queue.
///
/// A job is a piece of a Swift task. If it did not run, its task would wait for ever. So
/// cancelling the operation does nothing: to end the work, cancel the task.
final class ExecutorJobOperation: Operation, @unchecked Sendable {
  // Sendable: nothing changes after init.
  private let body: @Sendable () -> Void

  init(_ body: @escaping @Sendable () -> Void) { self.body = body }

  override func cancel() {}
  override func main() { body() }
}

extension JobPriority {
  /// The priority of an operation that runs a job.
  var queuePriority: Operation.QueuePriority {
    if rawValue > TaskPriority.medium.rawValue { return .high }
    if rawValue >= TaskPriority.medium.rawValue { return .normal }
    return rawValue > TaskPriority.background.rawValue ? .low : .veryLow
  }
}
