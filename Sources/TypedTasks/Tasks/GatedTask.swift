import Foundation
import Futures

/// A task that runs an operation of any kind.
///
/// When the task executes, it waits for the operation's own dependencies, starts the
/// operation once, and holds its slot until the operation has finished. Then the task
/// succeeds, or is cancelled if the operation was cancelled. Cancelling the task cancels
/// the operation. If the operation has finished before, or other code has started it, the
/// task only waits for it.
///
/// The operation must be in no queue. On Linux the task waits for an operation that is.
/// Foundation on Apple platforms does not tell whether an operation is in a queue, and
/// stops a process that starts such an operation or adds it to a second queue.
public final class GatedTask: NonFailTask, @unchecked Sendable {
  // Sendable: `state` has a lock, the rest never changes.

  /// The operation.
  public let operation: Operation
  private let state = Lock(State())

  private struct State {
    var observer: OperationObserver?
    var hasStarted = false
  }

  /// Makes a task.
  ///
  /// - Parameters:
  ///   - name: A name for descriptions; the name of the type if `nil`.
  ///   - qos: The quality of service of the work.
  ///   - priority: The priority among the ready tasks of a queue.
  ///   - operation: An operation that is in no queue.
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

  /// Starts the operation, at once or as soon as it is ready.
  public override func execute() {
    if operation.isFinished { return finishLikeOperation() }
    let observer = OperationObserver(of: operation)
    state.withLock { $0.observer = observer }
    observer.start { [self] in finishLikeOperation() }
    startOperation()
  }

  private func startOperation() {
    let isFirst = state.withLock { state in
      defer { state.hasStarted = true }
      return !state.hasStarted
    }
    // If other code has started or enqueued the operation, the task only waits.
    guard isFirst, !operation.isExecuting, !operation.isFinished else { return }
    if operation.isInOperationQueue == true { return }
    if operation.isReady {
      operation.start()
    } else {
      // A queue of its own waits for its dependencies, and for anything else that makes
      // it ready.
      let queue = OperationQueue()
      queue.qualityOfService = qualityOfService
      queue.addReliably(operation)
    }
  }

  private func finishLikeOperation() {
    finish(
      with: operation.isCancelled
        ? .failure(.internal(ProducerTaskError.cancelled)) : .success)
  }

  fileprivate func cancelOperation() { operation.cancel() }

  fileprivate func release() {
    let observer = state.withLock { $0.observer.take() }
    observer?.stop()
    if isCancelled { operation.cancel() }
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
