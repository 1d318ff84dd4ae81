import FlyingFox
import Foundation

/// A music service on the loopback address, with the faults of a real one.
public actor MusicServer {
  /// A document that the server answers with.
  public struct Document: Sendable {
    let type: String
    let body: Data

    /// Makes a document of a text; JSON unless another type is given.
    public init(type: String = "application/json", _ text: String) {
      self.type = type
      body = Data(text.utf8)
    }
  }

  /// A way in which the server does not answer as it should.
  public enum Fault: Sendable {
    /// It answers with a status and asks for another attempt after some seconds.
    case busy(status: Int, retryAfter: String?)
    /// It does not answer for a long time.
    case silent
  }

  /// The address of the service.
  public nonisolated let url: URL
  /// The paths of all requests, in order.
  public private(set) var requests: [String] = []
  /// The largest number of requests that were under way at a time.
  public private(set) var mostPending = 0

  private let server: HTTPServer
  private let running: Task<Void, any Error>
  private let documents: [String: Document]
  private let delay: Duration
  private var faults: [String: [Fault]]
  private var pending = 0

  /// Starts a server on a free port.
  ///
  /// - Parameters:
  ///   - documents: The documents by path.
  ///   - faults: The faults of the first requests for a path.
  ///   - delay: How long the server thinks about each answer.
  public init(
    _ documents: [String: Document], faults: [String: [Fault]] = [:], delay: Duration = .zero
  ) async throws {
    let handler = Handler()
    let server = HTTPServer(
      address: try .inet(ip4: "127.0.0.1", port: 0), logger: .disabled, handler: handler)
    running = Task { try await server.run() }
    try await server.waitUntilListening()
    guard case .ip4(_, let port)? = await server.listeningAddress,
      let url = URL(string: "http://127.0.0.1:\(port)/")
    else { throw CancellationError() }
    self.server = server
    self.url = url
    self.documents = documents
    self.faults = faults
    self.delay = delay
    await handler.serve(self)
  }

  /// Stops the server, also in the middle of answers.
  public func stop() async {
    running.cancel()
    _ = await running.result
  }

  fileprivate func answer(_ path: String) async throws -> HTTPResponse {
    requests.append(path)
    pending += 1
    defer { pending -= 1 }
    mostPending = max(mostPending, pending)
    switch faults[path]?.isEmpty == false ? faults[path]?.removeFirst() : nil {
    case .busy(let status, let delay)?:
      let headers: HTTPHeaders = delay.map { [HTTPHeader("Retry-After"): $0] } ?? [:]
      return HTTPResponse(statusCode: HTTPStatusCode(status, phrase: "Busy"), headers: headers)
    case .silent?: try await Task.sleep(for: .seconds(3600))
    case nil: if delay > .zero { try await Task.sleep(for: delay) }
    }
    guard let document = documents[path] else { return HTTPResponse(statusCode: .notFound) }
    return HTTPResponse(
      statusCode: .ok, headers: [.contentType: document.type], body: document.body)
  }
}

/// Hands requests to the server, which is made after the handler.
private actor Handler: HTTPHandler {
  private weak var server: MusicServer?

  func serve(_ server: MusicServer) { self.server = server }

  func handleRequest(_ request: HTTPRequest) async throws -> HTTPResponse {
    guard let server else { return HTTPResponse(statusCode: .notFound) }
    return try await server.answer(request.path)
  }
}
