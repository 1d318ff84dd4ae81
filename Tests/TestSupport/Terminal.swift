import Foundation
import Futures

/// Both sides of a terminal; the test uses one side.
package final class Terminal: Sendable {
  private struct State {
    var received: [UInt8] = []
    var marks: [(text: String, promise: Promise<Void>)] = []
  }

  /// The side that a process uses for its streams.
  package let processSide: FileHandle
  private let descriptor: Int32
  private let state = TestLock(State())

  package init() throws {
    descriptor = try Self.check(open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC))
    let other = open(try Self.unlock(descriptor), O_RDWR | O_NOCTTY | O_CLOEXEC)
    processSide = FileHandle(fileDescriptor: try Self.check(other), closeOnDealloc: true)
    resize(lines: 40, columns: 100)
    // A thread of its own, because `read` blocks; it ends with the terminal.
    Thread.detachNewThread { [weak self, descriptor] in
      var buffer = [UInt8](repeating: 0, count: 4096)
      while true {
        let count = read(descriptor, &buffer, buffer.count)
        // The end is an error on Linux, and zero bytes elsewhere.
        guard count > 0 || count < 0 && errno == EINTR else { break }
        if count > 0 { self?.received(buffer[..<count]) }
      }
      close(descriptor)
    }
  }

  /// Changes the size of the window.
  package func resize(lines: UInt16, columns: UInt16) {
    var size = winsize(ws_row: lines, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0)
    _ = ioctl(descriptor, UInt(TIOCSWINSZ), &size)
  }

  /// All text that has appeared so far.
  package var text: String {
    String(decoding: state.withLock { $0.received }, as: UTF8.self)
  }

  /// Returns a future that succeeds as soon as a text has appeared.
  package func appearance(of text: String) -> Future<Void> {
    let promise = Promises.make(promising: Void.self)
    state.withLock { $0.marks.append((text, promise)) }
    received([])
    return promise
  }

  /// Types a text, as a person does.
  package func type(_ text: String) {
    let bytes = Array(text.utf8)
    _ = write(descriptor, bytes, bytes.count)
  }

  /// Whether the terminal itself shows typed letters and edits lines.
  ///
  /// A program has to restore this state.
  package var isCooked: Bool {
    var settings = termios()
    guard tcgetattr(processSide.fileDescriptor, &settings) == 0 else { return false }
    return settings.c_lflag & tcflag_t(ICANON | ECHO) == tcflag_t(ICANON | ECHO)
  }

  private func received(_ bytes: some Sequence<UInt8>) {
    let reached = state.withLock { state in
      state.received += bytes
      let text = String(decoding: state.received, as: UTF8.self)
      let reached = state.marks.filter { text.contains($0.text) }
      state.marks.removeAll { text.contains($0.text) }
      return reached
    }
    for mark in reached { mark.promise.succeed() }
  }

  private static func check(_ result: Int32) throws -> Int32 {
    guard result >= 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
    return result
  }

  /// Lets processes open the other side; returns its path.
  private static func unlock(_ descriptor: Int32) throws -> String {
    #if canImport(Darwin)
      _ = try check(grantpt(descriptor))
      _ = try check(unlockpt(descriptor))
      return String(cString: ptsname(descriptor))
    #else
      // Swift's Glibc module lacks the functions for this. They call TIOCSPTLCK and
      // TIOCGPTN.
      var number: Int32 = 0
      _ = try check(ioctl(descriptor, 0x4004_5431, &number))
      _ = try check(ioctl(descriptor, 0x8004_5430, &number))
      return "/dev/pts/\(number)"
    #endif
  }
}
