import Foundation
import Futures

/// Both sides of a terminal at which a test sits.
package final class Terminal: Sendable {
  private struct State {
    var received: [UInt8] = []
    var marks: [(text: String, promise: Promise<Void>)] = []
  }

  /// What a process uses as its streams.
  package let processSide: FileHandle
  private let descriptor: Int32
  private let state = TestLock(State())

  package init() throws {
    descriptor = try Self.check(open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC))
    let other = open(try Self.unlock(descriptor), O_RDWR | O_NOCTTY | O_CLOEXEC)
    processSide = FileHandle(fileDescriptor: try Self.check(other), closeOnDealloc: true)
    resize(lines: 40, columns: 100)
    // A thread of its own, for it blocks; it ends with the terminal.
    Thread.detachNewThread { [weak self, descriptor] in
      var buffer = [UInt8](repeating: 0, count: 4096)
      while true {
        let count = read(descriptor, &buffer, buffer.count)
        // Ends with an error on Linux, and with nothing elsewhere.
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

  /// Everything that has appeared so far.
  package var text: String {
    String(decoding: state.withLock { $0.received }, as: UTF8.self)
  }

  /// Succeeds as soon as the text has appeared.
  package func appearance(of text: String) -> Future<Void> {
    let promise = Promises.make(promising: Void.self)
    state.withLock { $0.marks.append((text, promise)) }
    received([])
    return promise
  }

  /// Types, as a person would.
  package func type(_ text: String) {
    let bytes = Array(text.utf8)
    _ = write(descriptor, bytes, bytes.count)
  }

  /// Whether typed letters are shown by the terminal itself, and lines are
  /// edited there: what a program has to restore.
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

  /// Lets processes open the other side; returns its name.
  private static func unlock(_ descriptor: Int32) throws -> String {
    #if canImport(Darwin)
      _ = try check(grantpt(descriptor))
      _ = try check(unlockpt(descriptor))
      return String(cString: ptsname(descriptor))
    #else
      // Glibc's functions for it are not in Swift's module; these are what
      // they call: TIOCSPTLCK and TIOCGPTN.
      var number: Int32 = 0
      _ = try check(ioctl(descriptor, 0x4004_5431, &number))
      _ = try check(ioctl(descriptor, 0x8004_5430, &number))
      return "/dev/pts/\(number)"
    #endif
  }
}
