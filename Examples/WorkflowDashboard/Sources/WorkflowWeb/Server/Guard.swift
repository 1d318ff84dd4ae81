import FlyingFox
import Foundation

/// Decides which requests are served.
///
/// - The `Host` must be one under which the dashboard is meant to be reached. A page of
///   another site whose name leads to this machine (DNS rebinding) is therefore refused.
/// - A request that a page of another origin has caused is refused, whatever it asks for.
/// - A change needs the token, which is only in the address that the program prints.
struct Guard: Sendable {
  /// The largest body of a request, in bytes.
  static let largestBody = 64 * 1024
  /// The longest path and query, in bytes.
  private static let longestTarget = 8 * 1024

  let token: String
  /// The hosts with their port, in lower case.
  let hosts: Set<String>

  /// Throws if a request must not be served.
  func check(_ request: HTTPRequest) throws(RequestError) {
    guard let host = request.headers[.host], hosts.contains(host.lowercased()) else {
      throw RequestError(.forbidden, "The dashboard is not reached under this name.")
    }
    if let origin = request.headers[HTTPHeader("Origin")] {
      guard origin.lowercased() == "http://\(host.lowercased())" else {
        throw RequestError(.forbidden, "Requests from other origins are refused.")
      }
    }
    if let site = request.headers[HTTPHeader("Sec-Fetch-Site")] {
      // `none` is a person who has typed the address or followed a link of another program.
      guard site == "same-origin" || site == "none" || isNavigation(request) else {
        throw RequestError(.forbidden, "Requests from other origins are refused.")
      }
    }
    guard request.target.rawValue.utf8.count <= Self.longestTarget else {
      throw RequestError(.badRequest, "The address is too long.")
    }
  }

  /// Whether the request opens the page itself: a link on another page may do that.
  private func isNavigation(_ request: HTTPRequest) -> Bool {
    request.method == .GET && request.target.path() == "/"
      && request.headers[HTTPHeader("Sec-Fetch-Mode")] == "navigate"
  }

  /// Throws if a request must not change anything.
  func checkChange(_ request: HTTPRequest) throws(RequestError) {
    let given = request.headers[HTTPHeader("Authorization")] ?? ""
    guard Self.areEqual(given, "Bearer \(token)") else {
      throw RequestError(
        .unauthorized, "A change needs the token in the address that the program has printed.")
    }
    let type = request.headers[.contentType]?.split(separator: ";").first
    guard type?.trimmingCharacters(in: .whitespaces).lowercased() == "application/json" else {
      throw RequestError(.unsupportedMediaType, "A change is written in JSON.")
    }
  }

  /// Compares texts in a time that does not depend on where they differ.
  private static func areEqual(_ a: String, _ b: String) -> Bool {
    let (a, b) = (Array(a.utf8), Array(b.utf8))
    guard a.count == b.count else { return false }
    return zip(a, b).reduce(0) { $0 | ($1.0 ^ $1.1) } == 0
  }

  /// Makes a token of 128 random bits.
  static func makeToken() -> String {
    var generator = SystemRandomNumberGenerator()
    return (0..<2).map { _ in
      let digits = String(generator.next() as UInt64, radix: 16)
      return String(repeating: "0", count: 16 - digits.count) + digits
    }.joined()
  }
}
