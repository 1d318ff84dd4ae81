import Foundation
import Futures

// The way from waiting to running: each step is what the state machine answers
// when one more thing is out of the way.

extension TaskCore {
  final func unblock(_ task: AnyFuture, mayTakePlace: Bool = false) {
    perform(state.withLock { $0.machine.unblock() }, task, mayTakePlace: mayTakePlace)
  }

  final func perform(
    _ step: TaskStateMachine.Step, _ task: AnyFuture, mayTakePlace: Bool = false
  ) {
    switch step {
    case .none: break
    case .check: check(task)
    case .queue: queueUp(task)
    case .schedule: schedule(task, mayTakePlace: mayTakePlace)
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
    let (step, isBlocked) = state.withLock { state in
      let step = state.machine.categoriesAreFree()
      return (step, state.machine.phase == .waiting)
    }
    perform(step, task)
    // It has got a dependency while it stood in line. That one may stand behind
    // it there, which nobody could see as long as another one was the first.
    if isBlocked, let path = WaitGraph.cycle(from: task, pruning: false) {
      fail(task, ProducerTaskError.cycle(path: path))
    }
  }

  // MARK: Running

  private final func schedule(_ task: AnyFuture, mayTakePlace: Bool) {
    let (home, isStarted) = state.withLock { ($0.home, $0.isStartedByForeignQueue) }
    let upstream = isOperator ? task.upstreamFuture : nil
    if let upstream, !acts(on: upstream.outcome) { return pass(task, upstream) }
    let job = Continuation.link(task, reading: upstream ?? task)
    guard let home else {
      if isStarted { runForeign(task) } else { announceReadiness(task, again: 0.001) }
      return
    }
    if mayTakePlace, isOperator, home.isOpen(for: self),
      WorkLoop.current.takeNextInBatch(job, on: .operationQueue(home))
    {
      return
    }
    home.admit(job, core: self)
  }

  @usableFromInline
  final func run(_ task: AnyFuture, after source: AnyFuture) {
    let (runs, observers) = state.withLock { ($0.machine.run(), $0.extras?.observers) }
    guard runs else { return }
    if let observers { for observer in observers { tellStart(observer, task) } }
    if isOperator {
      task.takeWork()?(task, source)
      return
    }
    execute(task)
    let slot = WorkLoop.current.placeholder as? Slot
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

  @usableFromInline
  final func needsSlot(_ task: AnyFuture, of queue: OperationQueue) -> Bool {
    state.withLock { state in
      state.home === queue && !(isOperator && state.machine.phase == .executing)
    }
  }
}
