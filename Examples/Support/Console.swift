import Foundation

/// One of the two streams that a program writes to.
package struct Console: Sendable {
  package static let output = Console(descriptor: STDOUT_FILENO)
  package static let errors = Console(descriptor: STDERR_FILENO)

  private let descriptor: Int32

  private init(descriptor: Int32) { self.descriptor = descriptor }

  /// Whether a person looks on.
  package var isTerminal: Bool { isatty(descriptor) == 1 }

  /// Writes all of the text.
  ///
  /// - Returns: Whether that was possible. A reader that went away has read
  ///   all it wanted, so that counts as success.
  @discardableResult
  package func write(_ text: String) -> Bool {
    var rest = Array(text.utf8)[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Foundation.write(descriptor, $0.baseAddress, $0.count) }
      if count >= 0 {
        rest = rest.dropFirst(count)
        continue
      }
      switch errno {
      case EINTR: continue
      case EPIPE: return true
      case EAGAIN:
        // Somebody who shares the stream has made its writes not block.
        var request = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        poll(&request, 1, -1)
      default: return false
      }
    }
    return true
  }
}
