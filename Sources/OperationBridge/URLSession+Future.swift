import Foundation
import Futures

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

extension URLSession {
  /// Fetches the content of a URL.
  ///
  /// ```swift
  /// URLSession.shared.dataFuture(from: url)
  ///   .mapToValue(on: .global()) { try JSONDecoder().decode(Profile.self, from: $0) }
  /// ```
  ///
  /// A response with any HTTP status is a success. If the status matters, ask for the
  /// response too. Cancelling the future cancels the transfer.
  ///
  /// - Parameter url: The URL to fetch.
  public func dataFuture(
    from url: URL, fileID: StaticString = #fileID, line: UInt = #line
  ) -> Future<Data> {
    dataFuture(for: URLRequest(url: url), fileID: fileID, line: line)
  }

  /// Fetches the content of a URL, together with the response.
  ///
  /// The compiler chooses this form if the call asks for both values:
  /// `let (data, response) = try await session.dataFuture(from: url).value`.
  ///
  /// - Parameter url: The URL to fetch.
  @_disfavoredOverload
  public func dataFuture(
    from url: URL, fileID: StaticString = #fileID, line: UInt = #line
  ) -> Future<(data: Data, response: URLResponse)> {
    dataFuture(for: URLRequest(url: url), fileID: fileID, line: line)
  }

  /// Fetches the content for a request.
  ///
  /// See `dataFuture(from:)`.
  ///
  /// - Parameter request: The request.
  public func dataFuture(
    for request: URLRequest, fileID: StaticString = #fileID, line: UInt = #line
  ) -> Future<Data> {
    start(request, fileID, line).mapToValue(on: .inline, fileID: fileID, line: line) { $0.data }
  }

  /// Fetches the content for a request, together with the response.
  ///
  /// - Parameter request: The request.
  @_disfavoredOverload
  public func dataFuture(
    for request: URLRequest, fileID: StaticString = #fileID, line: UInt = #line
  ) -> Future<(data: Data, response: URLResponse)> {
    start(request, fileID, line)
  }

  private func start(
    _ request: URLRequest, _ fileID: StaticString, _ line: UInt
  ) -> Future<(data: Data, response: URLResponse)> {
    Promises.withResolver(fileID: fileID, line: line) { resolver in
      let task = dataTask(with: request) { data, response, error in
        if let error {
          resolver.fail(with: error)
        } else if let response {
          resolver.succeed(with: (data ?? Data(), response))
        } else {
          resolver.fail(with: URLError(.badServerResponse))
        }
      }
      resolver.onCancellationRequest { task.cancel() }
      task.resume()
    }
  }
}
