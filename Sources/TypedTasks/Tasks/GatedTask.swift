import Foundation
import Futures

/// An operation of any kind as a task.
///
/// When the task runs, it waits for the operation's own dependencies, starts
/// the operation, once, and holds its slot until the operation has finished.
/// The task succeeds then; it is cancelled if the operation was. Cancelling the
/// task cancels the operation. An operation that has finished before, or that
/// somebody else has started, is only waited for.
public final class GatedTask: NonFailTask, @unchecked Sendable {
  // Sendable: `finishObservers` and `hasStarted` have locks, the rest never changes.

  /// The operation.
  public let operation: Operation
  private let finishObservers = Lock<[FinishObserver]>([])
  private let hasStarted = Lock(false)

  /// Makes a task.
  ///
  /// - Parameters:
  ///   - name: A name for people; that of the type if `nil`.
  ///   - qos: The quality of service of the work.
  ///   - priority: The priority among the tasks of a queue that are ready.
  ///   - operation: The operation; one that is in no queue.
  ///   - fileID: The file to name in descriptions; leave it out.
  ///   - line: The line to name in descriptions; leave it out.
  public init(
    name: String? = nil, qos: QualityOfService = .default,
    priority: Operation.QueuePriority = .normal, operation: Operation,
    fileID: StaticString = #fileID, line: UInt = #line
  ) {
    self.operation = operation
    super.init(
      core: GatedCore(), name: name, qos: qos, priority: priority,
      at: Birthplace(fileID, line))
  }

  /// Waits for what the operation depends on, and starts it.
  public override func execute() {
    if operation.isFinished { return finishLikeOperation() }
    observe(operation) { [self] in finishLikeOperation() }
    let awaited = operation.dependencies.filter { !$0.isFinished }
    if awaited.isEmpty { return startOperation() }
    let remaining = Lock(awaited.count)
    let count = RemainingCount(remaining)
    for dependency in awaited {
      observe(dependency) { [self] in
        if count.isLast() { startOperation() }
      }
    }
  }

  private func observe(_ operation: Operation, _ action: @escaping @Sendable () -> Void) {
    let observer = FinishObserver(armedFor: operation) { _ in action() }
    finishObservers.withLock { $0.append(observer) }
    observer.start(observing: operation)
  }

  private func startOperation() {
    let isFirst = hasStarted.withLock { hasStarted in
      defer { hasStarted = true }
      return !hasStarted
    }
    // (Started by somebody else: it is only waited for.)
    guard isFirst, !operation.isExecuting, !operation.isFinished, operation.isReady else { return }
    operation.start()
  }

  private func finishLikeOperation() {
    finish(
      with: operation.isCancelled
        ? .failure(.internal(ProducerTaskError.cancelled)) : .success)
  }

  fileprivate func cancelOperation() {
    operation.cancel()
    // A cancelled operation waits for nothing.
    startOperation()
  }

  fileprivate func release() {
    let observers = finishObservers.withLock { observers in
      defer { observers = [] }
      return observers
    }
    for observer in observers { observer.stop() }
    if isCancelled { operation.cancel() }
  }
}

/// Counts down to the last of several.
private final class RemainingCount: @unchecked Sendable {
  // Sendable: the number has a lock.
  private let remaining: Lock<Int>

  init(_ count: consuming Lock<Int>) { remaining = count }

  func isLast() -> Bool {
    remaining.withLock { remaining in
      remaining -= 1
      return remaining == 0
    }
  }
}

private final class GatedCore: FinalTaskCore<Void, Never>, @unchecked Sendable {
  // Sendable: adds no state.
  override var endsWhenCancelledWorkReturns: Bool { false }

  override func workIsAskedToCancel(_ task: AnyFuture) {
    unsafeDowncast(task, to: GatedTask.self).cancelOperation()
  }

  override func taskHasSettled(_ task: AnyFuture) {
    unsafeDowncast(task, to: GatedTask.self).release()
  }
}
