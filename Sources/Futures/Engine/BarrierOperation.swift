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
    #if !canImport(Darwin)
      // A subclass may have barriers of its own.
      if type(of: queue) == OperationQueue.self, Gates.canBeFound {
        PendingMembers.close(queue)
        return BarrierOperation(running: operation, in: queue, isLate: isLate).add(to: queue)
      }
    #endif
    for operation in PendingMembers.close(queue) { operation.enterQueue() }
    let block = BarrierBlock(operation)
    let run = { @Sendable in block.run() }
    if let queue = queue as? any SlotQueue {
      let futures = (operation as? PlaceholderOperation)?.occupants ?? []
      queue.addBarrierOfLibrary(for: futures, run)
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
  ///
  /// A barrier directly behind another one takes over its gate, because Foundation makes each
  /// operation depend on all gates in front of it.
  package final class BarrierOperation: UngatedOperation, @unchecked Sendable {
    // Sendable: `state` has a lock, a weak reference is safe on any thread, the rest never
    // changes.
    private struct State {
      /// What has to finish before the closure runs.
      var awaited: [ObjectIdentifier: Awaited] = [:]
      /// Whether `awaited` contains all that it will contain.
      var isInPlace = false
      var gate: Operation?
      /// Whether this barrier opens the gate, and not the next one.
      var opensGate = true
      /// Whether the closure runs.
      var isRunning = false
      /// The operations behind the gate that may have been cancelled; `nil` after the gate
      /// has finished.
      var kept: [ObjectIdentifier: Operation]? = [:]
    }

    /// An operation in front of the barrier.
    ///
    /// A promise is not kept.
    private enum Awaited {
      case operation(Operation)
      case future(FutureReference)

      var operation: Operation? {
        switch self {
        case .operation(let operation): operation
        case .future(let reference): reference.future
        }
      }
    }

    /// Keeps the gate shut until the setup is done.
    private final class Bolt: UngatedOperation, @unchecked Sendable {
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
    private let isLate: Bool
    private let state = Lock(State())

    /// Held while a thread looks for its gate.
    private static let adding = NSLock()

    /// The number of barriers that exist.
    static let count = Atomic<Int>(0)

    /// - Parameter isLate: Whether operations in the queue may depend on this one already.
    init(running operation: Operation, in queue: OperationQueue, isLate: Bool = false) {
      self.operation = operation
      self.isLate = isLate
      self.queue = queue
      super.init()
      Self.count.wrappingAdd(1, ordering: .acquiringAndReleasing)
      takeScheduling(of: operation)
    }

    deinit { Self.count.wrappingSubtract(1, ordering: .acquiringAndReleasing) }

    /// Adds the barrier to its queue.
    ///
    /// - Parameter isApart: Whether it must have a gate of its own.
    func add(to queue: OperationQueue, isApart: Bool = false) {
      SchedulingPoints.handOff()
      Self.whileNoneIsAdded {
        // The queue starts no operation until the gate is off the lists of the others, because
        // another thread may be cancelling the gate. If that thread suspends the queue at this
        // very moment, the queue is resumed below.
        let wasSuspended = queue.isSuspended
        if !wasSuspended { queue.isSuspended = true }
        defer { if !wasSuspended { queue.isSuspended = false } }
        if isApart || !addWithLastGate(to: queue) { addWithNewGate(to: queue) }
      }
      // A lazy future starts when it is observed, in a closure of the user.
      beginWaiting()
      // Another thread may just have cancelled all operations of the queue, and the gate, but not
      // this operation.
      let isOpen = state.withLock { $0.opensGate && $0.gate?.isCancelled == true }
      if isOpen, !isApart, !isCancelled { addApart() }
    }

    /// Does something while no thread adds a barrier to a plain queue.
    static func whileNoneIsAdded<Result>(_ body: () -> Result) -> Result {
      // The explorer does not know of this lock.
      SchedulingPoints.suspend()
      defer { SchedulingPoints.resume() }
      adding.lock()
      defer { adding.unlock() }
      return body()
    }

    /// Holds back what is added later, as a barrier that does nothing.
    private func addApart() {
      guard let queue else { return }
      BarrierOperation(running: BlockOperation {}, in: queue).add(to: queue, isApart: true)
    }

    private func addWithNewGate(to queue: OperationQueue) {
      var (bolts, gates, gate) = ([Operation](), [Operation](), nil as Operation?)
      var last: UngatedOperation = self
      repeat {
        // An empty queue would run the gate at once. This operation in front does not
        // finish until the setup is done, and keeps the gate shut until then.
        let bolt = Bolt(of: self)
        queue.addOperation(bolt)
        queue.addBarrierBlock {}
        queue.addOperation(last)
        bolt.leaveGates()
        gates = last.leaveGates()
        let candidates = gates.filter { gate in gate.dependencies.contains { $0 === bolt } }
        gate = candidates.first
        bolts += last === self ? [bolt] : [bolt, last]
        // If another thread has added a barrier in between, nobody knows which is which. Both
        // stay, and there is a new gate behind them.
        last = Bolt(of: self)
        if candidates.count <= 1 { break }
      } while true
      let inFront = (gate?.dependencies ?? []).filter { operation in
        operation !== self && !bolts.contains { $0 === operation }
      }
      // Removed in their order, because Foundation searches for each from the beginning.
      // The gates before this one keep bare pointers to it too.
      for operation in gate.flatMap(Gates.allDependencies) ?? [] {
        gate?.removeDependency(operation)
      }
      state.withLock { $0.gate = gate }
      // Another thread may have added operations between the gate and this one. Of those
      // that are cancelled together this one is not the first.
      keepOperationsOfQueue(apart: inFront + bolts)
      wait(for: needed(of: inFront, and: gates.filter { $0 !== gate }))
      for case let bolt as Bolt in bolts { bolt.becomeReady() }
    }

    /// Adds the barrier with the gate of the last operation of the queue, if that is a barrier
    /// which this one waits for.
    private func addWithLastGate(to queue: OperationQueue) -> Bool {
      guard queue.operations.last is BarrierOperation else { return false }
      // Foundation shows the gates in front of an operation that is in the queue.
      let bolt = Bolt(of: self)
      queue.addOperation(bolt)
      defer { bolt.becomeReady() }
      let gates = bolt.leaveGates()
      let inFront = Array(queue.operations.prefix { $0 !== bolt })
      guard let last = inFront.last as? BarrierOperation else { return false }
      let needed = needed(of: inFront, and: gates)
      guard needed.contains(last), let gate = last.handOverGate(if: gates.last) else {
        return false
      }
      state.withLock { $0.gate = gate }
      queue.addOperation(self)
      leaveGates()
      keepOperationsOfQueue(apart: inFront + [bolt])
      wait(for: needed)
      return true
    }

    /// Gives the gate to the next barrier, if that is the last gate and there is no operation
    /// between the two barriers.
    private func handOverGate(if last: Operation?) -> Operation? {
      state.withLock { state in
        guard state.opensGate, let gate = state.gate, gate === last, !gate.isCancelled,
          state.kept?.isEmpty == true
        else { return nil }
        state.opensGate = false
        return gate
      }
    }

    // MARK: What the barrier waits for

    /// Returns those gates of a queue that stay shut until an operation in it has finished.
    static func gates(
      _ gates: [Operation], of queue: OperationQueue, waitingFor operation: Operation
    ) -> [Operation] {
      let barriers = queue.operations.compactMap { $0 as? BarrierOperation }
      var waiting: Set<ObjectIdentifier> = [ObjectIdentifier(operation)]
      var count = 0
      while waiting.count > count {
        count = waiting.count
        for barrier in barriers where !waiting.contains(ObjectIdentifier(barrier)) {
          let (awaited, gate) = barrier.state.withLock { ($0.awaited.keys, $0.gate) }
          if waiting.isDisjoint(with: awaited) { continue }
          waiting.formUnion([barrier, gate].compactMap { $0.map(ObjectIdentifier.init) })
        }
        for gate in gates
        where gate.dependencies.contains(where: {
          waiting.contains(ObjectIdentifier($0))
        }) {
          waiting.insert(ObjectIdentifier(gate))
        }
      }
      return gates.filter { waiting.contains(ObjectIdentifier($0)) }
    }

    /// Returns those of the operations in front for which the barrier has to wait itself.
    ///
    /// Another one of these barriers may wait for the rest. A late barrier does not wait for
    /// operations that wait for it, nor for later barriers that wait for these: it takes a
    /// place in front of them.
    ///
    /// - Parameter gates: All gates in front, some of which are Foundation's own barriers.
    private func needed(of inFront: [Operation], and gates: [Operation]) -> [Operation] {
      let ofBarriers = Set(
        inFront.compactMap { operation in
          (operation as? BarrierOperation)?.state.withLock { $0.gate.map(ObjectIdentifier.init) }
        })
      let barriers = gates.filter { !ofBarriers.contains(ObjectIdentifier($0)) }
      let all = isLate ? withoutDependents(inFront + barriers) : inFront + barriers
      var covered: Set<ObjectIdentifier> = []
      for case let barrier as BarrierOperation in all {
        covered.formUnion(barrier.state.withLock { $0.awaited.keys })
      }
      return all.filter { !covered.contains(ObjectIdentifier($0)) }
    }

    private func withoutDependents(_ inFront: [Operation]) -> [Operation] {
      var dependents = Dependents(of: self, among: inFront)
      let barriers = inFront.filter { $0 is BarrierOperation || Gates.contains($0) }
      // One barrier may wait for another by way of a dependency.
      while let next = barriers.first(where: { dependents.delay($0) && passes($0) }) {
        dependents.insert(next)
      }
      return inFront.flatMap(dependents.others)
    }

    /// Makes a barrier wait for this one, which takes a place in front of it.
    ///
    /// What it waits for, and what needs this barrier, may be cancelled before this one has run.
    ///
    /// Returns `false` if the other barrier does not wait any more.
    private func passes(_ other: Operation) -> Bool {
      guard let other = other as? BarrierOperation else { return true }
      let isWaiting = other.state.withLock { state in
        if state.awaited.isEmpty { return false }
        state.awaited[ObjectIdentifier(self)] = .operation(self)
        return true
      }
      let id = ObjectIdentifier(self)
      if isWaiting { _ = OperationObserver(of: self) { other.hasFinished(id) } }
      return isWaiting
    }

    /// What waits for a late barrier.
    private struct Dependents {
      /// Futures, barriers with their gates, and what is behind these gates.
      private var known: Set<ObjectIdentifier>
      private let inFront: [Operation]

      init(of barrier: BarrierOperation, among inFront: [Operation]) {
        known = Set(barrier.occupants.map { ObjectIdentifier($0) })
        self.inFront = inFront
      }

      mutating func insert(_ barrier: Operation) {
        let gate =
          if let barrier = barrier as? BarrierOperation { barrier.state.withLock { $0.gate } } else
          {
            barrier
          }
        let behind = inFront.filter { operation in
          Gates.of(operation)?.contains { $0 === gate } == true
        }
        for operation in [barrier] + behind + (gate.map { [$0] } ?? []) {
          known.insert(ObjectIdentifier(operation))
          let occupants = (operation as? PlaceholderOperation)?.occupants ?? []
          known.formUnion(occupants.map { ObjectIdentifier($0) })
        }
      }

      /// Whether a barrier, which is not known yet, waits for one of them.
      func delay(_ barrier: Operation) -> Bool {
        if known.contains(ObjectIdentifier(barrier)) { return false }
        guard let barrier = barrier as? BarrierOperation else { return others(barrier).isEmpty }
        return barrier.state.withLock { Array($0.awaited.values) }.contains { awaited in
          guard let operation = awaited.operation else { return false }
          return others(operation).first !== operation
        }
      }

      /// Returns the operation, or the futures that it stands for, unless they are dependents.
      func others(_ operation: Operation) -> [Operation] {
        var (next, seen) = ([operation], Set<ObjectIdentifier>())
        while let one = next.popLast() {
          if known.contains(ObjectIdentifier(one)) { return [] }
          guard seen.insert(ObjectIdentifier(one)).inserted else { continue }
          if one !== operation, let placeholder = one as? PlaceholderOperation {
            next += placeholder.occupants
          }
          let stoodFor = (one as? any FutureEquivalent)?.represented
          if let future = one as? AnyFuture ?? stoodFor {
            if Graph.needs(future, oneOf: known, toFinish: true) { return [] }
          } else {
            next += one.dependencies
          }
        }
        let futures = (operation as? PlaceholderOperation)?.occupants ?? []
        let others = futures.filter { !Graph.needs($0, oneOf: known, toFinish: true) }
        return others.count == futures.count ? [operation] : others
      }
    }

    private func wait(for operations: [Operation]) {
      let awaited = operations.map { operation in
        let reference = (operation as? AnyFuture)?.reference
        return (ObjectIdentifier(operation), reference.map(Awaited.future) ?? .operation(operation))
      }
      state.withLock { state in
        for (id, one) in awaited { state.awaited[id] = one }
      }
    }

    private func beginWaiting() {
      let awaited = state.withLock { state in
        state.isInPlace = true
        return state.awaited
      }
      for (id, one) in awaited {
        switch one {
        case .operation(let operation):
          _ = OperationObserver(of: operation) { self.hasFinished(id) }
        case .future(let reference):
          let isPending = reference.future?.watch(.finished) { _ in self.hasFinished(id) }
          if isPending != true { hasFinished(id) }
        }
      }
      if awaited.isEmpty { becomeReadyIfLast() }
    }

    private func hasFinished(_ id: ObjectIdentifier) {
      // Released after unlock.
      let operation = state.withLock { $0.awaited.removeValue(forKey: id) }
      becomeReadyIfLast()
      withExtendedLifetime(operation) {}
    }

    private func becomeReadyIfLast() {
      if state.withLock({ $0.isInPlace && $0.awaited.isEmpty }) { becomeReady() }
    }

    package override func begin() {
      state.withLock { $0.isRunning = true }
      operation.start()
      // The work of an async closure goes on.
      if operation.isFinished { return }
      hold()
      _ = OperationObserver(of: operation) { self.release() }
    }

    package override func didFinish() {
      let (gate, isOpening) = state.withLock { state in
        state.isRunning = false
        let isNeeded = state.opensGate || state.kept?.isEmpty == false
        defer { state.opensGate = false }
        return (isNeeded ? state.gate.take() : nil, state.opensGate)
      }
      guard let gate else { return releaseKeptOperations() }
      // The gate has used its pointers when it reports that it has finished.
      _ = OperationObserver(of: gate) { self.releaseKeptOperations() }
      if isOpening { gate.cancel() }
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
      if state.withLock({ $0.isRunning }) { addApart() }
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
