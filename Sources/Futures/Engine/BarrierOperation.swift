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
    PendingMembers.close(queue)
    #if !canImport(Darwin)
      // A subclass may have barriers of its own.
      if type(of: queue) == OperationQueue.self, BarrierOperation.canFindGates {
        return BarrierOperation(running: operation, in: queue).add(to: queue, isLate: isLate)
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
  /// The gate keeps unowned pointers to the operations behind it, too. If these are
  /// cancelled together with this one, it keeps them until the gate has finished. Of an
  /// operation that is cancelled alone it does not learn.
  ///
  ///   operations in front finished ──▶ ready ── begin: the closure runs ──▶ finished:
  ///                                                               the gate opens
  package final class BarrierOperation: PlaceholderOperation, @unchecked Sendable {
    // Sendable: `state` has a lock, a weak reference is safe on any thread, the rest never
    // changes.
    private struct State {
      var pendingCount = 1
      var gate: Operation?
      /// Whether the closure runs.
      var isRunning = false
      /// The operations behind the gate that may have been cancelled; `nil` after the gate
      /// has finished.
      var kept: [ObjectIdentifier: Operation]? = [:]
    }

    /// Keeps the gate shut until the setup is done.
    private final class Bolt: PlaceholderOperation, @unchecked Sendable {
      // Sendable: adds only a constant.
      private let barrier: BarrierOperation

      init(of barrier: BarrierOperation) {
        self.barrier = barrier
        super.init()
      }

      override func cancelOccupants() { barrier.keepOperationsOfQueue() }
    }

    private let operation: Operation
    private weak var queue: OperationQueue?
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

    /// The number of barriers that exist.
    static let count = Atomic<Int>(0)

    init(running operation: Operation, in queue: OperationQueue) {
      self.operation = operation
      self.queue = queue
      super.init()
      Self.count.wrappingAdd(1, ordering: .acquiringAndReleasing)
      takeScheduling(of: operation)
    }

    deinit { Self.count.wrappingSubtract(1, ordering: .acquiringAndReleasing) }

    /// - Parameter isLate: Whether operations in the queue may depend on this one already. It
    ///   does not wait for those.
    func add(to queue: OperationQueue, isLate: Bool) {
      // An empty queue would run the gate at once. This operation in front does not
      // finish until the setup is done, and keeps the gate shut until then.
      let first = Bolt(of: self)
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
      let awaited = gate?.dependencies ?? []
      var inFront = awaited.filter { $0 !== first }
      if isLate { inFront = inFront.flatMap(withoutDependents) }
      // Removed in their order, because Foundation searches for each from the beginning.
      // The gates before this one keep bare pointers to it too.
      for operation in gate.flatMap(Self.allDependencies) ?? [] {
        gate?.removeDependency(operation)
      }
      state.withLock { state in
        state.gate = gate
        state.pendingCount += inFront.count
      }
      // Another thread may have added operations between the gate and this one. Of those
      // that are cancelled together this one is not the first.
      keepOperationsOfQueue(apart: awaited)
      for operation in inFront { wait(for: operation) }
      first.becomeReady()
      countDown()
    }

    private func wait(for operation: Operation) {
      if let future = operation as? AnyFuture {
        if !future.watch(.finished, { _ in self.countDown() }) { countDown() }
      } else {
        _ = OperationObserver(of: operation) { self.countDown() }
      }
    }

    /// Returns the operation, or the futures that it stands for, without what waits for this
    /// barrier.
    private func withoutDependents(_ operation: Operation) -> [Operation] {
      let targets = Set(occupants.map { ObjectIdentifier($0) })
      var (next, seen) = ([operation], Set<ObjectIdentifier>())
      while let operation = next.popLast() {
        guard seen.insert(ObjectIdentifier(operation)).inserted else { continue }
        let stoodFor = (operation as? any FutureEquivalent)?.represented
        if let future = operation as? AnyFuture ?? stoodFor {
          if Graph.needs(future, oneOf: targets, toFinish: true) { return [] }
        } else {
          next += operation.dependencies
        }
      }
      let futures = (operation as? PlaceholderOperation)?.occupants ?? []
      let others = futures.filter { !Graph.needs($0, oneOf: targets, toFinish: true) }
      return others.count == futures.count ? [operation] : others
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
      state.withLock { $0.isRunning = true }
      operation.start()
      // The work of an async closure goes on.
      if operation.isFinished { return }
      hold()
      _ = OperationObserver(of: operation) { self.release() }
    }

    package override func didFinish() {
      let gate = state.withLock { state in
        state.isRunning = false
        return state.gate.take()
      }
      guard let gate else { return releaseKeptOperations() }
      // The gate has used its pointers when it reports that it has finished.
      _ = OperationObserver(of: gate) { self.releaseKeptOperations() }
      gate.cancel()
    }

    private func releaseKeptOperations() {
      let kept = state.withLock { $0.kept.take() }
      withExtendedLifetime(kept) {}
    }

    /// Cancels the closure.
    ///
    /// Perhaps for `cancelAllOperations()`, which cancels the operations behind next, and the
    /// gate. The queue would then go on beside an async closure, which holds no thread. So
    /// another barrier holds back what is added later, until the closure has returned.
    package override func cancel() {
      keepOperationsOfQueue()
      super.cancel()
      if state.withLock({ $0.isRunning }), let queue {
        BarrierOperation(running: BlockOperation {}, in: queue).add(to: queue, isLate: false)
      }
    }

    /// Keeps what is in the queue until the gate has finished.
    ///
    /// The gate has unowned pointers to the operations behind it. Those that are cancelled
    /// finish before it does.
    ///
    /// - Parameter others: Operations that are not behind the gate. Some may have finished.
    private func keepOperationsOfQueue(apart others: [Operation] = []) {
      guard let operations = queue?.operations else { return }
      let spared = Set(others.map { ObjectIdentifier($0) })
      state.withLock { state in
        for operation in operations where operation !== self {
          let id = ObjectIdentifier(operation)
          if !spared.contains(id) { state.kept?[id] = operation }
        }
      }
    }

    package override var occupants: [AnyFuture] {
      (operation as? PlaceholderOperation)?.occupants ?? []
    }

    package override func cancelOccupants() { operation.cancel() }
  }

#endif
