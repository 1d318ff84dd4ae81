import NIOHTTP1

/// The reason why a request is refused, as the page shows it.
struct RequestError: Error, Equatable {
  let status: HTTPResponseStatus
  /// A sentence for people.
  let message: String

  init(_ status: HTTPResponseStatus, _ message: String) {
    (self.status, self.message) = (status, message)
  }
}
