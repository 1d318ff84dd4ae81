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
  /// The names of the host, in lower case.
  let names: Set<String>

  /// Throws if a request must not be served.
  ///
  /// - Parameter port: The port on which the request has come.
  func check(_ request: Request, on port: Int) throws(RequestError) {
    guard let host = request[header: "Host"]?.lowercased(),
      names.contains(where: { host == "\($0):\(port)" })
    else {
      throw RequestError(.forbidden, "The dashboard is not reached under this name.")
    }
    if let origin = request[header: "Origin"] {
      guard origin.lowercased() == "http://\(host)" else {
        throw RequestError(.forbidden, "Requests from other origins are refused.")
      }
    }
    if let site = request[header: "Sec-Fetch-Site"] {
      // `none` is a person who has typed the address or followed a link of another program.
      guard site == "same-origin" || site == "none" || isNavigation(request) else {
        throw RequestError(.forbidden, "Requests from other origins are refused.")
      }
    }
    guard request.target.utf8.count <= Self.longestTarget else {
      throw RequestError(.badRequest, "The address is too long.")
    }
  }

  /// Whether the request opens the page itself: a link on another page may do that.
  private func isNavigation(_ request: Request) -> Bool {
    request.method == .GET && request.path == "/"
      && request[header: "Sec-Fetch-Mode"] == "navigate"
  }

  /// Throws if a request must not change anything.
  func checkChange(_ request: Request) throws(RequestError) {
    let given = request[header: "Authorization"] ?? ""
    guard Self.areEqual(given, "Bearer \(token)") else {
      throw RequestError(
        .unauthorized, "A change needs the token in the address that the program has printed.")
    }
    let type = request[header: "Content-Type"]?.split(separator: ";").first
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
