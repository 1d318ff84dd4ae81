import Futures

extension Future<Void> {
  /// Answers a condition with the result of this future.
  ///
  /// If the task of the condition is cancelled, the future is cancelled, too.
  func answer<T: ProducerTaskProtocol>(
    for task: T, _ completion: @escaping @Sendable (FutureResult<Void>) -> Void
  ) {
    onCompletion(on: .inline, perform: completion)
    task.taskCore?.addCancellationHandler(to: task) { self.cancel() }
  }
}
