/// The reason why a request is refused, as the page shows it.
struct RequestError: Error, Equatable {
  /// The part of HTTP's status codes that the dashboard uses for refusals.
  enum Status: Int {
    case badRequest = 400
    case unauthorized = 401
    case forbidden = 403
    case notFound = 404
    case methodNotAllowed = 405
    case conflict = 409
    case contentTooLarge = 413
    case unsupportedMediaType = 415
    case tooManyRequests = 429

    var phrase: String {
      switch self {
      case .badRequest: "Bad Request"
      case .unauthorized: "Unauthorized"
      case .forbidden: "Forbidden"
      case .notFound: "Not Found"
      case .methodNotAllowed: "Method Not Allowed"
      case .conflict: "Conflict"
      case .contentTooLarge: "Content Too Large"
      case .unsupportedMediaType: "Unsupported Media Type"
      case .tooManyRequests: "Too Many Requests"
      }
    }
  }

  let status: Status
  /// A sentence for people.
  let message: String

  init(_ status: Status, _ message: String) { (self.status, self.message) = (status, message) }
}
