import Futures

// The handlers, observers and conditions of a task.

extension TaskCore {
  final func addHandler(to task: AnyFuture, isAssignment: Bool, _ handler: Handler) {
    let lateOn: ContextReference? = state.withLock { state in
      if state.conclusion == .done { return state.receiver }
      if isAssignment {
        state.more.assignments.append(handler)
      } else {
        state.more.handlers.append(handler)
      }
      return nil
    }
    if let lateOn { call([handler], task, on: lateOn, isLate: true) }
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
      state.more.cancellationHandlers.append(handler)
      return false
    }
    if isTooLate, task.isCancelled { releasingAutoreleased { handler() } }
  }

  final func addObserver(_ observer: any TaskObserver) {
    state.withLock { if $0.conclusion != .done { $0.more.observers.append(observer) } }
  }

  final func addCondition(_ condition: AnyCondition, to task: AnyFuture) {
    let isTooLate = state.withLock { state in
      if state.machine.phase == .ended { return false }
      guard state.machine.phase == .created || state.isPreparing else { return true }
      state.more.conditions.append(condition)
      return false
    }
    if isTooLate, phase != .executing {
      fail(task, ProducerTaskError.conditionAddedTooLate(task: task.taskName))
    }
  }
}
