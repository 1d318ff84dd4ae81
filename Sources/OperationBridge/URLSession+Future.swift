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
  /// A response of any HTTP status is a success; ask for the response too where
  /// the status matters. Cancelling the future cancels the transfer.
  ///
  /// - Parameters:
  ///   - url: What to fetch.
  ///   - fileID: The file to name in errors; leave it out.
  ///   - line: The line to name in errors; leave it out.
  public func dataFuture(
    from url: URL, fileID: StaticString = #fileID, line: UInt = #line
  ) -> Future<Data> {
    dataFuture(for: URLRequest(url: url), fileID: fileID, line: line)
  }

  /// Fetches the content of a URL, together with the response.
  ///
  /// Chosen where the call site asks for both:
  /// `let (data, response) = try await session.dataFuture(from: url).value`.
  ///
  /// - Parameters:
  ///   - url: What to fetch.
  ///   - fileID: The file to name in errors; leave it out.
  ///   - line: The line to name in errors; leave it out.
  @_disfavoredOverload
  public func dataFuture(
    from url: URL, fileID: StaticString = #fileID, line: UInt = #line
  ) -> Future<(data: Data, response: URLResponse)> {
    dataFuture(for: URLRequest(url: url), fileID: fileID, line: line)
  }

  /// Fetches the content that a request asks for.
  ///
  /// See `dataFuture(from:)`.
  ///
  /// - Parameters:
  ///   - request: What to fetch, and how.
  ///   - fileID: The file to name in errors; leave it out.
  ///   - line: The line to name in errors; leave it out.
  public func dataFuture(
    for request: URLRequest, fileID: StaticString = #fileID, line: UInt = #line
  ) -> Future<Data> {
    start(request, fileID, line).mapToValue(on: .inline, fileID: fileID, line: line) { $0.data }
  }

  /// Fetches the content that a request asks for, together with the response.
  ///
  /// - Parameters:
  ///   - request: What to fetch, and how.
  ///   - fileID: The file to name in errors; leave it out.
  ///   - line: The line to name in errors; leave it out.
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
