import Foundation

/// Starts operations as barriers of a queue.
package struct BarrierContext: QueueBackedContext {
  package let queue: OperationQueue

  package init(queue: OperationQueue) { self.queue = queue }

  package func execute(_ operation: Operation) {
    PendingMembers.close(queue)
    #if !canImport(Darwin)
      // A subclass may have barriers of its own.
      if type(of: queue) == OperationQueue.self, BarrierOperation.canFindGates {
        return BarrierOperation(running: operation).add(to: queue)
      }
    #endif
    let block = BarrierBlock(operation)
    let run = { @Sendable in block.run() }
    if let queue = queue as? any SlotQueue {
      queue.addBarrierOfLibrary(run)
    } else {
      queue.addBarrierBlock(run)
    }
  }
}

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

#if !canImport(Darwin)

  /// Stands in a queue for a closure that runs as a barrier.
  ///
  /// Foundation's barrier on Linux depends on all operations in the queue, and they keep
  /// unowned pointers to it. A cancelled barrier ends before they do, and the program
  /// crashes when they finish. Therefore Foundation's barrier serves only as the *gate*
  /// that holds back the operations added later. The gate is removed from the lists of
  /// the operations in front of it, and never becomes ready by itself. This operation
  /// runs the closure when the operations in front have finished. Then it opens the gate
  /// by cancelling it.
  ///
  ///   operations in front finished ──▶ ready ── begin: the closure runs ──▶ finished:
  ///                                                               the gate opens
  package final class BarrierOperation: PlaceholderOperation, @unchecked Sendable {
    // Sendable: `state` has a lock, the rest never changes.
    private struct State {
      var pendingCount = 1
      var gate: Operation?
    }

    private let operation: Operation
    private let state = Lock(State())

    /// Held while a thread looks for its gate.
    private static let adding = NSLock()

    /// Whether reflection shows the gates of an operation.
    ///
    /// Foundation's own list of dependencies leaves them out.
    fileprivate static let canFindGates = gates(of: Operation()) != nil

    private static func gates(of operation: Operation) -> [Operation]? {
      allDependencies(of: operation)?.filter {
        String(describing: type(of: $0)) == "_BarrierOperation"
      }
    }

    private static func allDependencies(of operation: Operation) -> [Operation]? {
      ReflectedOperation.properties(of: operation)?.first { $0.label == "__dependencies" }?.value
        as? [Operation]
    }

    init(running operation: Operation) {
      self.operation = operation
      super.init()
      takeScheduling(of: operation)
    }

    func add(to queue: OperationQueue) {
      // An empty queue would run the gate at once. This operation in front does not
      // finish until the setup is done, and keeps the gate shut until then.
      let first = PlaceholderOperation()
      SchedulingPoints.handOff()
      // The explorer does not know of this lock.
      SchedulingPoints.suspend()
      defer { SchedulingPoints.resume() }
      Self.adding.lock()
      defer { Self.adding.unlock() }
      // The queue starts no operation until the gate is off the lists of the others,
      // because another thread may be cancelling the gate. If that thread suspends the
      // queue at this very moment, the queue is resumed below.
      let wasSuspended = queue.isSuspended
      queue.isSuspended = true
      defer { if !wasSuspended { queue.isSuspended = false } }
      queue.addOperation(first)
      queue.addBarrierBlock {}
      // Foundation makes each operation that is added later depend on all gates.
      queue.addOperation(self)
      let gates = Self.gates(of: self) ?? []
      for gate in gates { super.removeDependency(gate) }
      // The last gate. Another thread may have added a barrier in between; its gate stays
      // as it is, and this closure waits for that barrier.
      let gate = gates.last { gate in gate.dependencies.contains { $0 === first } }
      let inFront = gate?.dependencies.filter { $0 !== first } ?? []
      // Removed in their order, because Foundation searches for each from the beginning.
      // The gates before this one keep bare pointers to it too.
      for operation in gate.flatMap(Self.allDependencies) ?? [] {
        gate?.removeDependency(operation)
      }
      state.withLock { state in
        state.gate = gate
        state.pendingCount += inFront.count
      }
      for operation in inFront { _ = OperationObserver(of: operation) { self.countDown() } }
      first.becomeReady()
      countDown()
    }

    private func countDown() {
      let isLast = state.withLock { state in
        state.pendingCount -= 1
        return state.pendingCount == 0
      }
      if isLast { becomeReady() }
    }

    // Foundation's `isReady` counts the gate, which this operation does not wait for.
    package override var isReady: Bool { unexplored { hasBecomeReady } }

    package override func begin() {
      operation.start()
      // The work of an async closure goes on.
      if operation.isFinished { return }
      hold()
      _ = OperationObserver(of: operation) { self.release() }
    }

    package override func didFinish() { state.withLock { $0.gate.take() }?.cancel() }

    package override var occupants: [AnyFuture] {
      (operation as? PlaceholderOperation)?.occupants ?? []
    }

    package override func cancelOccupants() { operation.cancel() }
  }

#endif
