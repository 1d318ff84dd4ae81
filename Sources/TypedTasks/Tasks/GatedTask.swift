import Foundation
import Futures

/// A task that runs an operation of any kind.
///
/// When the task executes, it waits for the operation's own dependencies, starts the
/// operation once, and holds its slot until the operation has finished. Then the task
/// succeeds, or is cancelled if the operation was cancelled. Cancelling the task cancels
/// the operation. A task that a timeout ends also keeps its slot and its categories until
/// the operation has finished; a task that you finish with `finish(with:)` does not. If the
/// operation has finished before, or other code has started it, the task only waits for it. If
/// several tasks run one operation, the first of them starts it. If a future or task depends on
/// the gated task that runs it, one of the two fails with ``ProducerTaskError/cycle(path:)``.
///
/// The operation must be in no queue. On Linux the task waits for an operation that is.
/// Foundation on Apple platforms does not tell whether an operation is in a queue, and
/// stops a process that starts such an operation or adds it to a second queue.
public final class GatedTask: NonFailTask, @unchecked Sendable {
  // Sendable: adds no state.

  /// The operation.
  public var operation: Operation { unsafeDowncast(core, to: GatedCore.self).operation }

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
    super.init(
      core: GatedCore(operation), name: name, qos: qos, priority: priority,
      at: Birthplace(fileID, line))
  }

  /// The unfinished operations that a task of this class starts, or has started.
  private static let begun = Lock<Set<ObjectIdentifier>>([])

  /// Starts the operation, at once or as soon as it is ready.
  public override func execute() {
    if operation.isFinished { return finishLikeOperation() }
    if let future = operation as? AnyFuture {
      // An edge of the graph: the future may wait for this task.
      let waiter = SettlementWaiter(self, for: future, as: .part)
      waiter.start()
      if core.failIfCircular(self, waitingFor: future) { return waiter.withdraw(cancelling: false) }
    }
    // In one step: another task may run the same operation at this moment.
    let id = ObjectIdentifier(operation)
    let isFirst = Self.begun.withLock { $0.insert(id).inserted }
    // Not when the future has settled: its closure may still run.
    _ = OperationObserver(of: operation) { [self] in
      if isFirst { Self.begun.withLock { _ = $0.remove(id) } }
      finishLikeOperation()
    }
    if isFirst { startOperation() }
  }

  private func startOperation() {
    let future = operation as? AnyFuture
    // A queue starts what is in it.
    if let future, future.belongsToQueue { return }
    if let core = future?.taskCore, core.phase != .created { return }
    // If other code has started or enqueued the operation, the task only waits.
    guard !operation.isExecuting, !operation.isFinished else { return }
    if operation.isInOperationQueue == true { return }
    if operation.isReady, future?.taskCore == nil {
      operation.start()
    } else {
      // A queue of its own waits for its dependencies, and for anything else that makes
      // it ready.
      let queue = OperationQueue()
      queue.qualityOfService = qualityOfService
      queue.addUnlessFinished(operation)
    }
  }

  private func finishLikeOperation() {
    finish(
      with: operation.isCancelled
        ? .failure(.internal(core.errorOfCancellation(of: self))) : .success)
  }
}

private final class GatedCore: FinalTaskCore<Void, Never>, @unchecked Sendable {
  // Sendable: `kept` has a lock.

  // The operation, until the task is released. A search may still know the core then.
  private let kept: Lock<Operation?>

  init(_ operation: Operation) { kept = Lock(operation) }

  /// The operation; an empty one while the task is released.
  var operation: Operation { kept.withLock { $0 } ?? Operation() }

  override var endsWhenCancelledWorkReturns: Bool { false }
  override var hasParts: Bool { kept.withLock { $0 is AnyFuture } }
  override var parts: [AnyFuture] {
    kept.withLock { ($0 as? AnyFuture).map { [$0] } ?? [] }
  }
  override func takeParts() -> [AnyFuture] {
    (kept.withLock { $0.take() } as? AnyFuture).map { [$0] } ?? []
  }

  override func workIsAskedToCancel(_ task: AnyFuture) {
    // The timeout that asks may end the task before the operation has ended.
    if workGoesOn() { _ = OperationObserver(of: operation) { [self] in workHasEnded() } }
    operation.cancel()
  }

  override func taskHasSettled(_ task: AnyFuture) { if task.isCancelled { operation.cancel() } }
}
