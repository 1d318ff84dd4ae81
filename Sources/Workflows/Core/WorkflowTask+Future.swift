import Futures

/// How a task has ended, if it has.
private enum TaskEnd<Output> {
  case success(Output)
  case failure(any Error)
  case cancelled
  case skipped
  /// It never will: its workflow is gone.
  case gone
  /// The promise waits for it, under a number.
  case later(UInt64)
}

extension WorkflowTask {
  /// A future of the task's next end: its result, its error (``TaskSkipped`` if it is
  /// skipped), or cancellation.
  ///
  /// Settled at once if the task has ended; otherwise when its present run, or
  /// the next one if it is not running, has. A reset or an attempt that is
  /// followed by another does not settle it. Each access makes a new one;
  /// cancelling it leaves the task alone. If the workflow is released before,
  /// the future fails with `ProperationsError.brokenPromise`.
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
      promise.onCancellationRequest { [weak core, index] in
        core?.forgetWaiter(number, for: index)
      }
    }
    return promise
  }

  /// The future of a task that is in no workflow.
  private static func outside(
    _ task: WorkflowTask, _ promise: Promise<Output>
  ) -> Future<Output> {
    if task.isCancelled { promise.cancel() } else { promise.breakPromise() }
    return promise
  }
}
