import Foundation
import NIOHTTP1

/// What a request is answered with.
struct Response: Sendable {
  enum Body: Sendable {
    case data(Data)
    /// Events for as long as the page listens.
    case events(EventStream)
  }

  let status: HTTPResponseStatus
  let type: String
  let body: Body

  init(_ status: HTTPResponseStatus = .ok, type: String, _ data: Data) {
    (self.status, self.type, body) = (status, type, .data(data))
  }

  init(_ events: EventStream) {
    (status, type, body) = (.ok, "text/event-stream", .events(events))
  }

  /// Makes an answer of a value in JSON.
  init(_ status: HTTPResponseStatus = .ok, json value: some Encodable) {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    // Values of the dashboard can always be encoded: progress is never infinite.
    let data = (try? encoder.encode(value)) ?? Data("{}".utf8)
    self.init(status, type: "application/json", data)
  }

  /// Makes the answer to a request that is refused.
  init(_ error: RequestError) { self.init(error.status, json: ["error": error.message]) }

  /// The head: no script but the page's own files, no other site.
  ///
  /// - Parameter isLast: Whether the connection ends after this answer.
  func head(version: HTTPVersion, isLast: Bool) -> HTTPResponseHead {
    var headers: HTTPHeaders = [
      "Content-Type": type,
      "Cache-Control": "no-store",
      "Content-Security-Policy":
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
        + "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
      "X-Content-Type-Options": "nosniff",
      "Referrer-Policy": "no-referrer",
      "Cross-Origin-Resource-Policy": "same-origin",
      "Cross-Origin-Opener-Policy": "same-origin",
    ]
    switch body {
    case .data(let data): headers.add(name: "Content-Length", value: "\(data.count)")
    case .events: headers.add(name: "X-Accel-Buffering", value: "no")
    }
    if isLast { headers.add(name: "Connection", value: "close") }
    return HTTPResponseHead(version: version, status: status, headers: headers)
  }
}
