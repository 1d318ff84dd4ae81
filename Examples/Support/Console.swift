import Foundation

/// One of the two streams that a program writes to.
package struct Console: Sendable {
  package static let output = Console(descriptor: STDOUT_FILENO)
  package static let errors = Console(descriptor: STDERR_FILENO)

  private let descriptor: Int32

  private init(descriptor: Int32) { self.descriptor = descriptor }

  /// Whether the stream is a terminal.
  package var isTerminal: Bool { isatty(descriptor) == 1 }

  /// The current size of the terminal; `nil` if the stream is no terminal or its size is
  /// unknown.
  package var size: (lines: Int, columns: Int)? {
    var size = winsize()
    guard isTerminal, ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_row > 0,
      size.ws_col > 0
    else { return nil }
    return (Int(size.ws_row), Int(size.ws_col))
  }

  /// Writes an error message with the program's name in front of it to the error stream.
  package static func complain(_ text: String) {
    let program = CommandLine.arguments.first.map { $0.split(separator: "/").last ?? "" } ?? ""
    errors.write("\(program): \(text)\n")
  }

  /// Writes the whole text.
  ///
  /// - Returns: Whether the text was written. On failure, the reason is written to the
  ///   error stream. A reader that has closed its end has read all it wanted, so that
  ///   counts as success.
  @discardableResult
  package func write(_ text: String) -> Bool { write(bytes: Array(text.utf8)) }

  /// Writes bytes that need not be text, like `write(_:)`.
  @discardableResult
  package func write(bytes: some Collection<UInt8>) -> Bool {
    var rest = Array(bytes)[...]
    while !rest.isEmpty {
      do throws(SystemError) {
        let count = try systemCall {
          rest.withUnsafeBytes { Foundation.write(descriptor, $0.baseAddress, $0.count) }
        }
        rest = rest.dropFirst(count)
      } catch {
        switch error.code {
        case EPIPE: return true
        case EAGAIN: waitUntilWritable()
        default:
          if descriptor != STDERR_FILENO { Self.complain("cannot write: \(error)") }
          return false
        }
      }
    }
    return true
  }

  /// Waits for a stream that another process has set to non-blocking.
  private func waitUntilWritable() {
    var request = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
    poll(&request, 1, -1)
  }
}
