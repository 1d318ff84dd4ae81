#if !canImport(Darwin)

  import Foundation

  /// Stands in a queue for closures that run as barriers, one after the other.
  ///
  /// Foundation's barrier on Linux depends on all operations in the queue, and they keep
  /// unowned pointers to it. A cancelled barrier ends before they do, and the program
  /// crashes when they finish. Therefore Foundation's barrier serves only as the *gate*
  /// that holds back the operations added later. The gate is removed from the lists of
  /// the operations in front of it, and never becomes ready by itself. This operation
  /// runs the closures when the operations in front have finished. Then it opens the gate
  /// by cancelling it.
  ///
  ///   beingAdded ──▶ waiting ── all in front have finished ──▶ running ──▶ last ──▶ finished:
  ///                     │                           several closures:   ▲    the gate opens
  ///                     │                       each is a turn of its own │
  ///                     └── a single closure: this operation runs it ─────┘
  ///
  /// This operation is in the queue in front of its gate. So `cancelAllOperations()` cancels
  /// it before it opens the gate, and this operation can hold back what is behind the gate by
  /// itself from then on. It also keeps what is behind the gate, which has unowned pointers,
  /// too. Of an operation that is cancelled alone it does not learn.
  ///
  /// A barrier directly behind another one is one more closure of that one, unless that one
  /// is ready itself: it is then to run its only closure, or has run the last of several.
  /// The reason is that Foundation makes each operation depend on all gates in front of it.
  package final class BarrierOperation: PlaceholderOperation, @unchecked Sendable {
    // Sendable: `state` has a lock, a weak reference is safe on any thread, the rest never
    // changes.
    struct State {
      /// What has to finish before the first closure runs.
      var awaited: [ObjectIdentifier: Awaited] = [:]
      var phase = Phase.beingAdded
      var gate: Operation?
      /// Operations in front of the gate that are behind this one in the queue, by identity.
      var inBetween: [ObjectIdentifier: Operation] = [:]
      /// What runs the closure that runs now.
      var current: Operation?
      /// What runs the closures that have not begun, in their order.
      var closures = FIFO<Operation>()
      /// Whether a barrier directly behind this one can be one more closure.
      var takesClosures: Bool
      /// The operations behind the gate that may have been cancelled, and the gates that may
      /// have been; `nil` after the gate has finished.
      var kept: [ObjectIdentifier: Operation]? = [:]
      /// Whether a thread makes what is behind the gate wait for this barrier.
      var isHoldingBack = false

      mutating func keep(_ operations: some Sequence<Operation>) {
        for operation in operations { kept?[ObjectIdentifier(operation)] = operation }
      }
    }

    enum Phase {
      case beingAdded, waiting
      /// Closures run in operations of their own.
      case running
      /// The operation is ready, and takes no further closures.
      case last
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

    /// Runs one of several closures of a barrier; or none, to find a gate.
    private final class Turn: PlaceholderOperation, @unchecked Sendable {
      // Sendable: nothing changes after init.
      private let operation: Operation?
      private let barrier: BarrierOperation

      init(running operation: Operation?, of barrier: BarrierOperation) {
        self.operation = operation
        self.barrier = barrier
        super.init()
        if let operation { takeScheduling(of: operation) }
      }

      override func begin() { if let operation { run(operation) } }

      override func didFinish() { if operation != nil { barrier.goOn() } }

      override var occupants: [AnyFuture] { operation?.futuresInside ?? [] }

      override func cancelOccupants() { operation?.cancel() }
    }

    private weak var queue: OperationQueue?
    let isLate: Bool
    let state: Lock<State>

    /// Held while a thread looks for its gate.
    private static let adding = NSRecursiveLock()

    private let queueID: ObjectIdentifier
    /// The number of barriers that exist.
    private static let count = Atomic<Int>(0)
    /// The number of barriers of each queue that has some.
    private static let counts = Lock<[ObjectIdentifier: Int]>([:])

    /// Whether a queue has barriers; a cheap question while no queue has.
    static func exist(in queue: OperationQueue) -> Bool {
      count.load(ordering: .acquiring) > 0
        && counts.withLock { $0[ObjectIdentifier(queue)] != nil }
    }

    private static func count(_ change: Int, in queue: ObjectIdentifier) {
      count.wrappingAdd(change, ordering: .acquiringAndReleasing)
      counts.withLock { counts in
        let count = counts[queue, default: 0] + change
        counts[queue] = count == 0 ? nil : count
      }
    }

    /// - Parameters:
    ///   - isLate: Whether operations in the queue may depend on this one already.
    ///   - isApart: Whether the barrier only holds back what is behind it.
    init(
      running operation: Operation, in queue: OperationQueue, isLate: Bool = false,
      isApart: Bool = false
    ) {
      var first = State(takesClosures: !isApart)
      first.closures.append(operation)
      state = Lock(first)
      queueID = ObjectIdentifier(queue)
      self.isLate = isLate
      self.queue = queue
      super.init()
      Self.count(1, in: queueID)
      takeScheduling(of: operation)
    }

    deinit { Self.count(-1, in: queueID) }

    /// Adds a closure to a queue as a barrier.
    ///
    /// - Parameter isLate: Whether operations in the queue may depend on it already.
    static func add(_ operation: Operation, to queue: OperationQueue, isLate: Bool) {
      let barrier = BarrierOperation(running: operation, in: queue, isLate: isLate)
      barrier.add { barrier.give(operation, toLastOf: queue) }
    }

    /// Adds the barrier to its queue, unless another one takes its closure.
    private func add(unless isTaken: () -> Bool) {
      guard let queue else { return }
      SchedulingPoints.handOff()
      let isTaken = Self.whileNoneIsAdded {
        if isTaken() { return true }
        addWithGate(to: queue)
        return false
      }
      // A lazy future starts when it is observed, in a closure of the user.
      if !isTaken { beginWaiting() }
    }

    /// Does something while no thread adds a barrier to a plain queue.
    ///
    /// Operations of the user that the closure reads pass through `keeping(_:)`.
    static func whileNoneIsAdded<Result>(_ body: () -> Result) -> Result {
      var result: Result?
      // What the work loop releases, and what that settles, waits until the lock is free.
      WorkLoop.current.perform { _ in
        // The explorer does not know of this lock.
        SchedulingPoints.suspend()
        adding.lock()
        result = body()
        adding.unlock()
        SchedulingPoints.resume()
      }
      return result!
    }

    /// Keeps operations that were read while no barrier is added until the lock is free.
    ///
    /// If their queue drops them meanwhile, the last reference is released then. It may run
    /// code of the user.
    static func keeping<Element: Operation>(_ operations: [Element]) -> [Element] {
      WorkLoop.current.discard(operations)
      return operations
    }

    private func addWithGate(to queue: OperationQueue) {
      // This operation in front of the gate does not finish until the gate is found, and
      // neither does a thread that cancels all operations pass it.
      queue.addOperation(self)
      leaveGates()
      var (last, turns) = (self as PlaceholderOperation, [Turn]())
      var (gates, ofOthers, candidates) = ([Operation](), [Operation](), [Operation]())
      var (inFront, ambiguous) = ([Operation](), [Operation]())
      repeat {
        queue.addBarrierBlock {}
        let turn = Turn(running: nil, of: self)
        queue.addOperation(turn)
        gates = turn.leaveGates()
        candidates = gates.filter { gate in
          Self.keeping(gate.dependencies).contains { $0 === last }
        }
        if turns.isEmpty {
          ofOthers = gates.filter { !candidates.contains($0) }
          inFront = Self.inFront(of: candidates).filter { $0 !== self && !($0 is Turn) }
        }
        if candidates.count > 1 { ambiguous += candidates }
        turns.append(turn)
        // If another thread has added a barrier in between, it is not known which is which.
        // Both stay, wait for this operation, and there is a new gate behind them.
        last = turn
      } while candidates.count > 1
      let gate = candidates.first
      // Removed in their order, because Foundation searches for each from the beginning.
      // The gates before this one keep bare pointers to it too.
      let all = Self.keeping(gate.flatMap(Gates.allDependencies) ?? [])
      for operation in all { gate?.removeDependency(operation) }
      let inBetween = all.drop { $0 !== self }.dropFirst().map { (ObjectIdentifier($0), $0) }
      let needed = needed(of: inFront, and: ofOthers)
      wait(for: needed.operations)
      state.withLock { state in
        state.gate = gate
        state.inBetween = Dictionary(inBetween) { first, _ in first }
        state.keep(ambiguous)
        // Of ambiguous gates another thread's barrier stands between this one and its gate.
        if !needed.isAll || !ambiguous.isEmpty { state.takesClosures = false }
      }
      for turn in turns { turn.becomeReady() }
    }

    /// What is in front of the first of some gates.
    ///
    /// What is behind it waits for that gate.
    private static func inFront(of gates: [Operation]) -> [Operation] {
      guard let first = gates.first?.dependencies else { return [] }
      return gates.dropFirst().reduce(keeping(first)) { inFront, gate in
        let ofGate = Set(keeping(gate.dependencies).map { ObjectIdentifier($0) })
        return inFront.filter { ofGate.contains(ObjectIdentifier($0)) }
      }
    }

    // MARK: More closures

    /// Gives this barrier's closure to the last barrier of the queue, if there is nothing
    /// between the two barriers, and nothing in front waits for this one.
    private func give(_ closure: Operation, toLastOf queue: OperationQueue) -> Bool {
      guard Self.last(of: Self.keeping(queue.operations)) != nil else { return false }
      // Foundation shows the gates in front of an operation that is in the queue.
      let turn = Turn(running: nil, of: self)
      queue.addOperation(turn)
      defer { turn.becomeReady() }
      let gates = turn.leaveGates()
      let inFront = Self.keeping(queue.operations).prefix { $0 !== turn }.filter { !($0 is Turn) }
      guard let last = Self.last(of: inFront) else { return false }
      return !hasDependents(among: inFront) && last.take(closure, if: gates.last)
    }

    private static func last(of operations: [Operation]) -> BarrierOperation? {
      operations.last { !($0 is Turn) } as? BarrierOperation
    }

    /// Takes the closure of another barrier, if the last gate is the one of this barrier.
    private func take(_ closure: Operation, if last: Operation?) -> Bool {
      state.withLock { state in
        guard state.takesClosures, state.phase != .last, let gate = state.gate, gate === last,
          !gate.isCancelled, !isCancelled
        else { return false }
        state.closures.append(closure)
        return true
      }
    }

    /// Runs the next closure in an operation of its own, if the last closure has not run.
    private func goOn() {
      let (last, next) = state.withLock { state in
        let last = state.current.take()
        if state.phase == .running { state.current = state.closures.popFirst() }
        if state.current == nil { state.phase = .last }
        return (last, state.current)
      }
      // Released after unlock.
      withExtendedLifetime(last) {}
      guard let next, let queue else { return becomeReady() }
      let turn = Turn(running: next, of: self)
      queue.addOperation(turn)
      turn.leaveGates()
      turn.becomeReady()
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
        state.phase = .waiting
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
      if awaited.isEmpty { goOnIfLast() }
    }

    func hasFinished(_ id: ObjectIdentifier) {
      // Released after unlock.
      let operation = state.withLock { $0.awaited.removeValue(forKey: id) }
      goOnIfLast()
      withExtendedLifetime(operation) {}
    }

    private func goOnIfLast() {
      let isLast = state.withLock { state in
        guard state.phase == .waiting, state.awaited.isEmpty else { return false }
        state.phase = state.closures.count == 1 ? .last : .running
        return true
      }
      if isLast { goOn() }
    }

    package override func begin() {
      let single = state.withLock { state in
        state.current = state.closures.popFirst()
        return state.current
      }
      if let single { run(single) }
    }

    package override func didFinish() {
      let (gate, last) = state.withLock { state in
        defer { state.inBetween = [:] }
        return (state.gate.take(), (state.current.take(), state.inBetween))
      }
      // Released after unlock, and after the gate has opened: it may run code of the user.
      defer { withExtendedLifetime(last) {} }
      guard let gate else { return releaseKeptOperations() }
      // The gate has used its pointers when it reports that it has finished.
      _ = OperationObserver(of: gate) { self.releaseKeptOperations() }
      gate.cancel()
    }

    private func releaseKeptOperations() {
      let kept = state.withLock { $0.kept.take() }
      withExtendedLifetime(kept) {}
    }

    // MARK: Cancelling

    /// Cancels the closures.
    ///
    /// Perhaps for `cancelAllOperations()`, which cancels the gate and the operations behind
    /// next. So the barrier itself holds these back from now on. Another barrier holds back
    /// what is added later.
    package override func cancel() {
      if state.withLock({ $0.phase == .beingAdded }) { Self.whileNoneIsAdded {} }
      if !isFinished { holdBackBehindGate() }
      super.cancel()
    }

    private func holdBackBehindGate() {
      // Behind a gate that has finished is nothing. And one thread is enough.
      let gate = state.withLock { state -> Operation? in
        guard !state.isHoldingBack, let gate = state.gate, !gate.isFinished else { return nil }
        state.isHoldingBack = true
        return gate
      }
      guard let queue, let gate else { return }
      defer { state.withLock { $0.isHoldingBack = false } }
      var behind = queue.operations.drop { $0 !== self }.dropFirst()
      let next = behind.first { $0 is BarrierOperation && !$0.isFinished }
      if next == nil {
        let barrier = BarrierOperation(running: BlockOperation {}, in: queue, isApart: true)
        PendingMembers.close(queue) { _ in barrier.add { false } }
        behind = queue.operations.drop { $0 !== self }.dropFirst()
      }
      let kept = behind
      state.withLock { $0.keep(kept) }
      // The next barrier holds back what is behind it.
      let ofThis = behind.prefix { $0 !== next }
      // An operation that passes this barrier is behind the gate while it is added.
      let held = Self.whileNoneIsAdded {
        let held = ofThis.filter { isHeld($0, by: gate) }
        for case let placeholder as PlaceholderOperation in held { placeholder.wait(behind: self) }
        return held
      }
      // Calls code of the user.
      for operation in held {
        switch operation {
        case is PlaceholderOperation: break
        case let future as AnyFuture: future.addDependencyOfQueue(self)
        default: operation.addDependency(self)
        }
        // This operation may have finished meanwhile.
        queue.repeatReadiness(of: operation)
      }
    }

    /// Whether an operation behind this one in the queue, or any gate, waits for the gate.
    func isHeld(_ operation: Operation, by gate: Operation) -> Bool {
      if let placeholder = operation as? PlaceholderOperation {
        return !(operation is Turn) && Gates.isHeld(placeholder, by: gate)
      }
      if Gates.contains(operation),
        !Self.keeping(operation.dependencies).contains(where: { $0 === self })
      {
        return false
      }
      return state.withLock { $0.inBetween[ObjectIdentifier(operation)] == nil }
    }

    /// What runs the closures that have not ended, in their order.
    var work: [Operation] {
      state.withLock { state in (state.current.map { [$0] } ?? []) + state.closures.elements }
    }

    package override var occupants: [AnyFuture] { work.flatMap(\.futuresInside) }

    package override func cancelOccupants() { for operation in work { operation.cancel() } }
  }

  extension PlaceholderOperation {
    /// Starts another operation, and finishes when that one has finished.
    fileprivate final func run(_ operation: Operation) {
      operation.start()
      // The work of an async closure goes on.
      if operation.isFinished { return }
      hold()
      _ = OperationObserver(of: operation) { self.release() }
    }
  }

#endif
