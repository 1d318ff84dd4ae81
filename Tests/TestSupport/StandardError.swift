import Foundation

/// Captures the text that the process writes to standard error.
///
/// The stream belongs to the whole process. So only one capture runs at a time, and the
/// lines of the test runner are left out. A test that must be sure of an empty stream
/// runs in a process of its own: `#expect(processExitsWith:observing:)`.
package enum StandardError {
  private static let turn = NSLock()

  /// Runs a closure and returns the text that was written meanwhile.
  @available(*, noasync, message: "Blocks until other captures are done.")
  package static func captured(during body: () throws -> Void) throws -> String {
    turn.lock()
    defer { turn.unlock() }
    let path = NSTemporaryDirectory() + "standard-error-\(UUID().uuidString)"
    let file = open(path, O_RDWR | O_CREAT, 0o600)
    guard file >= 0 else { throw CocoaError(.fileWriteUnknown) }
    defer {
      close(file)
      unlink(path)
    }
    let original = dup(STDERR_FILENO)
    dup2(file, STDERR_FILENO)
    defer {
      dup2(original, STDERR_FILENO)
      close(original)
    }
    try body()
    let text = try String(contentsOfFile: path, encoding: .utf8)
    return text.split(separator: "\n", omittingEmptySubsequences: false)
      .filter { line in !line.unicodeScalars.contains { runnerMarks.contains($0) } }
      .joined(separator: "\n")
  }

  /// The symbols at the beginning of Swift Testing's lines, and the escape character that
  /// colours them.
  private static let runnerMarks: Set<Unicode.Scalar> = [
    "◇", "✔", "✘", "↳", "➜", "→", "±", "⚠", "\u{1B}", "\u{100000}",
  ]
}
