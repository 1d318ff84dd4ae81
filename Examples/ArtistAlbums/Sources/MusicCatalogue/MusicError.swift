import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The ways in which a request can fail.
public enum MusicError: LocalizedError, Equatable {
  /// The server is busy, and asks for another attempt, perhaps after a delay.
  case busy(URL, status: Int, retryAfter: Duration?)
  /// The server has answered with another status that is no success.
  case refused(URL, status: Int)
  /// The answer is not what it should be.
  case garbled(URL)
  /// No answer has come in time.
  case silent(URL, after: Duration)
  /// There is no connection to the server, or it was lost.
  case unreachable(URL)

  /// The error of an answer whose status is no success.
  static func refused(_ url: URL, _ response: HTTPURLResponse?) -> MusicError {
    guard let response else { return .garbled(url) }
    switch response.statusCode {
    case 429, 503:
      let delay = response.value(forHTTPHeaderField: "Retry-After")
        .flatMap { Duration(retryAfter: $0, now: Date()) }
      return .busy(url, status: response.statusCode, retryAfter: delay)
    default: return .refused(url, status: response.statusCode)
    }
  }

  /// Says what happened, with the address.
  public var errorDescription: String? {
    switch self {
    case .busy(let url, let status, _):
      "The server is too busy for \(url) (status \(status)). Try again later."
    case .refused(let url, 404): "There is no \(url)."
    case .refused(let url, let status): "The server refuses \(url) (status \(status))."
    case .garbled(let url): "The server's answer for \(url) makes no sense."
    case .silent(let url, let limit):
      "No answer for \(url) after \(limit / .seconds(1)) seconds. Allow more time."
    case .unreachable(let url): "No server answers for \(url). Check the address."
    }
  }
}

extension Duration {
  /// The wait that the header `Retry-After` asks for: a number of seconds or a date.
  ///
  /// Returns `nil` if the text is neither. A date in the past means no wait.
  init?(retryAfter text: String, now: Date) {
    if let seconds = Int(text), seconds >= 0 {
      self = .seconds(seconds)
      return
    }
    let format = DateFormatter()
    format.locale = Locale(identifier: "en_US_POSIX")
    format.timeZone = TimeZone(secondsFromGMT: 0)
    format.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
    guard let date = format.date(from: text) else { return nil }
    self = .seconds(max(0, date.timeIntervalSince(now)))
  }
}
