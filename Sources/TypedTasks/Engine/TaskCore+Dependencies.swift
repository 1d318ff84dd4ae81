import Foundation
import Futures

// What the task waits for, and what comes of it when that has settled.

extension TaskCore {
  /// Something that is waited for, to be let go of.
  enum Wait {
    case future(SettlementWaiter)
    case operation(OperationObserver)

    func withdraw(cancelling: Bool = true) {
      switch self {
      case .future(let waiter):
        // (A producer that the user has not added yet does nothing for anybody.)
        let isIdle = waiter.role == .consumed && waiter.source.taskCore?.phase == .created
        waiter.withdraw(cancelling: cancelling && !isIdle)
      case .operation(let observer): observer.stop()
      }
    }
  }

  final func addDependency(_ operation: Operation, to task: AnyFuture) {
    let (isNew, isEnqueued): (Bool, Bool) = state.withLock { state in
      guard state.machine.phase != .executing, state.machine.phase != .ended,
        state.dependencies.add(operation)
      else { return (false, false) }
      return (true, state.areDependenciesCounted && state.machine.block())
    }
    guard isNew, isEnqueued else { return }
    wait(task, for: operation, as: .dependency)
    if let future = operation as? AnyFuture { failIfCircular(task, waitingFor: future) }
  }

  final func removeDependency(_ operation: Operation, from task: AnyFuture) {
    let removed: (dependency: Operation, wait: Wait?)? = state.withLock { state in
      guard let dependency = state.dependencies.remove(operation) else { return nil }
      return (dependency, state.dependencyWaits.removeValue(forKey: ObjectIdentifier(operation)))
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
  final func wait(
    _ task: AnyFuture, for operation: Operation, as role: SettlementWaiter.Role
  ) {
    if let future = operation as? AnyFuture {
      if future.isSettled, future.taskCore == nil { return unblock(task) }
      let waiter = SettlementWaiter(task, for: future, as: role)
      guard note(.future(waiter), for: operation, as: role) else { return unblock(task) }
      waiter.start()
      // (It may have been taken back before it was in the list.)
      if waiter.isClaimed { waiter.withdraw(cancelling: false) }
    } else {
      if operation.isFinished { return unblock(task) }
      let observer = OperationObserver(of: operation)
      guard note(.operation(observer), for: operation, as: role) else { return unblock(task) }
      observer.start { [self] in unblock(task) }
    }
    // It may have ended meanwhile, and let go of the others.
    if task.isSettled { releaseWaits() }
  }

  /// `false` if it is a dependency that was taken back before the wait was there.
  private final func note(
    _ wait: Wait, for operation: Operation, as role: SettlementWaiter.Role
  ) -> Bool {
    state.withLock { state in
      switch role {
      case .dependency, .consumed:
        guard state.dependencies.contains(operation) else { return false }
        state.dependencyWaits[ObjectIdentifier(operation)] = wait
      case .source, .inner, .part: state.waits.append(wait)
      }
      return true
    }
  }

  private final func releaseWaits(cancelling: Bool = true) {
    let waits = state.withLock { $0.takeWaits() }
    for wait in waits { wait.withdraw(cancelling: cancelling) }
  }

  @usableFromInline
  final func upstreamHasSettled(_ task: AnyFuture, _ source: AnyFuture, in loop: WorkLoop) {
    unblock(task, mayTakePlace: true)
  }

  @usableFromInline
  final func awaitedHasSettled(
    _ task: AnyFuture, _ source: AnyFuture, role: SettlementWaiter.Role
  ) {
    switch role {
    case .dependency, .consumed: unblock(task)
    case .source: sourceHasSettled(task, source)
    case .inner: innerHasSettled(task, source)
    case .part: partHasSettled(task, source)
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

  // MARK: The graph

  /// What the task waits for now, beside its upstream; `nil` for a task that is in no
  /// queue, and waits for nothing yet.
  ///
  /// (A slot is no edge: of several tasks that have one, any may give it back. A thread that
  /// blocks looks through the slots by itself: see `BlockedQueues`.)
  @usableFromInline
  final func awaited(by task: AnyFuture) -> [AnyFuture]? {
    typealias Waits = (TaskStateMachine.Phase, [AnyFuture], CategoryClaim?, TaskQueue?)
    let (phase, all, claim, lobby): Waits = state.withLock { state in
      let phase = state.machine.phase
      guard state.extras != nil else { return (phase, [], nil, state.lobby) }
      let dependencies = state.dependencies.all.compactMap { $0 as? AnyFuture }
      // (Where one source was enough, the others are not waited for any more.)
      let isOver = isOperator && phase != .created && state.openSources == 0
      return (phase, dependencies + (isOver ? [] : state.sources), state.claim, state.lobby)
    }
    // A member waits for its group to begin.
    if phase == .created { return (lobby?.owner?.ownerTask).map { [$0] + all } }
    var awaited = all.filter { !$0.isSettled }
    if phase == .queueing, let claim { awaited += CategoryTable.holders(for: claim) }
    if phase == .executing { awaited += parts }
    return awaited
  }

  /// What waits for the task and is not among its waiters.
  @usableFromInline
  final func awaiting(_ task: AnyFuture) -> [AnyFuture] {
    var awaiting = partsThatWait
    if let claim = state.withLock({ $0.claim }) {
      awaiting += CategoryTable.waiting(behind: claim)
    }
    return awaiting
  }

  /// Fails the task if it waits for itself; called when edges have been added.
  ///
  /// - Parameter new: Where the one new edge leads, if it is one: it alone can have closed a
  ///   cycle, however many others there are.
  @discardableResult
  final func failIfCircular(_ task: AnyFuture, waitingFor new: AnyFuture? = nil) -> Bool {
    let isCircular =
      if let new { !new.isSettled && Graph.closesCycle(task, waitingFor: new) } else {
        Graph.closesCycle(task)
      }
    guard isCircular else { return false }
    let path = Graph.cycle(through: task).map(\.taskName)
    // (What it waits for goes on, though this one does not want it any more.)
    releaseWaits(cancelling: false)
    fail(task, ProducerTaskError.cycle(path: path))
    return true
  }
}
