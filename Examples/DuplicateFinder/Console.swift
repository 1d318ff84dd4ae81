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
    do {
      while !rest.isEmpty {
        rest = rest.dropFirst(
          try systemCall {
            rest.withUnsafeBytes { Foundation.write(descriptor, $0.baseAddress, $0.count) }
          })
      }
    } catch {
      guard error.code != EPIPE else { return .done }
      if descriptor != STDERR_FILENO {
        Console.errors.write("DuplicateFinder: cannot write: \(error)\n")
      }
      return .incomplete
    }
    return .done
  }
}
