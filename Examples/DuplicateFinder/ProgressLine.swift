import ExampleSupport
import Foundation
import Properations

/// A line on the terminal that shows the progress of the search.
@MainActor
final class ProgressLine {
  private let findings: Findings
  private var nextDrawing: Future<Void>?

  /// Returns `nil` if the error stream is no terminal.
  init?(for findings: Findings) {
    guard Console.errors.isTerminal else { return nil }
    self.findings = findings
    drawLater()
  }

  /// Stops drawing and clears the line.
  func erase() {
    nextDrawing?.cancel()
    nextDrawing = nil
    Console.errors.write("\r\u{1B}[K")
  }

  /// Draws ten times a second.
  ///
  /// The closure runs on the main actor, the default context.
  private func drawLater() {
    nextDrawing = Promises.delay(for: .milliseconds(100)).onSuccess { [self] in
      // The delay may have ended just before `erase()`.
      guard nextDrawing != nil else { return }
      Console.errors.write("\r\(Self.text(for: findings.soFar))\u{1B}[K")
      drawLater()
    }
  }

  /// The text of the line; with the cursor it fits in 40 columns.
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
