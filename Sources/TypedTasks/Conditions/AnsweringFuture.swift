import Futures

extension Future {
  /// Answers a condition with the result of this future.
  ///
  /// If the task of the condition ends before, the future is cancelled.
  func answer(
    for task: AnyFuture, _ completion: @escaping @Sendable (FutureResult<Success>) -> Void
  ) {
    onCompletion(on: .inline, perform: completion)
    if !task.watch({ _ in self.cancel() }) { cancel() }
  }
}
