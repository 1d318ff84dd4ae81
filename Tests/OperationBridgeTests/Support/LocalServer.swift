import Foundation
import TestSupport

/// A small HTTP server on 127.0.0.1, on threads of its own.
///
/// Pages are given; besides: `/slow` never answers until `release()`, `/reset`
/// closes the connection without an answer, `/status/N` answers with status N.
final class LocalServer: Sendable {
  private let socket: Int32
  private let pages: [String: Data]
  private let released = Event()
  private let requests = Log<String>()
  /// A `/slow` request has arrived.
  let isSlowRequested = Event()
  /// A client that waited for `/slow` has closed its connection.
  let isAbandoned = Event()
  let port: UInt16

  init(pages: [String: Data] = ["/ok": Data("fine".utf8)]) throws {
    self.pages = pages
    socket = Foundation.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let fd = socket
    let isListening = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
        bind(fd, pointer, size) == 0 && listen(fd, 64) == 0
          && getsockname(fd, pointer, &size) == 0
      }
    }
    guard isListening else { throw POSIXError(.EADDRNOTAVAIL) }
    port = UInt16(bigEndian: address.sin_port)
    Thread.detachNewThread { [self] in acceptAll() }
  }

  /// Ends the server; `/slow` answers.
  func stop() {
    released.signal()
    shutdown(socket, Int32(SHUT_RDWR))
  }

  func url(_ path: String) -> URL { URL(string: "http://127.0.0.1:\(port)\(path)")! }

  /// The paths asked for so far.
  var requested: [String] { requests.entries }

  /// Lets `/slow` answer.
  func release() { released.signal() }

  private func acceptAll() {
    while true {
      let connection = accept(socket, nil, nil)
      guard connection >= 0 else { break }
      Thread.detachNewThread { [self] in
        serve(connection)
        close(connection)
      }
    }
    close(socket)
  }

  private func serve(_ connection: Int32) {
    guard let path = readPath(connection) else { return }
    requests.append(path)
    if path == "/reset" {
      var linger = linger(l_onoff: 1, l_linger: 0)
      setsockopt(
        connection, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout.size(ofValue: linger)))
    } else if path == "/slow" {
      isSlowRequested.signal()
      if waitForRelease(connection) { answer(connection, 200, Data("late".utf8)) }
    } else if path.hasPrefix("/status/"), let status = Int(path.dropFirst(8)) {
      answer(connection, status, Data("status \(status)".utf8))
    } else if let page = pages[path] {
      answer(connection, 200, page)
    } else {
      answer(connection, 404, Data())
    }
  }

  private func readPath(_ connection: Int32) -> String? {
    var request = Data()
    var buffer = [UInt8](repeating: 0, count: 4096)
    while request.range(of: Data("\r\n\r\n".utf8)) == nil {
      let count = recv(connection, &buffer, buffer.count, 0)
      guard count > 0 else { return nil }
      request.append(contentsOf: buffer[..<count])
    }
    let words = String(decoding: request, as: UTF8.self).split(separator: " ")
    return words.count > 1 ? String(words[1]) : nil
  }

  /// `false` if the client has gone first.
  private func waitForRelease(_ connection: Int32) -> Bool {
    while !released.isOpen {
      var poll = pollfd(fd: connection, events: Int16(POLLIN), revents: 0)
      guard Foundation.poll(&poll, 1, 5) > 0 else { continue }
      var byte: UInt8 = 0
      if recv(connection, &byte, 1, 0) <= 0 {
        isAbandoned.signal()
        return false
      }
    }
    return true
  }

  private func answer(_ connection: Int32, _ status: Int, _ body: Data) {
    let head =
      "HTTP/1.1 \(status) Status\r\nContent-Length: \(body.count)\r\nConnection: close\r\n\r\n"
    let bytes = Array(Data(head.utf8) + body)
    var sent = 0
    while sent < bytes.count {
      let count = bytes[sent...].withUnsafeBytes {
        send(connection, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
      }
      guard count > 0 else { return }
      sent += count
    }
  }
}
