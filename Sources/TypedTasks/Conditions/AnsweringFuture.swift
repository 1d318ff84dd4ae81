import Futures

extension Future {
  /// Calls a closure with the result of this future, for the condition of a task for example.
  ///
  /// If the future has settled, the closure is called at once, even inside other closures. If
  /// the task ends before, the future is cancelled.
  func answer(
    for task: AnyFuture, _ completion: @escaping @Sendable (FutureResult<Success>) -> Void
  ) {
    if let result { return completion(result) }
    onCompletion(on: .inline, perform: completion)
    if !task.watch({ _ in self.cancel() }) { cancel() }
  }
}
