import Foundation

/// Starts operations as barriers of a queue.
package struct BarrierContext: QueueBackedContext {
  package let queue: OperationQueue
  /// Whether operations in the queue may depend on the barrier already.
  private let isLate: Bool

  package init(queue: OperationQueue, isLate: Bool = false) {
    self.queue = queue
    self.isLate = isLate
  }

  package func execute(_ operation: Operation) {
    PendingMembers.close(queue) { add(operation, closed: $0) }
  }

  private func add(_ operation: Operation, closed: [PendingMembers]) {
    #if !canImport(Darwin)
      if queue.hasBarrierOperations {
        return BarrierOperation.add(operation, to: queue, isLate: isLate)
      }
    #endif
    // What waits enters such a queue in front of the barrier, where it is a member.
    if let queue = queue as? any SlotQueue { return queue.addBarrier(operation) }
    for operation in closed.flatMap(\.operationsToCome) { operation.enterQueue() }
    let block = BarrierBlock(operation)
    queue.addBarrierBlock { block.run() }
    #if !canImport(Darwin)
      GateFinder.keepGates(of: queue)
    #endif
  }
}

#if !canImport(Darwin)
  /// Finds Foundation's barriers in a queue of a subclass: they are its dependencies.
  ///
  /// The operations in front of such a barrier keep unowned pointers to it. If all operations of
  /// the queue are cancelled, the barrier may be released before the operations in front have
  /// finished, and the program crashes then. So these operations keep the barrier.
  private final class GateFinder: PlaceholderOperation, @unchecked Sendable {
    // Sendable: adds no state.
    static func keepGates(of queue: OperationQueue) {
      guard Gates.canBeFound else { return }
      let finder = GateFinder()
      queue.addOperation(finder)
      // A subclass may pass it on later, on another thread. It is an operation like any other
      // then.
      let gate = OperationState.isAdopted(finder) ? finder.leaveGates().last : nil
      finder.becomeReady()
      if let gate { GateKeeper(gate).begin() }
    }
  }

  /// Keeps a barrier of Foundation, and itself, until all operations in front have finished.
  ///
  /// It depends on them, and is in no queue: see `OperationObserver`.
  private final class GateKeeper: Operation, @unchecked Sendable {
    // Sendable: `kept` has a lock.
    private let kept: Lock<(gate: Operation, keeper: GateKeeper?)?>

    init(_ gate: Operation) { kept = Lock((gate, nil)) }

    func begin() {
      for operation in kept.withLock({ $0?.gate })?.dependencies ?? [] {
        super.addDependency(operation)
      }
      kept.withLock { $0?.keeper = self }
      endIfAllHaveFinished()
    }

    /// Foundation reads this property whenever a dependency has finished.
    override var isReady: Bool { endIfAllHaveFinished() }

    @discardableResult
    private func endIfAllHaveFinished() -> Bool {
      guard super.isReady else { return false }
      guard let last = kept.withLock({ $0?.keeper == nil ? nil : $0.take() }) else { return true }
      // The operations keep unowned pointers to their dependents.
      for operation in super.dependencies { super.removeDependency(operation) }
      // Released when nothing points to it any more.
      withExtendedLifetime(last) {}
      return true
    }
  }
#endif

/// The block of a barrier that starts an operation.
///
/// A queue of a subclass may drop the block, because its operations were cancelled. Then
/// the operation is cancelled too.
private final class BarrierBlock: Sendable {
  private let operation: Operation
  private let hasBegun = Atomic<Bool>(false)

  init(_ operation: Operation) { self.operation = operation }

  deinit { if !hasBegun.load(ordering: .acquiring) { operation.cancel() } }

  func run() {
    hasBegun.store(true, ordering: .releasing)
    operation.start()
    // A barrier block holds its slot no longer than it runs.
    operation.waitUntilFinished()
  }
}
