import ExampleSupport
import Foundation
import Properations

/// The text of the progress line.
enum ProgressLine {
  /// The text of the line; with the cursor it fits in one line of the terminal.
  ///
  /// The bar takes the space that is left.
  static func text(
    for summary: Summary, remaining: Duration? = nil, columns: Int = 80
  ) -> String {
    let done = summary.done
    var text = "\(done) of \(summary.files.of("file"))"
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
