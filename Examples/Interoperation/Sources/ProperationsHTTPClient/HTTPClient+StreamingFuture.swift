import AsyncHTTPClient
import NIOCore
import Properations

extension HTTPClient {
  /// Sends a request, and makes a future of what a closure makes of the response.
  ///
  /// The closure is called when the head of the response has come. It reads the body part by
  /// part, so the body need not fit into memory:
  ///
  /// ```swift
  /// let size = client.future(for: HTTPClientRequest(url: "https://example.com/film")) { film in
  ///   var size = 0
  ///   for try await part in film.body { size += part.readableBytes }
  ///   return size
  /// }
  /// ```
  ///
  /// Cancelling the future stops the request, also while a body streams in either direction: the
  /// connection is closed, and the closure's loop ends with `CancellationError`. A part of the
  /// body that the closure does not read is not received: if the closure returns or throws
  /// before the end of the body, the connection is closed. A closure that returns the response
  /// itself makes a future of the head. Reading the body is then up to the consumer, and
  /// cancelling the future, which has settled, has no effect on it.
  ///
  /// A response with any status is a success. A request that the client cancels cancels the
  /// future. The errors of the client, of the closure and of a streamed body of the request are
  /// the future's failure.
  ///
  /// - Parameters:
  ///   - request: The request. Its body may be a stream, too.
  ///   - deadline: When the request fails if the head of the response has not come; never by
  ///     default. A `timeout` of the future limits the body as well.
  ///   - read: Makes the value of the response, in a Swift task.
  public func future<Output: Sendable>(
    for request: HTTPClientRequest, deadline: NIODeadline = .distantFuture,
    fileID: StaticString = #fileID, line: UInt = #line,
    reading read: @escaping @Sendable (_ response: HTTPClientResponse) async throws -> Output
  ) -> Future<Output> {
    Promises.async(fileID: fileID, line: line) {
      do {
        return try await read(self.execute(request, deadline: deadline))
      } catch {
        throw cancellationOfFuture(error)
      }
    }
  }

  /// Sends a request, and makes a future of the whole response.
  ///
  /// The response is that of the older type of requests, with its body in memory. The body of
  /// the request may be a stream. Cancelling the future stops the request.
  ///
  /// - Parameters:
  ///   - request: The request.
  ///   - maxBodySize: The greatest number of bytes of a body. A longer one fails the future with
  ///     `ResponseAccumulator.ResponseTooBigError`, and the rest is not received.
  ///   - deadline: When the request fails if the head of the response has not come; never by
  ///     default.
  public func future(
    for request: HTTPClientRequest, maxBodySize: Int = 64 << 20,
    deadline: NIODeadline = .distantFuture, fileID: StaticString = #fileID, line: UInt = #line
  ) -> Future<Response> {
    future(for: request, deadline: deadline, fileID: fileID, line: line) { response in
      do {
        let body = try await response.body.collect(upTo: maxBodySize)
        return Response(response, body: body)
      } catch is NIOTooManyBytesError {
        throw ResponseAccumulator.ResponseTooBigError(maxBodySize: maxBodySize)
      }
    }
  }
}

extension HTTPClient.Response {
  /// Makes the response that the older type of requests has; its history is without bodies.
  fileprivate init(_ response: HTTPClientResponse, body: ByteBuffer) {
    self.init(
      host: response.url?.host ?? "", status: response.status, version: response.version,
      headers: response.headers, body: body,
      history: response.history.compactMap { step in
        let request = try? HTTPClient.Request(
          url: step.request.url, method: step.request.method, headers: step.request.headers)
        return request.map {
          HTTPClient.RequestResponse(request: $0, responseHead: step.responseHead)
        }
      })
  }
}
