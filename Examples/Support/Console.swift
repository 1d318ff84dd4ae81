import Foundation

/// One of the two streams that a program writes to.
package struct Console: Sendable {
  package static let output = Console(descriptor: STDOUT_FILENO)
  package static let errors = Console(descriptor: STDERR_FILENO)

  private let descriptor: Int32

  private init(descriptor: Int32) { self.descriptor = descriptor }

  /// Whether a person looks on.
  package var isTerminal: Bool { isatty(descriptor) == 1 }

  /// How many lines and columns the terminal has just now; `nil` if it is none, or
  /// does not know.
  package var size: (lines: Int, columns: Int)? {
    var size = winsize()
    guard isTerminal, ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_row > 0,
      size.ws_col > 0
    else { return nil }
    return (Int(size.ws_row), Int(size.ws_col))
  }

  /// Writes to the error stream what is wrong, after the program's name.
  package static func complain(_ text: String) {
    let program = CommandLine.arguments.first.map { $0.split(separator: "/").last ?? "" } ?? ""
    errors.write("\(program): \(text)\n")
  }

  /// Writes all of the text.
  ///
  /// - Returns: Whether that was possible; if not, the error stream says why. A
  ///   reader that went away has read all it wanted, so that counts as success.
  @discardableResult
  package func write(_ text: String) -> Bool { write(bytes: Array(text.utf8)) }

  /// The same for bytes that need not be text.
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

  /// Somebody who shares the stream has made its writes not block.
  private func waitUntilWritable() {
    var request = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
    poll(&request, 1, -1)
  }
}
