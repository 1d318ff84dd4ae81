import ExampleSupport
import Properations
import Synchronization

/// A line on the terminal that says how far things have come.
final class ProgressLine: Sendable {
  private enum State {
    case drawn(at: ContinuousClock.Instant?)
    case erased
  }

  private let ledger: Ledger
  private let state = Mutex(State.drawn(at: nil))

  /// `nil` if nobody would see it.
  init?(of ledger: Ledger) {
    guard Console.errors.isTerminal else { return nil }
    self.ledger = ledger
    ledger.notify { [weak self] in self?.draw() }
  }

  /// Draws the line, ten times a second at most, from any thread.
  func draw() {
    let summary = ledger.summary
    state.withLock { state in
      guard case .drawn(let time) = state else { return }
      let now = ContinuousClock.now
      if let time, now - time < .milliseconds(100) { return }
      state = .drawn(at: now)
      // With the lock held, so that no older line comes after a newer one.
      Console.errors.write("\r\(Self.text(for: summary))\u{1B}[K")
    }
  }

  /// Leaves the line empty, for good.
  func erase() {
    state.withLock { state in
      state = .erased
      Console.errors.write("\r\u{1B}[K")
    }
  }

  /// Short enough for one line of any terminal.
  static func text(for summary: Summary) -> String {
    let done = summary.written + summary.unchanged + summary.failed
    let width = 24
    let filled = summary.files == 0 ? 0 : width * done / summary.files
    let bar = String(repeating: "#", count: filled) + String(repeating: ".", count: width - filled)
    return "[\(bar)] \(done) of \(summary.files) files, \(summary.bytesRead.asSize) read"
  }
}
