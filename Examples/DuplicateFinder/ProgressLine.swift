import Foundation
import Properations

/// A line on the terminal that says how far the search has come.
@MainActor
final class ProgressLine {
  private let findings: Findings
  private var ticking: Future<Void>?

  /// `nil` if nobody would see it.
  init?(for findings: Findings) {
    guard Console.errors.isTerminal else { return nil }
    self.findings = findings
    ticking = tick()
  }

  /// Ends it and leaves the line empty.
  func erase() {
    ticking?.cancel()
    Console.errors.write("\r\u{1B}[K")
  }

  /// Draws ten times a second, for ever: each turn is a future that goes on
  /// with the next, and only the last one is in memory.
  private func tick() -> Future<Void> {
    Promises.delay(for: .milliseconds(100)).mapToFuture { [self] in
      Console.errors.write("\r\(Self.text(for: findings.soFar))\u{1B}[K")
      return tick()
    }
  }

  /// Short enough for one line of any terminal.
  nonisolated static func text(for soFar: Findings.Snapshot) -> String {
    guard let candidates = soFar.candidates else { return "Scanning: \(soFar.files) files" }
    let percent = 100 * soFar.candidatesCompared / max(1, candidates)
    return "Comparing: \(percent) % of \(candidates) sizes, \(soFar.bytesRead.asSize) read, "
      + "\(soFar.groups.count) groups"
  }
}
