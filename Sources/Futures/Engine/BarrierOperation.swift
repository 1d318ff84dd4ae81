#if !canImport(Darwin)

  import Foundation

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
  package final class BarrierOperation: PlaceholderOperation, @unchecked Sendable {
    // Sendable: `state` has a lock, a weak reference is safe on any thread, the rest never
    // changes.
    struct State {
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
    enum Awaited {
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
    let isLate: Bool
    let state = Lock(State())

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
      var (bolts, gates, candidates) = ([Bolt](), [Operation](), [Operation]())
      var marker: Bolt?
      repeat {
        // An empty queue would run the gate at once. This operation in front does not
        // finish until the setup is done, and keeps the gate shut until then.
        let bolt = Bolt(of: self)
        queue.addOperation(bolt)
        queue.addBarrierBlock {}
        let last: PlaceholderOperation = if let marker { marker } else { self }
        queue.addOperation(last)
        bolt.leaveGates()
        gates = last.leaveGates()
        bolts += [bolt, marker].compactMap { $0 }
        candidates = gates.filter { gate in gate.dependencies.contains { $0 === bolt } }
        // If another thread has added a barrier in between, it is not known which is which.
        // Both stay, and there is a new gate behind them.
        marker = Bolt(of: self)
      } while candidates.count > 1
      let gate = candidates.first
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
      for bolt in bolts { bolt.becomeReady() }
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

    // MARK: Waiting

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

    func hasFinished(_ id: ObjectIdentifier) {
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
      operation.futuresInside
    }

    package override func cancelOccupants() { operation.cancel() }
  }

#endif
