import AsyncHTTPClient
import NIOCore
import Properations

extension HTTPClient {
  /// Sends a request, and makes a future of the whole response.
  ///
  /// ```swift
  /// let request = try HTTPClient.Request(url: "https://example.com/profile")
  /// let body = HTTPClient.shared.future(for: request)
  ///   .timeout(after: .seconds(5))
  ///   .mapToValue(on: .global()) { $0.body.map { String(buffer: $0) } ?? "" }
  /// ```
  ///
  /// A response with any status is a success. Cancelling the future stops the request: the
  /// connection is closed. A request that the client cancels cancels the future. All other
  /// errors of the client are the future's failure.
  ///
  /// The future settles on an event loop. Give the closures after it a context of their own.
  ///
  /// - Parameters:
  ///   - request: The request.
  ///   - maxBodySize: The greatest number of bytes of a body. A longer one fails the future with
  ///     `ResponseAccumulator.ResponseTooBigError`.
  ///   - deadline: When the request fails if it has no response; never by default.
  public func future(
    for request: Request, maxBodySize: Int = 64 << 20, deadline: NIODeadline? = nil,
    fileID: StaticString = #fileID, line: UInt = #line
  ) -> Future<Response> {
    Promises.withResolver(promising: Response.self, fileID: fileID, line: line) { resolver in
      let task = execute(
        request: request,
        delegate: ResponseAccumulator(request: request, maxBodySize: maxBodySize),
        deadline: deadline)
      resolver.onCancellationRequest { task.cancel() }
      task.futureResult.whenComplete { result in
        resolver.fulfill(with: result.mapError(cancellationOfFuture))
      }
    }
  }
}

/// The library's cancellation in place of that of the client.
func cancellationOfFuture(_ error: any Error) -> any Error {
  (error as? HTTPClientError) == .cancelled ? ProperationsError.cancelled : error
}
