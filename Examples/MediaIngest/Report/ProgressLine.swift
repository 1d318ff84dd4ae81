import ExampleSupport
import Properations
import Synchronization

/// A line on the terminal that shows the progress.
final class ProgressLine: Sendable {
  private enum State {
    case drawn(at: ContinuousClock.Instant?)
    case erased
  }

  private let ledger: Ledger
  private let state = Mutex(State.drawn(at: nil))

  /// Returns `nil` if the error stream is no terminal.
  init?(of ledger: Ledger) {
    guard Console.errors.isTerminal else { return nil }
    self.ledger = ledger
    ledger.notify { [weak self] in self?.draw() }
  }

  /// Draws the line, at most ten times a second; any thread may call it.
  func draw() {
    let summary = ledger.summary
    state.withLock { state in
      guard case .drawn(let time) = state else { return }
      let now = ContinuousClock.now
      if let time, now - time < .milliseconds(100) { return }
      state = .drawn(at: now)
      // With the lock held, so that no older line follows a newer one.
      let text = Self.text(
        for: summary, remaining: summary.remaining(at: now),
        columns: Console.errors.size?.columns ?? 80)
      Console.errors.write("\r\(text)\u{1B}[K")
    }
  }

  /// Clears the line for good.
  func erase() {
    state.withLock { state in
      state = .erased
      Console.errors.write("\r\u{1B}[K")
    }
  }

  /// The text of the line; with the cursor it fits in one line of the terminal.
  ///
  /// The bar takes the space that is left.
  static func text(
    for summary: Summary, remaining: Duration? = nil, columns: Int = 80
  ) -> String {
    let done = summary.done
    var text = "\(done) of \(summary.files) files"
    if columns >= 60 { text += ", \(summary.bytesRead.asSize) read" }
    if let remaining { text += ", \(time(remaining)) left" }
    let width = min(24, columns - text.count - 4)
    if width < 4 { return String(text.prefix(max(0, columns - 1))) }
    let filled = summary.files == 0 ? 0 : width * done / summary.files
    let bar = String(repeating: "#", count: filled) + String(repeating: ".", count: width - filled)
    return "[\(bar)] \(text)"
  }

  /// `0:07`, `1:02:03`.
  private static func time(_ duration: Duration) -> String {
    let seconds = min(duration.components.seconds, 359_999)
    let (hours, minutes) = (seconds / 3600, seconds / 60 % 60)
    return hours > 0
      ? String(format: "%d:%02d:%02d", hours, minutes, seconds % 60)
      : String(format: "%d:%02d", minutes, seconds % 60)
  }
}
