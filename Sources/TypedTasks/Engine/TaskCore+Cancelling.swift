import Futures

// Requests for cancellation.

extension TaskCore {
  final func cancel(_ task: AnyFuture) {
    // What has settled does not change, also while its closure has yet to return.
    if task.isSettled { return }
    switch change(task, { $0.cancel(settlesAtOnce: isOperator) }) {
    case .nothing:
      break
    case .settle:
      // An operator settles at once even while its closure runs, which may take long.
      fail(task, errorOfCancellation(of: task))
    case .tell:
      WorkLoop.current.holdUp(endOf: task) {
        tellCancellation(task)
        workIsAskedToCancel(task)
      }
      isNoLongerBusy(with: task)
    }
  }

  /// Lets the end of the task come, if it had to wait for the caller.
  final func isNoLongerBusy(with task: AnyFuture) {
    if state.withLock({ $0.machine.isNoLongerBusy() }) {
      WorkLoop.current.resumeDelivery(of: task)
    }
  }

  final func tellCancellation(_ task: AnyFuture) {
    let (observers, handlers) = state.withLock { state in
      defer { state.extras?.cancellationHandlers = [] }
      return (state.extras?.observers ?? [], state.extras?.cancellationHandlers ?? [])
    }
    releasingAutoreleased {
      for observer in observers { observer.taskDidCancel(asTask(task)) }
      for handler in handlers { handler() }
    }
  }
}
