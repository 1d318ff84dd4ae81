import Futures

extension WorkflowTask {
  /// With the lock held: how the task has ended; `nil` if it has not.
  final func end(in state: borrowing WorkflowCore.State) -> Result<Output, any Error>? {
    switch state.graph[index].state {
    case .finished: stored.map { .success($0) }
    case .failed: state.error(of: self).map { .failure($0) }
    case .cancelled: .failure(CancellationError())
    case .skipped: .failure(TaskSkipped())
    case .pending, .ready, .executing: nil
    }
  }

  /// A future of the task's next end: its result, its error or its cancellation.
  ///
  /// A skipped task fails the future with ``TaskSkipped``. The future settles at once if
  /// the task has ended; otherwise when the task's present or next run ends. A reset does
  /// not settle it, and neither does an attempt that is followed by another. Each access
  /// makes a new future, which is kept until it settles; cancelling it does not cancel the
  /// task. To look at a task again and again, keep one future, or read ``result`` and
  /// ``AnyWorkflowTask/state``. If the workflow is released first, the future fails with
  /// `ProperationsError.brokenPromise`; so does that of a task in no workflow, at once.
  ///
  /// The future settles before observers are told, on the thread that then tells them. A
  /// handler in the context `.inline` must therefore not wait for the outcome of the run,
  /// which comes after that news.
  public final var future: Future<Output> {
    let promise = Promise<Output>()
    guard let core else {
      if isCancelled { promise.cancel() } else { promise.breakPromise() }
      return promise
    }
    // The number under which the promise waits for the end; `nil` if none will come.
    let (end, number): (Result<Output, any Error>?, UInt64?) = core.change { state in
      if let end = self.end(in: state) { return (end, nil) }
      if state.isReleased { return (nil, nil) }
      let waiter = WorkflowCore.TaskWaiter(future: promise) { news in
        switch news {
        case .finished(_, let box):
          if let box = box as? ResultBox<Output> { promise.succeed(with: box.result) }
        case .failed(_, let error): promise.fail(with: error)
        case .skipped: promise.fail(with: TaskSkipped())
        default: promise.cancel()
        }
      }
      state.lastWaiter += 1
      state.taskWaiters[index, default: [:]][state.lastWaiter] = waiter
      return (nil, state.lastWaiter)
    }
    if let end {
      promise.settle(end)
    } else if let number {
      promise.waitOutside { [weak core, index] in
        core?.forgetWaiter(number, for: index)
      } explain: { [weak core, index] in
        core?.reasonToWait(for: index)
      }
    } else {
      promise.breakPromise()
    }
    return promise
  }
}
