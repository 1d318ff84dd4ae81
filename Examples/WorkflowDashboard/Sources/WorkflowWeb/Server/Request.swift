import Foundation
import NIOCore
import NIOHTTP1

/// A request that has come as a whole.
struct Request: Sendable {
  let head: HTTPRequestHead
  let body: Data

  init(head: HTTPRequestHead, body: ByteBuffer) {
    self.head = head
    self.body = Data(body.readableBytesView)
  }

  var method: HTTPMethod { head.method }

  /// The path and the query as they were sent.
  var target: String { head.uri }

  /// The path as it was sent, not decoded.
  var path: String { String(target.prefix { $0 != "?" }) }

  /// The value of a part of the query; empty if there is none.
  func query(_ name: String) -> String {
    let items = URLComponents(string: target)?.queryItems
    return items?.first { $0.name == name }?.value ?? ""
  }

  /// The value of a header.
  ///
  /// A header that is repeated has a value that no rule accepts.
  subscript(header name: String) -> String? {
    let values = head.headers[name]
    return values.isEmpty ? nil : values.joined(separator: ", ")
  }
}
