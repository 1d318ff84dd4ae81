import Properations

/// A line on the terminal that is drawn again ten times a second.
@MainActor
package final class StatusLine {
  private let drawing: Future<Never>

  /// Starts to draw.
  ///
  /// Returns `nil` if the error stream is no terminal.
  ///
  /// - Parameter text: The text of the line. It is cut off at the width of the terminal.
  package init?(_ text: @escaping @MainActor () -> String) {
    guard Console.errors.isTerminal else { return nil }
    // On the main actor, the default context.
    drawing = Promises.loop(()) { _ in
      Promises.delay(for: .milliseconds(100)).mapToValue {
        let columns = Console.errors.size?.columns ?? 80
        Console.errors.write("\r\(text().prefix(columns - 1))\u{1B}[K")
        return .next(())
      }
    }
  }

  /// Stops drawing and clears the line.
  package func erase() {
    // A cancelled future does not start its closure, so no drawing follows.
    drawing.cancel()
    Console.errors.write("\r\u{1B}[K")
  }
}
