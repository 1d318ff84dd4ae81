import Futures

extension Future<Void> {
  /// Answers a condition with the result of this future.
  ///
  /// If the task of the condition ends before, the future is cancelled.
  func answer<T: ProducerTaskProtocol>(
    for task: T, _ completion: @escaping @Sendable (FutureResult<Void>) -> Void
  ) {
    onCompletion(on: .inline, perform: completion)
    if !task.watch({ _ in self.cancel() }) { cancel() }
  }
}
