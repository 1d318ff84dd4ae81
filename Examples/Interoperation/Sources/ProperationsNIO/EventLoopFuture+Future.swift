import NIOCore
import Properations

extension EventLoopFuture where Value: Sendable {
  /// Makes a future of the value of an event loop's future.
  ///
  /// ```swift
  /// let channel = bootstrap.connect(host: "localhost", port: 80).future()
  /// ```
  ///
  /// An `EventLoopFuture` cannot be cancelled. Cancelling the returned future settles it, and
  /// calls the closure, which can stop the work behind the `EventLoopFuture`: close a channel,
  /// cancel a `Scheduled`. Without a closure the work goes on, and its result is dropped.
  ///
  /// Swift's `CancellationError` and NIO's `EventLoopError.cancelled` cancel the returned
  /// future. Every other error is its failure. The returned future settles on the event loop.
  ///
  /// - Parameter onCancel: Called once if the returned future is cancelled before it has
  ///   settled, on the thread that cancels it.
  public func future(
    fileID: StaticString = #fileID, line: UInt = #line,
    onCancel: (@Sendable () -> Void)? = nil
  ) -> Future<Value> {
    Promises.withResolver(promising: Value.self, fileID: fileID, line: line) { resolver in
      if let onCancel { resolver.onCancellationRequest(onCancel) }
      whenComplete { result in resolver.fulfill(with: result.mapError(\.asCancellation)) }
    }
  }
}

extension Scheduled where T: Sendable {
  /// Makes a future of the value of a scheduled task.
  ///
  /// Cancelling the returned future cancels the scheduled task, and cancelling the task
  /// cancels the returned future. A task that has begun runs to its end.
  public func future(
    fileID: StaticString = #fileID, line: UInt = #line
  ) -> Future<T> {
    futureResult.future(fileID: fileID, line: line) { cancel() }
  }
}

extension Error {
  /// The library's cancellation in place of that of NIO.
  fileprivate var asCancellation: any Error {
    if case .cancelled? = self as? EventLoopError { return ProperationsError.cancelled }
    return self
  }
}
