import Foundation
import Futures

// What the task waits for, and what comes of it when that has settled.

extension TaskCore {
  /// Something that is waited for, to be let go of.
  enum Wait {
    case future(SettlementWaiter)
    case operation(OperationObserver)

    func withdraw() {
      switch self {
      case .future(let waiter):
        // (A producer that the user has not added yet does nothing for anybody.)
        let isIdle = waiter.role == .consumed && waiter.source.taskCore?.phase == .created
        waiter.withdraw(cancelling: !isIdle)
      case .operation(let observer): observer.stop()
      }
    }
  }

  final func addDependency(_ operation: Operation, to task: AnyFuture) {
    let (isNew, isEnqueued): (Bool, Bool) = state.withLock { state in
      guard state.machine.phase != .executing, state.machine.phase != .ended,
        state.addDependency(operation)
      else { return (false, false) }
      guard state.machine.isEnqueued, state.machine.block() else { return (true, false) }
      state.lateEdges += 1
      WaitGraph.noteLate()
      return (true, true)
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
  final func wait(
    _ task: AnyFuture, for operation: Operation, as role: SettlementWaiter.Role
  ) {
    if let future = operation as? AnyFuture {
      if future.isSettled, future.taskCore == nil { return unblock(task) }
      let waiter = SettlementWaiter(task, for: future, as: role)
      state.withLock { $0.waits.append(.future(waiter)) }
      waiter.start()
    } else {
      if operation.isFinished { return unblock(task) }
      let observer = OperationObserver(of: operation)
      state.withLock { $0.waits.append(.operation(observer)) }
      observer.start { [self] in unblock(task) }
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

  /// What the task waits for now, beside its upstream.
  @usableFromInline
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
}
