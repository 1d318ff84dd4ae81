import Foundation
import Futures

// The way from waiting to running: each step performs what the state machine returns when
// one more obstacle is gone.

extension TaskCore {
  final func unblock(_ task: AnyFuture, mayTakePlace: Bool = false) {
    perform(change(task) { $0.unblock() }, task, mayTakePlace: mayTakePlace)
  }

  final func perform(
    _ step: TaskStateMachine.Step, _ task: AnyFuture, mayTakePlace: Bool = false
  ) {
    switch step {
    case .none: break
    case .check: check(task)
    case .queue: standInLine(task)
    case .schedule: schedule(task, mayTakePlace: mayTakePlace)
    case .withdraw: withdrawClaim(task)
    }
  }

  // MARK: Conditions

  /// Evaluates the conditions on a queue of their own: a condition may block, and no
  /// condition of the user may run on the thread that adds the task or settles a dependency.
  ///
  /// Conditions that give permits are asked at once, so that the permits are in order.
  private final func check(_ task: AnyFuture) {
    let conditions = conditions
    let check = ConditionCheck(of: task, count: conditions.count)
    state.withLock { $0.more.check = check }
    ask(conditions, about: task, inPlace: true, check)
    if conditions.allSatisfy(\.isAskedInPlace) { return }
    // A serial queue: the shared queues stand still when their threads block.
    let queue = DispatchQueue(label: "conditions of \(task.taskName)")
    let work = Work { [self] task, _ in ask(conditions, about: task, inPlace: false, check) }
    WorkLoop.current.handOffLater(
      .question(of: task, work), to: .dispatchQueue(queue))
  }

  /// All conditions have answered.
  final func conditionsHaveAnswered(_ task: AnyFuture, _ errors: [any Error]) {
    if errors.isEmpty {
      perform(change(task) { $0.conditionsAreMet() }, task)
    } else {
      fail(task, ProducerTaskError.conditionsFailure(errors: errors))
    }
  }

  private final func ask(
    _ conditions: [AnyCondition], about task: AnyFuture, inPlace: Bool, _ check: ConditionCheck
  ) {
    for (index, condition) in conditions.enumerated() where condition.isAskedInPlace == inPlace {
      if task.isSettled { return check.abandon() }
      let answer = ConditionCheck.Answer(to: check, at: index)
      condition.evaluate(for: asTask(task)) { answer($0) }
    }
    if task.isSettled { check.abandon() }
  }

  // MARK: Running

  /// Asks for a slot.
  private final func schedule(_ task: AnyFuture, mayTakePlace: Bool) {
    if passes(task) { return }
    let (home, hasCategories) = state.withLock { ($0.home, $0.machine.hasCategories) }
    guard let home else { return scheduleInForeignQueue(task) }
    let upstream = isOperator ? task.upstreamFuture : nil
    let job = Continuation.link(task, reading: upstream ?? task)
    if mayTakePlace, isOperator, !hasCategories,
      WorkLoop.current.takeNextInBatch(job, on: .operationQueue(home))
    {
      return
    }
    home.addSlot(for: job)
  }

  /// Whether a ready operator settles like what it waited for, because it does not act on that
  /// outcome, or because one of several was enough.
  final func passes(_ task: AnyFuture) -> Bool {
    guard isOperator else { return false }
    // A loser may hold the last slot, or the only thread, and end only when the race is over.
    let source = hasUpstream ? task.upstreamFuture : state.withLock { $0.extras?.winner }
    guard let source, !hasUpstream || !acts(on: source.outcome) else { return false }
    pass(task, source)
    return true
  }

  /// Puts the task in the line for its categories; the first task in the line asks for a
  /// slot.
  private final func standInLine(_ task: AnyFuture) {
    guard let claim else { return }
    CategoryTable.enter(claim)
    // The edges to the tasks that hold the categories exist now.
    if phase == .queueing { failIfCircular(task) }
  }

  /// The categories appear to be free.
  final func askForSlot(_ task: AnyFuture) {
    perform(change(task) { $0.categoriesMayBeFree() }, task)
  }

  /// Gives up the claim: the task has got a dependency since it asked for its categories.
  private final func withdrawClaim(_ task: AnyFuture) {
    if let claim { CategoryTable.withdraw(claim) }
    unblock(task)
  }

  /// The priority of the task has changed.
  ///
  /// A task that has asked for a slot asks once more, and uses the slot that comes first.
  final func priorityHasChanged(_ task: AnyFuture) {
    guard state.withLock({ $0.machine.phase == .ready && $0.home != nil }) else { return }
    schedule(task, mayTakePlace: false)
  }

  @usableFromInline
  final func run(_ task: AnyFuture, after source: AnyFuture) {
    // An operator may run in the slot of another task, and ends when its closure returns.
    // A task in a plain queue has no slot of a task queue.
    var slot = isOperator ? nil : WorkLoop.current.placeholder as? BatchOperation
    // If the priority was lowered after the task asked for this slot, it uses another slot.
    if let slot, task.hasCustomScheduling, home != nil,
      slot.queuePriority.rawValue > task.queuePriority.rawValue
    {
      // No setter has run for a property that a subclass computes, so the task asks here.
      return priorityHasChanged(task)
    }
    typealias Begin = (TaskStateMachine.Start, [any TaskObserver]?, CategoryClaim?)
    let (start, observers, claim): Begin = change(task, { $0.start() }) { state, start in
      if state.home == nil { slot = nil }
      // From now on a task that waits again runs on another thread.
      if state.foreignStart == .starting { state.foreignStart = .started }
      if start == .execute { state.slot = slot }
      return (start, state.extras?.observers, state.extras?.claim)
    }
    switch start {
    case .nothing: return
    case .withdraw: return withdrawClaim(task)
    case .takeCategories: guard takeCategories(task, claim, slot) else { return }
    case .execute: break
    }
    // Held before the work begins: the task may conclude at any moment.
    slot?.hold()
    if hasParts, slot != nil, let home {
      home.holdsSlot(task, self)
      watchSlot(of: task)
    }
    if TraceRecorder.isOn, !isOperator { TraceRecorder.taskBegins(task, in: home) }
    for observer in observers ?? [] { observer.taskDidStart(asTask(task)) }
    if isOperator { task.takeWork()?(task, source) } else { execute(task) }
    executeHasReturned(task)
  }

  /// Takes the categories of a task that has a slot; `false` if the task has to give the
  /// slot back.
  private final func takeCategories(
    _ task: AnyFuture, _ claim: CategoryClaim?, _ slot: BatchOperation?
  ) -> Bool {
    guard let claim else { return false }
    guard CategoryTable.take(claim) else {
      // The edges to the tasks that hold the categories exist now.
      failIfCircular(task)
      return false
    }
    let start = change(task, { $0.categoriesAreTaken() }) { state, start in
      if start == .execute { state.slot = slot }
      return start
    }
    // A task that has ended leaves the table by itself.
    if start == .withdraw { withdrawClaim(task) }
    return start == .execute
  }

  private static let slotWatch = DispatchQueue(label: "slots of groups")

  /// Looks at growing intervals whether a group has to give its slot back.
  ///
  /// A group gives it back at once when a member begins to wait for a task that needs it, and
  /// when such a task asks for it. This is for what no event tells: threads and handlers that
  /// begin to wait, closures and plain operations that ask for a slot, slots of other queues,
  /// and a need that only a long search finds. It ends when the queue has no limit. Only one
  /// look at a time is ahead.
  final func watchSlot(of task: AnyFuture, after delay: Double = 0.1) {
    guard let home, home.maxConcurrentOperationCount > 0 else { return }
    let isWatched = state.withLock { state in
      defer { state.isSlotWatched = true }
      return state.isSlotWatched
    }
    if isWatched { return }
    Self.slotWatch.asyncAfter(deadline: .now() + delay) { [weak task] in
      guard let task, let core = task.taskCore else { return }
      core.state.withLock { $0.isSlotWatched = false }
      core.giveSlotBack(ifNeededFor: core.parts, lookingAt: .max)
      guard core.holdsSlotForParts, let home = core.home else { return }
      if BlockedQueues.areAllSlotsBlocked(of: home), core.waitsForHandlers(on: home) {
        core.giveSlotBack()
      } else {
        core.watchSlot(of: task, after: min(delay * 2, 8))
      }
    }
  }

  /// Gives the slot of a group back if futures that a member waits for, or members, need it.
  ///
  /// - Parameter limit: How many futures are looked at, at most. Many events ask, so each
  ///   looks at few; `watchSlot(of:after:)` looks at all.
  final func giveSlotBack(
    ifNeededFor futures: @autoclosure () -> [AnyFuture], lookingAt limit: Int = 64
  ) {
    guard holdsSlotForParts, let home else { return }
    let isNeeded = BlockedQueues.isStuck(
      waitingFor: futures(), with: home, limit: limit
    ) { future in
      future.taskCore?.isWorking == true
    }
    if isNeeded { giveSlotBack() }
  }

  private final func giveSlotBack() {
    let (slot, home) = state.withLock { ($0.slot.take(), $0.home) }
    guard let slot else { return }
    home?.hasGivenBackSlot(self)
    slot.release()
  }

  /// Whether the task, or a part of it, waits for handlers that need a slot of a queue.
  private final func waitsForHandlers(on queue: OperationQueue) -> Bool {
    var next = [self]
    // Many paths may lead to one part.
    var seen: Set<ObjectIdentifier> = []
    while let core = next.popLast() {
      guard seen.insert(ObjectIdentifier(core)).inserted else { continue }
      if core.needsHandlers(on: queue) { return true }
      if core.hasParts { next += core.parts.compactMap(\.taskCore) }
    }
    return false
  }

  /// Whether the task's own work goes on.
  private final var isWorking: Bool {
    !hasParts && state.withLock { $0.machine.working > 0 }
  }

  /// Whether the task holds a slot while it waits for its parts.
  final var holdsSlotForParts: Bool {
    hasParts && state.withLock { $0.slot != nil && $0.machine.phase == .executing }
  }

  private final func executeHasReturned(_ task: AnyFuture) {
    let (action, place) = state.withLock { state in
      let endsIfCancelled = endsWhenCancelledWorkReturns && !isOperator
      let action = state.machine.workReturned(endsIfCancelled: endsIfCancelled)
      return (action, action == .giveBack ? state.giveBack() : nil)
    }
    if let place { giveBack(place) }
    if action == .settleAsCancelled {
      fail(task, errorOfCancellation(of: task), from: .closure)
    }
    workHasReturned(task)
  }

  /// Counts a part of the work that continues after `execute()` has returned; `false` if
  /// the task does not execute.
  final func workGoesOn() -> Bool { state.withLock { $0.machine.workGoesOn() } }

  /// A part of the work that continued elsewhere has ended.
  final func workHasEnded() {
    let place = state.withLock { $0.machine.workHasEnded() ? $0.giveBack() : nil }
    if let place { giveBack(place) }
  }

  @usableFromInline
  final func need(of task: AnyFuture) -> FutureNeed {
    if needsHandlers(on: .main) { return .slot(of: .main) }
    return state.withLock { state in
      // An operator may run in the slot of another task, or need no slot.
      let isEarly = state.machine.phase == .waiting || state.machine.phase == .created
      let mayNeedNoSlot = isOperator && isEarly
      // A plain queue may have a task that has not noticed it yet.
      let queue = state.machine.isEnqueued ? state.home ?? state.foreignQueue : state.foreignQueue
      guard let queue, state.machine.phase != .executing, !mayNeedNoSlot else {
        return mayNeedNoSlot && state.isRace ? .oneOfAwaited : .allAwaited
      }
      return .slot(of: queue)
    }
  }
}
