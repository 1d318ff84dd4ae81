import Foundation
import Properations

/// A connection to a server, over which a test says exactly what it wants to say.
///
/// Libraries for HTTP would not send a wrong `Host`, half a request or nonsense.
final class Conversation: Sendable {
  struct Answer: Sendable {
    let status: Int
    let headers: [String: String]
    let body: String
  }

  /// The error for a connection that ended or said nothing for a long time.
  struct Silence: Error {}

  private let socket: Int32

  init(port: UInt16, at host: String = "127.0.0.1") throws {
    #if canImport(Darwin)
      socket = Darwin.socket(AF_INET, SOCK_STREAM, 0)
    #else
      socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    #endif
    var patience = timeval(tv_sec: 30, tv_usec: 0)
    setsockopt(
      socket, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = inet_addr(host)
    let result = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    guard result == 0 else { throw Silence() }
  }

  deinit { close(socket) }

  /// Sends text.
  func say(_ text: String) async throws {
    // The server may have closed its end, and may still have answered.
    _ = try await says(text)
  }

  /// Sends text.
  ///
  /// - Returns: Whether the connection has taken all of it.
  func says(_ text: String) async throws -> Bool {
    try await onThread { [socket] in
      var rest = Array(text.utf8)[...]
      while !rest.isEmpty {
        let count = rest.withUnsafeBytes { send(socket, $0.baseAddress, $0.count, noSignal) }
        if count <= 0 { return false }
        rest = rest.dropFirst(count)
      }
      return true
    }
  }

  /// Ends the connection, also for a call that sends.
  func hangUp() { shutdown(socket, Int32(SHUT_RDWR)) }

  /// Receives until the text fulfills a condition.
  func hear(until isEnough: @escaping @Sendable (String) -> Bool) async throws -> String {
    try await onThread { [socket] in
      var bytes: [UInt8] = []
      while true {
        let text = String(decoding: bytes, as: UTF8.self)
        if isEnough(text) { return text }
        var buffer = [UInt8](repeating: 0, count: 65536)
        let count = recv(socket, &buffer, buffer.count, 0)
        guard count > 0 else { throw Silence() }
        bytes += buffer.prefix(count)
      }
    }
  }

  /// Receives until the server closes the connection.
  func hearAll() async throws -> String {
    try await onThread { [socket] in
      var bytes: [UInt8] = []
      var buffer = [UInt8](repeating: 0, count: 65536)
      while case let count = recv(socket, &buffer, buffer.count, 0), count > 0 {
        bytes += buffer.prefix(count)
      }
      return String(decoding: bytes, as: UTF8.self)
    }
  }

  /// Receives until the server closes the connection.
  ///
  /// - Returns: Whether it has closed the connection without saying anything.
  func endsInSilence() async throws -> Bool {
    try await onThread { [socket] in
      var byte: UInt8 = 0
      // An error is a connection that is reset, or a server that has been waited for too long.
      let count = recv(socket, &byte, 1, 0)
      return count == 0 || (count < 0 && errno == ECONNRESET)
    }
  }

  /// Sends text and receives one answer whose length the server says.
  func ask(_ text: String) async throws -> Answer {
    try await say(text)
    let heard = try await hear { text in
      guard let answer = Self.parse(text) else { return false }
      return answer.body.utf8.count >= Int(answer.headers["content-length"] ?? "") ?? .max
    }
    guard let answer = Self.parse(heard) else { throw Silence() }
    return answer
  }

  private static func parse(_ text: String) -> Answer? {
    guard let end = text.range(of: "\r\n\r\n") else { return nil }
    let lines = text[..<end.lowerBound].components(separatedBy: "\r\n")
    let status = lines[0].split(separator: " ")
    guard status.count > 1, let code = Int(status[1]) else { return nil }
    var headers: [String: String] = [:]
    for line in lines.dropFirst() {
      let parts = line.split(separator: ":", maxSplits: 1)
      guard parts.count == 2 else { continue }
      headers[parts[0].lowercased()] = parts[1].trimmingCharacters(in: .whitespaces)
    }
    return Answer(status: code, headers: headers, body: String(text[end.upperBound...]))
  }
}

/// Runs a closure that blocks on a thread of its own.
///
/// The threads of Dispatch are few, and the server under test needs some, too.
private func onThread<Value: Sendable>(
  _ body: @escaping @Sendable () throws -> Value
) async throws -> Value {
  let promise = Promises.make(promising: Value.self)
  Thread.detachNewThread {
    do { promise.succeed(with: try body()) } catch { promise.fail(with: error) }
  }
  return try await promise.value
}

/// A closed connection is an error of the call, not a signal.
private var noSignal: Int32 {
  #if canImport(Darwin)
    0
  #else
    Int32(MSG_NOSIGNAL)
  #endif
}
