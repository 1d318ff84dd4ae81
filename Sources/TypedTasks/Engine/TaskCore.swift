import Foundation
import Futures
import Synchronization

/// What a task has beside being a future, whatever its types: its life before
/// it settles, and who is told in which order at the end.
///
/// The state machine decides, under the lock; what it answers is done here,
/// after unlock, on any thread. The core does not keep its task; every method
/// gets it.
///
/// The end of a task is a *conclusion*, in this order: who waits inside the
/// library is let go; the cancellation is told, if nobody has; handlers,
/// assignments, the hook, observers, the queue's delegate; then the slot is
/// free, and the engine tells those who wait.
///
///   none ── settled ──▶ pending ── its turn on the thread ──▶ running ──▶ done
///    └──── settled, nobody to tell ─────────────────────────────────────▶ done
class TaskCore: FutureBehaviour, @unchecked Sendable {
  // Sendable: `state` has a lock; `membership` is guarded by the queue's lock;
  // the rest never changes.

  /// Something that is called with the task, when it has settled.
  typealias Handler = (AnyFuture) -> Void

  enum Conclusion { case none, pending, running, done }

  /// Something that is waited for, to be let go of.
  enum Wait {
    case future(SettlementWaiter)
    case operation(FinishObserver)

    func withdraw() {
      switch self {
      case .future(let waiter): waiter.withdraw(cancelling: true)
      case .operation(let observer): observer.stop()
      }
    }
  }

  /// The place in the queue's list of tasks, and between its barriers.
  struct Membership {
    var index = -1
    var epoch = 0
    var hasEarlySlot: Slot?
  }

  let state = Lock(State())
  /// Guarded by the lock of the queue.
  @exclusivity(unchecked) final var membership = Membership()
  /// Counts up: a task that waits for an older one cannot close a cycle.
  let number: Int
  /// How many operators there are below that are in no queue.
  let branches = Atomic<Int>(0)

  private static let lastNumber = Atomic<Int>(0)

  init() {
    number = Self.lastNumber.wrappingAdd(1, ordering: .relaxed).newValue
  }

  // MARK: What kinds of tasks do in their own way

  /// Does the work.
  func execute(_ task: AnyFuture) {}
  /// Calls the hook of subclasses.
  func callFinished(_ task: AnyFuture) {}
  /// Whether there may be such a hook.
  var hasHook: Bool { true }
  /// Calls the other hook.
  func callWillEnqueue(_ task: AnyFuture) {}
  func tellStart(_ observer: any TaskObserver, _ task: AnyFuture) {}
  func tellCancel(_ observer: any TaskObserver, _ task: AnyFuture) {}
  func tellFinish(_ observer: any TaskObserver, _ task: AnyFuture) {}
  func tellWillAdd(_ delegate: any TaskQueueDelegate, _ queue: TaskQueue, _ task: AnyFuture) {}
  func tellDidFinish(_ delegate: any TaskQueueDelegate, _ queue: TaskQueue, _ task: AnyFuture) {}
  func tellDidReject(
    _ delegate: any TaskQueueDelegate, _ queue: TaskQueue, _ task: AnyFuture,
    _ error: ProducerTaskError
  ) {}
  func tellMemberFinished(_ owner: any TaskQueueOwner, _ task: AnyFuture) {}
  func evaluate(
    _ condition: AnyCondition, _ task: AnyFuture,
    _ completion: @escaping @Sendable (Result<Void, any Error>) -> Void
  ) {}
  func dependency(of condition: AnyCondition, for task: AnyFuture) -> NonFailTask? { nil }
  /// Settles the task with an error of the library.
  @discardableResult
  func fail(_ task: AnyFuture, _ error: any Error, from origin: SettlementOrigin = .outside) -> Bool
  {
    task.settle(failure: error, from: origin)
  }

  /// Whether it is an operator: it settles at once when it is cancelled, and
  /// holds no slot longer than its closure runs.
  var isOperator: Bool { false }
  /// Whether it has the engine's kind of upstream: one task, that it waits for
  /// from the beginning.
  var hasUpstream: Bool { false }
  /// Whether the operator's closure wants to see such an outcome.
  func acts(on outcome: Outcome) -> Bool { true }
  /// Settles an operator like a failed upstream whose outcome it does not act on.
  func pass(_ task: AnyFuture, _ source: AnyFuture) {}
  /// What an operator's closure has made has settled.
  func innerHasSettled(_ task: AnyFuture, _ source: AnyFuture) {}
  /// Whether work that returns after a cancellation is over.
  var endsWhenCancelledWorkReturns: Bool { true }
  /// The task was asked to cancel while it executes.
  func workIsAskedToCancel(_ task: AnyFuture) {}
  /// The task has settled; called before anybody is told.
  func taskHasSettled(_ task: AnyFuture) {}
  /// The tasks that it is waiting for because they are a part of it.
  var parts: [AnyFuture] { [] }
  /// Whether it may come to wait for more when it is in its queue.
  var mayWaitForMore: Bool { false }
  /// Whether there may be any.
  var hasParts: Bool { false }
  /// The same, taken away, for a release without recursion.
  func takeParts() -> [AnyFuture] { [] }

  // MARK: Looking

  final var phase: TaskStateMachine.Phase { state.withLock { $0.machine.phase } }
  final var isCancelRequested: Bool { state.withLock { $0.machine.isCancelRequested } }
  final var conditions: [AnyCondition] { state.withLock { $0.conditions } }
  final var observers: [any TaskObserver] { state.withLock { $0.observers } }
  final var dependencies: [Operation] { state.withLock { $0.dependencies } }
  final var sources: [AnyFuture] { state.withLock { $0.sources } }
  final var home: TaskQueue? { state.withLock { $0.home } }

  /// What an operator is below.
  final func upstreams(of task: AnyFuture) -> [AnyFuture] {
    if hasUpstream { return task.upstreamFuture.map { [$0] } ?? [] }
    return isOperator ? sources : []
  }

  /// Who makes a settlement that happens now on this thread: the work itself,
  /// if it is just running here.
  final func originOfSettlement(of task: AnyFuture) -> SettlementOrigin {
    Drain.current.turnSlot?.current === task ? .closure : .outside
  }

  func stateDescription(_ task: AnyFuture) -> String {
    if task.isSettled {
      return task.outcome == .success
        ? "succeeded"
        : task.isCancelled ? "cancelled" : "failed: \(task.anyError.map { "\($0)" } ?? "")"
    }
    let phase = phase
    let awaited = namesOfAwaited(by: task)
    return switch phase {
    case .created: "in no queue"
    case .waiting: "waiting for \(awaited)"
    case .checking: "waiting for its conditions"
    case .queueing: "waiting for its turn after \(awaited)"
    case .ready: "waiting for a slot"
    case .executing: "executing"
    case .ended: "ended"
    }
  }

  /// The first three of those that it waits for, operations of any kind included.
  private final func namesOfAwaited(by task: AnyFuture) -> String {
    let operations = state.withLock { $0.dependencies }.filter { operation in
      !(operation is AnyFuture) && !operation.isFinished
    }
    let names =
      awaited(by: task).map(\.taskName)
      + operations.map { $0.name ?? String(describing: type(of: $0)) }
    return names.prefix(3).joined(separator: ", ") + (names.count > 3 ? ", ..." : "")
  }

  // MARK: Setting up

  final func addHandler(to task: AnyFuture, isAssignment: Bool, _ handler: @escaping Handler) {
    let lateOn: ContextReference? = state.withLock { state in
      if state.conclusion == .done { return state.receiver }
      if isAssignment { state.assignments.append(handler) } else { state.handlers.append(handler) }
      return nil
    }
    if let lateOn { Self.call([handler], task, on: lateOn) {} }
  }

  final func receive(on context: ContextReference) {
    let last = state.withLock { state in
      defer { state.receiver = context }
      return state.receiver
    }
    withExtendedLifetime(last) {}
  }

  final func addCancellationHandler(to task: AnyFuture, _ handler: @escaping @Sendable () -> Void) {
    let isTooLate = state.withLock { state in
      if state.machine.wasTold || state.conclusion == .done { return true }
      state.cancellationHandlers.append(handler)
      return false
    }
    if isTooLate, task.isCancelled { handler() }
  }

  final func addObserver(_ observer: any TaskObserver) {
    state.withLock { if $0.conclusion != .done { $0.observers.append(observer) } }
  }

  final func addCondition(_ condition: AnyCondition, to task: AnyFuture) {
    let isTooLate = state.withLock { state in
      guard state.machine.phase == .created else { return state.machine.phase != .ended }
      state.conditions.append(condition)
      return false
    }
    if isTooLate, phase != .executing {
      fail(task, ProducerTaskError.conditionAddedTooLate(task: task.taskName))
    }
  }

  /// Does something when the task has settled and its handlers have run.
  final func afterwards(_ task: AnyFuture, _ body: @escaping @Sendable () -> Void) {
    let isOver = state.withLock { state in
      if state.conclusion == .done { return true }
      state.afterwards.append(body)
      return false
    }
    if isOver { body() }
  }

  // MARK: Dependencies

  final func addDependency(_ operation: Operation, to task: AnyFuture) {
    let (isNew, isEnqueued): (Bool, Bool) = state.withLock { state in
      guard state.machine.phase != .executing, state.machine.phase != .ended,
        state.addDependency(operation)
      else { return (false, false) }
      return (true, state.machine.isEnqueued && state.machine.block())
    }
    guard isNew else { return }
    WaitGraph.note(from: task, to: operation as? AnyFuture)
    if hasParts { noteWaitForMember(task, among: [operation]) }
    guard isEnqueued else { return }
    if let path = WaitGraph.cycle(from: task, pruning: false) {
      fail(task, ProducerTaskError.cycle(path: path))
      return
    }
    wait(task, for: operation, as: .dependency)
  }

  /// A group that waits for one of its own members waits for itself, whichever
  /// of them is the older.
  final func noteWaitForMember(_ task: AnyFuture, among operations: [Operation]) {
    let isMember = operations.contains { operation in
      (operation as? AnyFuture)?.taskCore?.state.withLock { $0.lobby != nil } == true
    }
    if isMember { WaitGraph.noteForwardEdge(from: self) }
  }

  final func removeDependency(_ operation: Operation, from task: AnyFuture) {
    let removed: (dependency: Operation, wait: Wait?)? = state.withLock { state in
      guard let index = state.dependencies.firstIndex(where: { $0 === operation }) else {
        return nil
      }
      let dependency = state.removeDependency(at: index)
      let place = state.waits.firstIndex { wait in
        switch wait {
        case .future(let waiter):
          waiter.source === operation && (waiter.role == .dependency || waiter.role == .consumed)
        case .operation(let observer): observer.operation === operation
        }
      }
      return (dependency, place.map { state.waits.remove(at: $0) })
    }
    guard let wait = removed?.wait else { return }
    // It may be telling at this very moment; whoever is first counts.
    switch wait {
    case .future(let waiter):
      if waiter.claim() { unblock(task) }
      waiter.withdraw(cancelling: false)
    case .operation(let observer):
      if observer.stop() { unblock(task) }
    }
  }

  /// Starts waiting; a blocker has been counted for it.
  private final func wait(
    _ task: AnyFuture, for operation: Operation, as role: SettlementWaiter.Role
  ) {
    if let future = operation as? AnyFuture {
      if future.isSettled, future.taskCore == nil { return unblock(task) }
      let waiter = SettlementWaiter(task, for: future, as: role)
      state.withLock { $0.waits.append(.future(waiter)) }
      waiter.start()
    } else {
      if operation.isFinished { return unblock(task) }
      let observer = FinishObserver(armedFor: operation) { [self] _ in unblock(task) }
      state.withLock { $0.waits.append(.operation(observer)) }
      observer.start(observing: operation)
    }
    // It may have ended meanwhile, and let go of the others.
    if task.isSettled { releaseWaits() }
  }

  private final func releaseWaits() {
    let waits = state.withLock { state in
      defer { state.waits = [] }
      return state.waits
    }
    for wait in waits { wait.withdraw() }
  }

  // MARK: Being enqueued

  /// Takes the task into a queue, or into one of somebody else (`nil`).
  ///
  /// `false` if it was in one before, or has ended. If not, whoever calls this
  /// is busy with it until he says so.
  final func enqueue(in queue: TaskQueue?, implicitly isImplicit: Bool) -> Bool {
    let (isNew, lobby): (Bool, TaskQueue?) = state.withLock { state in
      // What is upstream is waited for from the beginning.
      guard state.machine.enqueue(blockers: hasUpstream ? 2 : 1) else { return (false, nil) }
      state.home = queue
      state.isForeign = queue == nil
      state.isImplicit = isImplicit
      return (true, state.lobby.take())
    }
    withExtendedLifetime(lobby) {}
    return isNew
  }

  /// The task has become a member of a group that has not begun.
  final func waitInLobby(of queue: TaskQueue) {
    let old = state.withLock { state -> TaskQueue? in
      guard state.machine.phase == .created else { return nil }
      defer { state.lobby = queue }
      return state.lobby
    }
    withExtendedLifetime(old) {}
  }

  /// Whether the library had enqueued the task because another one needed it,
  /// and the user now does it himself; once.
  final func becomesExplicit(in queue: TaskQueue) -> Bool {
    state.withLock { state in
      defer { state.isImplicit = false }
      return state.isImplicit
    }
  }

  /// Everything that a task waits for, from the moment it is in a queue; the
  /// last one to be over brings it further.
  final func beginWaiting(_ task: AnyFuture) {
    callWillEnqueue(task)
    if state.withLock({ $0.extras != nil }) {
      if !prepare(task) { return }
    } else if let path = WaitGraph.cycle(from: task, pruning: true) {
      fail(task, ProducerTaskError.cycle(path: path))
      return
    }
    if hasUpstream {
      task.upstreamFuture?.taskCore?.branches.wrappingSubtract(1, ordering: .relaxed)
      task.attachToUpstream()
    }
    unblock(task)
  }

  /// Starts to wait for all but the upstream; `false` if the task has failed.
  private final func prepare(_ task: AnyFuture) -> Bool {
    let conditions = conditions
    if !conditions.isEmpty { prepare(task, conditions) }
    typealias Waits = (dependencies: [Operation], sources: [AnyFuture], consumed: AnyFuture?)
    let (dependencies, sources, consumed): Waits = state.withLock { state in
      for _ in state.dependencies { _ = state.machine.block() }
      // (A consumer's producer is among the dependencies.)
      let sources = isOperator ? state.sources : []
      for _ in sources { _ = state.machine.block() }
      state.openSources = Int32(sources.count)
      return (state.dependencies, sources, isOperator ? nil : state.sources.first)
    }
    if let path = WaitGraph.cycle(from: task, pruning: true) {
      fail(task, ProducerTaskError.cycle(path: path))
      return false
    }
    for dependency in dependencies {
      wait(task, for: dependency, as: dependency === consumed ? .consumed : .dependency)
    }
    for source in sources {
      source.taskCore?.branches.wrappingSubtract(1, ordering: .relaxed)
      wait(task, for: source, as: .source)
    }
    return true
  }

  private final func prepare(_ task: AnyFuture, _ conditions: [AnyCondition]) {
    let categories = CategoryLine.unique(conditions.flatMap(\.categories))
    state.withLock {
      $0.machine.note(conditions: true, categories: !categories.isEmpty)
      if !categories.isEmpty { $0.ticket = CategoryTicket(for: task, in: categories) }
    }
    for condition in conditions {
      guard let dependency = dependency(of: condition, for: task) else { continue }
      let isNew = state.withLock { $0.addDependency(dependency) }
      if isNew { WaitGraph.note(from: task, to: dependency) }
      home?.add(dependency, implicitly: true)
    }
  }

  final func unblock(_ task: AnyFuture, mayTakeTurn: Bool = false) {
    perform(state.withLock { $0.machine.unblock() }, task, mayTakeTurn: mayTakeTurn)
  }

  private final func perform(
    _ step: TaskStateMachine.Step, _ task: AnyFuture, mayTakeTurn: Bool = false
  ) {
    switch step {
    case .none: break
    case .check: check(task)
    case .queue: queueUp(task)
    case .schedule: schedule(task, mayTakeTurn: mayTakeTurn)
    }
  }

  // MARK: Conditions and categories

  private final func check(_ task: AnyFuture) {
    let conditions = conditions
    let check = ConditionCheck(count: conditions.count) { [self] errors in
      if errors.isEmpty {
        perform(state.withLock { $0.machine.conditionsAreMet() }, task)
      } else {
        fail(task, ProducerTaskError.conditionsFailure(errors: errors))
      }
    }
    state.withLock { $0.check = check }
    for (index, condition) in conditions.enumerated() {
      if task.isSettled { return check.abandon() }
      evaluate(condition, task) { answer in check.answer(answer, at: index) }
    }
    if task.isSettled { check.abandon() }
  }

  private final func queueUp(_ task: AnyFuture) {
    guard let ticket = state.withLock({ $0.ticket }) else { return }
    if CategoryLine.enter(ticket) { return categoriesAreFree(task) }
    WaitGraph.categoryWaits(task)
    if task.isSettled { return CategoryLine.leave(ticket) }
    if let path = WaitGraph.categoryCycle(from: task) {
      fail(task, ProducerTaskError.cycle(path: path))
    }
  }

  final func categoriesAreFree(_ task: AnyFuture) {
    perform(state.withLock { $0.machine.categoriesAreFree() }, task)
  }

  // MARK: Running

  private final func schedule(_ task: AnyFuture, mayTakeTurn: Bool) {
    let (home, isStarted) = state.withLock { ($0.home, $0.isStartedByForeignQueue) }
    let upstream = isOperator ? task.upstreamFuture : nil
    if let upstream, !acts(on: upstream.outcome) { return pass(task, upstream) }
    let job = Job(future: task, source: upstream ?? task, handler: nil)
    guard let home else {
      if isStarted { runForeign(task) } else { announceReadiness(task, again: 0.001) }
      return
    }
    if mayTakeTurn, isOperator, home.isOpen(for: self),
      Drain.current.takeTurn(job, on: .operationQueue(home))
    {
      return
    }
    home.admit(job, core: self)
  }

  final func run(_ task: AnyFuture, after source: AnyFuture) {
    let (runs, observers) = state.withLock { ($0.machine.run(), $0.extras?.observers) }
    guard runs else { return }
    if let observers { for observer in observers { tellStart(observer, task) } }
    if isOperator {
      task.takeWork()?(task, source)
      return
    }
    execute(task)
    let slot = Drain.current.turnSlot as? Slot
    // Held before it is looked whether that is needed: the task may settle at
    // any moment.
    slot?.hold()
    let action = state.withLock { state in
      let action = state.machine.workReturned(endsIfCancelled: endsWhenCancelledWorkReturns)
      if case .keepSlot = action { state.slot = slot }
      return action
    }
    switch action {
    case .keepSlot: break
    case .nothing: slot?.release()
    case .settleAsCancelled:
      fail(task, errorOfCancellation(of: task), from: .closure)
      slot?.release()
    }
  }

  final func upstreamHasSettled(
    _ task: AnyFuture, _ source: AnyFuture, in drain: Drain, mayTakeTurn: Bool
  ) {
    unblock(task, mayTakeTurn: mayTakeTurn)
  }

  final func awaitedHasSettled(
    _ task: AnyFuture, _ source: AnyFuture, role: SettlementWaiter.Role
  ) {
    switch role {
    case .dependency, .consumed: unblock(task)
    case .source: sourceHasSettled(task, source)
    case .inner: innerHasSettled(task, source)
    }
  }

  private final func sourceHasSettled(_ task: AnyFuture, _ source: AnyFuture) {
    let endsEarly = state.withLock { $0.endsEarly }
    let isEnough = endsEarly?(source) == true
    let step: TaskStateMachine.Step = state.withLock { state in
      guard state.openSources > 0 else { return .none }
      let count = isEnough ? state.openSources : 1
      state.openSources -= count
      return state.machine.unblock(count)
    }
    perform(step, task)
  }

  /// Says when one source is enough.
  final func endsEarly(_ isEnough: @escaping (AnyFuture) -> Bool) {
    state.withLock { $0.endsEarly = isEnough }
  }

  /// The task, and what is upstream of it, is about to be put in a queue.
  final func willBeEnqueued(_ task: AnyFuture) {
    let body = state.withLock { $0.onEnqueue.take() }
    body?(task)
  }

  /// Says what to do when the task is put in a queue.
  final func onEnqueue(_ body: @escaping (AnyFuture) -> Void) {
    state.withLock { $0.onEnqueue = body }
  }

  // MARK: Cancelling

  final func cancel(_ task: AnyFuture) {
    switch state.withLock({ $0.machine.cancel(settlesAtOnce: isOperator) }) {
    case .nothing:
      break
    case .settle:
      fail(task, ProducerTaskError.cancelled)
    case .tell:
      tellCancellation(task)
      workIsAskedToCancel(task)
      isNoLongerBusy(with: task)
    }
  }

  /// Lets the end come, if it had to wait.
  final func isNoLongerBusy(with task: AnyFuture) {
    if state.withLock({ $0.machine.isNoLongerBusy() }) {
      Drain.current.resumeDelivery(of: task)
    }
  }

  private final func tellCancellation(_ task: AnyFuture) {
    let (observers, handlers) = state.withLock { state in
      defer { state.cancellationHandlers = [] }
      return (state.observers, state.cancellationHandlers)
    }
    for observer in observers { tellCancel(observer, task) }
    for handler in handlers { handler() }
  }

  // MARK: Ending

  private enum Plan {
    case hold
    case deliver
    /// Somebody is to be told first.
    case conclude(Loot)
    /// Nobody is.
    case finish(Loot?, Place)
  }

  /// What a task that has ended lets go of.
  private struct Loot {
    let waits: [Wait]
    let check: ConditionCheck?
    let ticket: CategoryTicket?
    let conditions: [AnyCondition]
    let dependencies: [Operation]
    let wasEnqueued: Bool
    let forwardEdges: Int
  }

  /// What a task is in, until it has concluded.
  struct Place {
    let home: TaskQueue?
    let slot: Slot?
  }

  final func mayDeliver(_ task: AnyFuture, in drain: Drain) -> Bool {
    let plan: Plan = state.withLock { state in
      switch state.conclusion {
      case .done: return .deliver
      case .pending, .running: return .hold
      case .none: break
      }
      let wasEnqueued = state.machine.isEnqueued || state.home != nil || state.isForeign
      guard state.machine.end() else { return .hold }
      let isQuiet = state.isQuiet && !hasHook && state.home?.isObserved != true
      if isQuiet, state.extras == nil, state.forwardEdges == 0, wasEnqueued {
        state.conclusion = .done
        return .finish(nil, state.takePlace())
      }
      let loot = Loot(
        waits: state.waits, check: state.check, ticket: state.ticket,
        conditions: state.conditions, dependencies: state.dependencies, wasEnqueued: wasEnqueued,
        forwardEdges: state.forwardEdges)
      state.waits = []
      state.check = nil
      state.ticket = nil
      state.forwardEdges = 0
      state.dependencies = []
      state.conclusion = isQuiet ? .done : .pending
      return isQuiet ? .finish(loot, state.takePlace()) : .conclude(loot)
    }
    switch plan {
    case .deliver: return true
    case .hold: return false
    case .finish(let loot, let place):
      if let loot { letGo(task, loot) } else { taskHasSettled(task) }
      place.home?.taskHasConcluded(task, self)
      place.slot?.release()
      return true
    case .conclude(let loot):
      letGo(task, loot)
      drain.runInline(Job(future: task, source: task, handler: Self.conclusion))
      return false
    }
  }

  final func isTold(_ task: AnyFuture) -> Bool {
    let thread = ObjectIdentifier(Drain.current)
    return state.withLock { $0.conclusion == .done || $0.concluder == thread }
  }

  // Sendable: it captures nothing, and never changes.
  private static nonisolated(unsafe) let conclusion = Work { task, _ in
    task.taskCore?.conclude(task)
  }

  private final func letGo(_ task: AnyFuture, _ loot: Loot) {
    for wait in loot.waits { wait.withdraw() }
    loot.check?.abandon()
    if let ticket = loot.ticket { CategoryLine.leave(ticket) }
    WaitGraph.forget(loot.forwardEdges)
    if !loot.wasEnqueued, task.outcome == .cancelled { cancelUnenqueuedUpstream(task) }
    taskHasSettled(task)
  }

  /// An operator that is in no queue does not yet wait for its upstream, and
  /// still is the reason for it to run.
  private final func cancelUnenqueuedUpstream(_ task: AnyFuture) {
    guard isOperator else { return }
    for source in upstreams(of: task) {
      guard let core = source.taskCore else { continue }
      let left = core.branches.wrappingSubtract(1, ordering: .relaxed).newValue
      if left <= 0, !source.isWanted { source.cancel() }
    }
  }

  private final func conclude(_ task: AnyFuture) {
    let thread = ObjectIdentifier(Drain.current)
    let tellsCancellation = state.withLock { state in
      state.conclusion = .running
      state.concluder = thread
      return task.outcome == .cancelled && state.machine.tellAtEnd()
    }
    if tellsCancellation { tellCancellation(task) }
    callHandlers(task)
    callFinished(task)
    for observer in observers { tellFinish(observer, task) }
    // (Those that have come meanwhile.)
    while callHandlers(task) {}
    leaveQueue(task)
    let (handlers, afterwards, receiver, observers) = state.withLock { state in
      state.conclusion = .done
      state.concluder = nil
      defer {
        state.handlers = []
        state.assignments = []
        state.afterwards = []
        state.observers = []
        state.cancellationHandlers = []
      }
      return (
        state.handlers + state.assignments, state.afterwards, state.receiver,
        (state.observers, state.cancellationHandlers)
      )
    }
    // Released here, outside the lock.
    withExtendedLifetime(observers) {}
    // (Behind the handlers, on their queue.)
    if !handlers.isEmpty || !afterwards.isEmpty {
      Self.call(handlers, task, on: receiver) { for body in afterwards { body() } }
    }
    Drain.current.resumeDelivery(of: task)
  }

  /// `false` if there were none.
  @discardableResult
  private final func callHandlers(_ task: AnyFuture) -> Bool {
    let (handlers, receiver) = state.withLock { state in
      defer {
        state.handlers = []
        state.assignments = []
      }
      return (state.handlers + state.assignments, state.receiver)
    }
    if handlers.isEmpty { return false }
    Self.call(handlers, task, on: receiver) {}
    return true
  }

  private static func call(
    _ handlers: [Handler], _ task: AnyFuture, on context: ContextReference,
    _ then: @escaping () -> Void
  ) {
    switch context {
    case .dispatchQueue(let queue):
      // Sendable: handed over to the queue, and not touched here any more.
      nonisolated(unsafe) let (handlers, then) = (handlers, then)
      queue.async {
        for handler in handlers { handler(task) }
        then()
      }
    case .operationQueue(let queue):
      // Sendable: handed over to the queue, and not touched here any more.
      nonisolated(unsafe) let (handlers, then) = (handlers, then)
      queue.addOperation {
        for handler in handlers { handler(task) }
        then()
      }
    case .inline, .custom:
      for handler in handlers { handler(task) }
      then()
    }
  }

  private final func leaveQueue(_ task: AnyFuture) {
    let place = state.withLock { $0.takePlace() }
    place.home?.taskHasConcluded(task, self)
    place.slot?.release()
  }

  // MARK: Producing

  final func produce<T: ProducerTaskProtocol, P: ProducerTaskProtocol>(_ task: T, by producer: P) {
    let (home, observers) = state.withLock { ($0.home, $0.observers) }
    for observer in observers { observer.task(producer, didProduce: task) }
    guard let home else {
      task.taskCore?.fail(task, ProducerTaskError.notEnqueued(task: task.taskName))
      return
    }
    home.add(task, implicitly: false)
  }

  // MARK: Queues of somebody else

  final func join(_ task: AnyFuture, _ queue: OperationQueue) -> Bool {
    if let queue = queue as? TaskQueue { return queue.add(task, implicitly: false) }
    guard phase == .created else { return false }
    queue.addReliably(task)
    return true
  }

  final func startIfIdle(_ task: AnyFuture, in queue: OperationQueue) {
    guard phase == .created else { return }
    if let queue = queue as? TaskQueue {
      queue.add(task, implicitly: true)
      return
    }
    #if canImport(Darwin)
      // Nothing tells whether an operation queue has it, and a second one traps.
      TaskQueue().add(task, implicitly: true)
    #else
      if !task.isInOperationQueue { queue.addReliably(task) }
    #endif
  }

  /// Queues read this; a queue that is not a task queue may just be taking the
  /// task.
  final func isReady(_ task: AnyFuture) -> Bool {
    let phase = phase
    guard phase == .created else { return phase == .ready || phase == .executing }
    #if canImport(Darwin)
      // Nothing tells who asks: the queue's slot is where the task then waits.
      return true
    #else
      if task.isInOperationQueue {
        // At once: cancelled before it is adopted, it must not finish before
        // the queue has started it.
        task.noteEnqueued()
        // Not here: a queue may ask under its lock.
        DispatchQueue.global().async { self.adopt(task) }
      }
      return false
    #endif
  }

  private final func adopt(_ task: AnyFuture) {
    willBeEnqueued(task)
    guard enqueue(in: nil, implicitly: false) else { return }
    task.noteEnqueued()
    if isOperator {
      // Nobody tells which queue it is that has the stage.
      let queue = TaskQueue()
      for source in upstreams(of: task) { queue.add(source, implicitly: true) }
    }
    beginWaiting(task)
    isNoLongerBusy(with: task)
  }

  /// Whether a queue is starting the task; by hand it is a mistake.
  final func prepareForeignStart(_ task: AnyFuture) -> Bool {
    if task.isSettled { return true }
    #if canImport(Darwin)
      let isQueue = OperationQueue.current != nil
    #else
      let isQueue = task.isBeingStartedByQueue
    #endif
    if isQueue { return true }
    if phase == .created {
      fail(task, ProducerTaskError.notEnqueued(task: task.taskName))
    }
    return false
  }

  final func runInForeignQueue(_ task: AnyFuture) {
    guard !task.isSettled else { return }
    let isForeign = state.withLock { state in
      if state.isForeign || state.machine.phase == .created {
        state.isStartedByForeignQueue = true
        return true
      }
      return false
    }
    guard isForeign else { return }
    if phase == .created { adopt(task) } else { runForeign(task) }
  }

  /// Says that the task is ready, and says it again: a queue that is just
  /// adopting the task does not hear it.
  private final func announceReadiness(_ task: AnyFuture, again delay: Double) {
    task.post("isReady")
    guard delay < 5 else { return }
    DispatchQueue.global().asyncAfter(deadline: .now() + delay) { [weak task] in
      guard let task, let core = task.taskCore, core.phase == .ready,
        !core.state.withLock({ $0.isStartedByForeignQueue })
      else { return }
      core.announceReadiness(task, again: delay * 10)
    }
  }

  private final func runForeign(_ task: AnyFuture) {
    let source = isOperator ? task.upstreamFuture ?? task : task
    Drain.current.runTurn(
      Job(future: task, source: source, handler: nil), on: .inline, slot: nil)
  }

  // MARK: What the engine asks

  /// What the task waits for now, beside its upstream.
  final func awaited(by task: AnyFuture) -> [AnyFuture] {
    let (all, ticket, phase): ([AnyFuture], CategoryTicket?, TaskStateMachine.Phase) =
      state.withLock { state in
        let phase = state.machine.phase
        guard state.extras != nil else { return ([], nil, phase) }
        let dependencies = state.dependencies.compactMap { $0 as? AnyFuture }
        return (dependencies + state.sources, state.ticket, phase)
      }
    if all.isEmpty, ticket == nil, !hasParts { return [] }
    var awaited = all.filter { !$0.isSettled }
    if phase == .queueing, let ticket { awaited += CategoryLine.ahead(of: ticket) }
    if phase == .executing { awaited += parts }
    return awaited
  }

  final func needsSlot(_ task: AnyFuture, of queue: OperationQueue) -> Bool {
    state.withLock { state in
      state.home === queue && !(isOperator && state.machine.phase == .executing)
    }
  }

  // MARK: Release

  /// Lets go of what the task waits for; a chain of tasks that were never
  /// enqueued goes in a loop.
  final func releaseWithoutRecursion(_ task: AnyFuture) {
    // Most tasks have let go of everything when they ended.
    if !hasParts, state.withLock({ $0.extras == nil && $0.machine.phase == .ended }) { return }
    var stack = takeReferences(task)
    while var next = stack.popLast() {
      if isKnownUniquelyReferenced(&next), let core = next.taskCore {
        stack += core.takeReferences(next)
      }
    }
  }

  private final func takeReferences(_ task: AnyFuture) -> [AnyFuture] {
    var all: [AnyFuture] = takeParts()
    let (dependencies, sources, edges, wasEnqueued) = state.withLock { state in
      defer {
        state.dependencies = []
        state.sources = []
        state.forwardEdges = 0
      }
      return (
        state.dependencies, state.sources, state.forwardEdges,
        state.machine.phase != .created
      )
    }
    WaitGraph.forget(edges)
    for dependency in dependencies {
      if let future = dependency as? AnyFuture { all.append(future) }
    }
    all += sources
    if isOperator {
      if !wasEnqueued {
        for source in sources { source.taskCore?.branches.wrappingSubtract(1, ordering: .relaxed) }
      }
      if let upstream = task.takeUpstream() {
        if !wasEnqueued { upstream.taskCore?.branches.wrappingSubtract(1, ordering: .relaxed) }
        all.append(upstream)
      }
    }
    return all
  }
}
