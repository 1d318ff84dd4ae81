import Foundation

/// One of the two streams that the program writes to.
struct Console: Sendable {
  static let output = Console(descriptor: STDOUT_FILENO)
  static let errors = Console(descriptor: STDERR_FILENO)

  private let descriptor: Int32

  private init(descriptor: Int32) { self.descriptor = descriptor }

  /// Whether a person looks on.
  var isTerminal: Bool { isatty(descriptor) == 1 }

  /// Writes all of the text.
  ///
  /// - Returns: `incomplete` if that was not possible, and somebody ought to
  ///   know: a reader that went away has read all it wanted.
  @discardableResult
  func write(_ text: String) -> Command.ExitCode {
    var rest = Array(text.utf8)[...]
    while !rest.isEmpty {
      do throws(SystemError) {
        let count = try systemCall {
          rest.withUnsafeBytes { Foundation.write(descriptor, $0.baseAddress, $0.count) }
        }
        rest = rest.dropFirst(count)
      } catch {
        switch error.code {
        case EPIPE: return .done
        case EAGAIN: waitUntilWritable()
        default:
          if descriptor != STDERR_FILENO {
            Console.errors.write("DuplicateFinder: cannot write: \(error)\n")
          }
          return .incomplete
        }
      }
    }
    return .done
  }

  /// Somebody who shares the stream has made its writes not block.
  private func waitUntilWritable() {
    var request = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
    poll(&request, 1, -1)
  }
}
