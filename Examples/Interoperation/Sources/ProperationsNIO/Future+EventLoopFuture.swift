import NIOCore
import Properations

extension Future {
  /// Makes a future of an event loop.
  ///
  /// ```swift
  /// let reply = answer.eventLoopFuture(on: context.eventLoop)
  /// ```
  ///
  /// It completes on the event loop, whichever thread settles this future. A failure passes
  /// unchanged; a cancellation is ``ProperationsError/cancelled``. An `EventLoopFuture` cannot
  /// be cancelled: to stop the work, cancel this future.
  ///
  /// The call is a consumer of this future, as `onCompletion` is. If the event loop is shut
  /// down before this future settles, NIO drops the result.
  ///
  /// - Parameter eventLoop: Where the callbacks of the new future run.
  public func eventLoopFuture(
    on eventLoop: any EventLoop, fileID: StaticString = #fileID, line: UInt = #line
  ) -> EventLoopFuture<Success> {
    let promise = eventLoop.makePromise(of: Success.self, file: fileID, line: line)
    complete(promise, fileID: fileID, line: line)
    return promise.futureResult
  }

  /// Completes a promise of an event loop with the result of this future.
  ///
  /// See ``eventLoopFuture(on:fileID:line:)``.
  ///
  /// - Parameter promise: The promise, which no other code completes.
  public func complete(
    _ promise: EventLoopPromise<Success>, fileID: StaticString = #fileID, line: UInt = #line
  ) {
    onCompletion(on: .inline, fileID: fileID, line: line) { result in
      promise.completeWith(result)
    }
  }
}
