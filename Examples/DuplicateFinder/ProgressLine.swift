import ExampleSupport
import Foundation
import Properations

/// A line on the terminal that says how far the search has come.
@MainActor
final class ProgressLine {
  private let findings: Findings
  private var nextDrawing: Future<Void>?

  /// `nil` if nobody would see it.
  init?(for findings: Findings) {
    guard Console.errors.isTerminal else { return nil }
    self.findings = findings
    drawLater()
  }

  /// Ends it and leaves the line empty.
  func erase() {
    nextDrawing?.cancel()
    nextDrawing = nil
    Console.errors.write("\r\u{1B}[K")
  }

  /// Draws ten times a second, on the main actor, like every closure that is
  /// not told where to run.
  private func drawLater() {
    nextDrawing = Promises.delay(for: .milliseconds(100)).onSuccess { [self] in
      // The time may have been up just before `erase()`.
      guard nextDrawing != nil else { return }
      Console.errors.write("\r\(Self.text(for: findings.soFar))\u{1B}[K")
      drawLater()
    }
  }

  /// Short enough for a line of 40 columns, the cursor included.
  nonisolated static func text(for soFar: Findings.Snapshot) -> String {
    if let deeds = soFar.deeds {
      let verb = deeds.action == .remove ? "Removed" : "Linked"
      return "\(verb) \(deeds.count) of \(soFar.filesToReplace) files"
    }
    guard let candidates = soFar.candidates else { return "Scanning: \(soFar.files) files" }
    let percent = 100 * soFar.candidatesCompared / max(1, candidates)
    return "\(percent) %, \(soFar.bytesRead.asSize) read, \(soFar.groups.count) groups"
  }
}
