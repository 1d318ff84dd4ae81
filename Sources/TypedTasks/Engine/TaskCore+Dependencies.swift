import Foundation
import Futures

// The waits of a task, and what the task does when they end.

extension TaskCore {
  /// A wait that can be withdrawn.
  enum Wait {
    case future(SettlementWaiter)
    case operation(OperationObserver)

    func withdraw(cancelling: Bool = true) {
      switch self {
      case .future(let waiter):
        // A producer that the user has not added yet does no work that a cancellation
        // could stop.
        let isIdle = waiter.role == .consumed && waiter.source?.taskCore?.phase == .created
        waiter.withdraw(cancelling: cancelling && !isIdle)
      case .operation(let observer): observer.stop()
      }
    }
  }

  final func addDependency(_ operation: Operation, to task: AnyFuture) {
    let dependency = makeDependency(on: operation)
    let (isNew, isEnqueued): (Bool, Bool) = state.withLock { state in
      guard state.machine.phase != .executing, state.machine.phase != .ended,
        state.more.dependencies.add(dependency)
      else { return (false, false) }
      return (true, state.areDependenciesCounted && state.machine.block())
    }
    guard isNew else { return }
    startWatching(dependency)
    guard isEnqueued else { return }
    wait(task, for: operation, as: .dependency)
    if let future = operation as? AnyFuture { failIfCircular(task, waitingFor: future) }
  }

  final func makeDependency(on operation: Operation) -> Dependency {
    let id = Dependency.id(of: operation)
    return Dependency(operation) { [weak self] _ in
      self?.state.withLock { $0.extras?.dependencies.keep(id) }
    }
  }

  /// Starts watching a dependency that is in the list.
  private final func startWatching(_ dependency: Dependency) {
    guard let watcher = dependency.watcher,
      let future = dependency.operation as? AnyFuture
    else { return }
    if !future.watch(with: watcher) {
      state.withLock { $0.extras?.dependencies.keep(dependency.id) }
    }
    // The task may have ended, or the dependency may have been removed, meanwhile.
    if !isDependency(dependency.id) { dependency.stopWatching() }
  }

  private final func isDependency(_ id: ObjectIdentifier) -> Bool {
    state.withLock { $0.extras?.dependencies.contains(id) == true }
  }

  final func removeDependency(_ operation: Operation, from task: AnyFuture) {
    let id = Dependency.id(of: operation)
    let removed: (dependency: Dependency, wait: Wait?)? = state.withLock { state in
      guard let extras = state.extras, let dependency = extras.dependencies.remove(id)
      else { return nil }
      return (dependency, extras.dependencyWaits.removeValue(forKey: id))
    }
    removed?.dependency.stopWatching()
    guard let wait = removed?.wait else { return }
    // The wait may be ending at this moment; only the first of the two removes the
    // blocker.
    switch wait {
    case .future(let waiter):
      if waiter.claim() { unblock(task) }
      waiter.withdraw(cancelling: false)
    case .operation(let observer):
      if observer.stop() { unblock(task) }
    }
  }

  /// Starts a wait whose blocker has already been counted.
  final func wait(
    _ task: AnyFuture, for operation: Operation, as role: SettlementWaiter.Role
  ) {
    if let future = operation as? AnyFuture {
      if future.isSettled, future.taskCore == nil { return unblock(task) }
      let waiter = SettlementWaiter(task, for: future, as: role)
      guard note(.future(waiter), for: operation, as: role) else { return unblock(task) }
      withExtendedLifetime(future) { waiter.start() }
      // The dependency may have been removed before the waiter was in the list.
      if waiter.isClaimed { waiter.withdraw(cancelling: false) }
    } else {
      if operation.isFinished { return unblock(task) }
      let observer = OperationObserver(of: operation)
      guard note(.operation(observer), for: operation, as: role) else { return unblock(task) }
      observer.start { [self] in unblock(task) }
    }
    // The task may have ended meanwhile, and withdrawn its other waits.
    if task.isSettled { releaseWaits() }
  }

  /// Notes a wait; `false` if its dependency was removed before, or has another wait.
  private final func note(
    _ wait: Wait, for operation: Operation, as role: SettlementWaiter.Role
  ) -> Bool {
    let id = Dependency.id(of: operation)
    return state.withLock { state in
      if role == .source {
        state.more.waits.append(wait)
        return true
      }
      guard let extras = state.extras, extras.dependencies.contains(id) else { return false }
      // Another thread has removed the dependency, added it again and noted its own wait.
      guard extras.dependencyWaits[id] == nil else { return false }
      extras.dependencyWaits[id] = wait
      return true
    }
  }

  private final func releaseWaits(cancelling: Bool = true) {
    let waits = state.withLock { $0.takeWaits() }
    for wait in waits { wait.withdraw(cancelling: cancelling) }
  }

  @usableFromInline
  final func sourceHasSettled(
    _ task: AnyFuture, _ source: AnyFuture, as role: SettlementWaiter.Role
  ) {
    switch role {
    case .upstream: unblock(task, mayTakePlace: true)
    case .dependency, .consumed: unblock(task)
    case .source: sourceHasSettled(task, source)
    case .inner: innerHasSettled(task, source)
    case .part: partHasSettled(task, source)
    }
  }

  private final func sourceHasSettled(_ task: AnyFuture, _ source: AnyFuture) {
    let isEnough = source.outcome == .success && state.withLock { $0.isRace }
    let keys = willChange(task) { _ = $0.unblock(isEnough ? $0.blockers : 1) }
    let step: TaskStateMachine.Step = state.withLock { state in
      guard state.openSources > 0 else { return .none }
      if isEnough { state.more.winner = source }
      let count = isEnough ? state.openSources : 1
      state.openSources -= count
      return state.machine.unblock(count)
    }
    task.didChange(keys)
    perform(step, task)
  }

  // MARK: The graph

  /// The futures that the task waits for now, beside its upstream; `nil` for a task that
  /// is in no queue and waits for nothing yet.
  ///
  /// A slot is no edge: any of several tasks that have slots may give one back. A thread
  /// that blocks looks through the slots by itself: see `BlockedQueues`.
  @usableFromInline
  final func awaited(by task: AnyFuture) -> [AnyFuture]? {
    typealias Waits = (TaskStateMachine.Phase, [AnyFuture], CategoryClaim?, TaskQueue?)
    let (phase, all, claim, groupQueue): Waits = state.withLock { state in
      let phase = state.machine.phase
      guard let extras = state.extras else { return (phase, [], nil, state.groupQueue) }
      let dependencies = extras.dependencies.operations.compactMap { $0 as? AnyFuture }
      // A consumer's producer is among the dependencies, unless the user has removed it. If
      // one source was enough, an operator no longer waits for the others.
      let waits = isOperator && (phase == .created || state.openSources > 0)
      return (phase, dependencies + (waits ? extras.sources : []), extras.claim, state.groupQueue)
    }
    if phase == .created {
      // A member waits for its group to begin. While the group starts its members one after
      // the other, those that it has not reached wait for nothing yet.
      guard let owner = groupQueue?.owner, !owner.hasBegun else { return nil }
      return owner.ownerTask.map { [$0] + all }
    }
    var awaited = all.filter { !$0.isSettled }
    if phase == .queueing, let claim { awaited += CategoryTable.holders(for: claim) }
    if phase == .executing { awaited += parts }
    return awaited
  }

  /// The first tasks that wait for this task and are not among its waiters.
  @usableFromInline
  final func awaiting(_ task: AnyFuture, limit: Int) -> [AnyFuture] {
    let parts = partsThatWait(limit: limit)
    guard let claim, parts.count < limit else { return parts }
    return parts + CategoryTable.waiting(behind: claim, limit: limit - parts.count)
  }

  /// Whether the task waits only for a few futures that wait for nothing, so that it closes no
  /// cycle.
  ///
  /// Asked if very many tasks may wait for its categories, or for those of its group: a search
  /// would first read all of them.
  private final func waitsForIdle(_ task: AnyFuture) -> Bool {
    let (claim, home) = state.withLock { ($0.extras?.claim, $0.home) }
    guard claim != nil || home?.owner != nil else { return false }
    let awaited = task.futuresWaitedFor
    // A task that waits for parts is not asked: it may have very many.
    return awaited.count <= 4
      && awaited.allSatisfy { future in
        future.isSettled
          || future.taskCore?.hasParts != true && future.futuresWaitedFor.allSatisfy(\.isSettled)
      }
  }

  /// Whether only its group waits for a new member, and the member waits only for other
  /// members of the queue.
  ///
  /// Then it closes no cycle that is not there without it: the group waits for these other
  /// members, too. The last task that adds an edge to such a cycle searches, and is on it.
  final func waitsForSiblings(_ task: AnyFuture) -> Bool {
    guard let home = state.withLock({ $0.home }), let group = home.owner?.ownerTask else {
      return false
    }
    return Graph.isAwaited(task, onlyBy: group)
      && task.futuresWaitedFor.allSatisfy { $0.isSettled || $0.taskCore?.home === home }
  }

  /// Lets the groups around a task give their slots back, if the task now waits for one of
  /// these.
  ///
  /// - Parameter new: What the task now waits for; `nil` if that may be several futures.
  private final func giveSlotsBack(around task: AnyFuture, waitingFor new: AnyFuture?) {
    if hasParts { giveSlotBack(ifNeededFor: new.map { [$0] } ?? parts) }
    // Only the new future: the closure of an operator may be running.
    let futures = [new ?? task]
    var queue = home
    // For groups further outside, `watchSlot(of:after:)` looks.
    for _ in 0..<64 {
      guard let core = queue?.owner?.ownerTask?.taskCore else { return }
      core.giveSlotBack(ifNeededFor: futures)
      queue = core.home
    }
  }

  /// Fails the task if it waits for itself; called after edges have been added.
  ///
  /// - Parameter new: The target of the new edge, if there is only one. Only this edge
  ///   can have closed a cycle, however many other edges there are.
  @discardableResult
  final func failIfCircular(_ task: AnyFuture, waitingFor new: AnyFuture? = nil) -> Bool {
    let isCircular =
      if let new { !new.isSettled && Graph.closesCycle(task, waitingFor: new) } else {
        !waitsForIdle(task) && Graph.closesCycle(task)
      }
    guard isCircular else {
      giveSlotsBack(around: task, waitingFor: new)
      return false
    }
    let path = Graph.cycle(through: task).map(\.taskName)
    // The futures that the task waits for continue, although it no longer wants them.
    releaseWaits(cancelling: false)
    fail(task, ProducerTaskError.cycle(path: path))
    return true
  }
}
