import Futures

/// How a task has ended, for a new future of it.
private enum TaskEnd<Output> {
  case success(Output)
  case failure(any Error)
  case cancelled
  case skipped
  /// The task will never end: its workflow has been released.
  case gone
  /// The task has not ended.
  ///
  /// The promise waits for the end under a number.
  case later(UInt64)
}

extension WorkflowTask {
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
    guard let core else { return Self.outside(self, promise) }
    let end: TaskEnd<Output> = core.change { state in
      switch state.graph[index].state {
      case .finished: if let stored { return .success(stored) }
      case .failed: if let error = state.error(of: self) { return .failure(error) }
      case .cancelled: return .cancelled
      case .skipped: return .skipped
      case .pending, .ready, .executing: break
      }
      if state.isReleased { return .gone }
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
      return .later(state.lastWaiter)
    }
    switch end {
    case .success(let value): promise.succeed(with: value)
    case .failure(let error): promise.fail(with: error)
    case .cancelled: promise.cancel()
    case .skipped: promise.fail(with: TaskSkipped())
    case .gone: promise.breakPromise()
    case .later(let number):
      promise.waitOutside { [weak core, index] in
        core?.forgetWaiter(number, for: index)
      } explain: { [weak core, index] in
        core?.reasonToWait(for: index)
      }
    }
    return promise
  }

  /// Returns the future of a task that is in no workflow.
  private static func outside(
    _ task: WorkflowTask, _ promise: Promise<Output>
  ) -> Future<Output> {
    if task.isCancelled { promise.cancel() } else { promise.breakPromise() }
    return promise
  }
}
