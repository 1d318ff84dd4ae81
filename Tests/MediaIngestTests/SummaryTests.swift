import Foundation
import TestSupport
import Testing

@testable import MediaIngest

/// The presentation of the results.
@Suite("Summary", .timeLimit(.minutes(5)), .oneAtATime)
struct SummaryTests {
  private let summary: Summary = {
    var summary = Summary()
    summary.hasBegun = true
    summary.files = 6
    summary.written = 2
    summary.unchanged = 1
    summary.failed = 1
    summary.bytesRead = 1536
    summary.types = ["image/png": 1, "image/jpeg": 1, "video/mp4": 2]
    summary.problems = [Problem("a\nb", "Permission denied")]
    return summary
  }()

  @Test("Text has the most frequent types first, the counts, and what to do after an interruption")
  func text() {
    #expect(
      summary.text == """
          2 video/mp4
          1 image/jpeg
          1 image/png
        6 files: 2 written, 1 done before, 1 failed; 1.5 KiB read.
        Interrupted after 4 of 6 files. Run it again to go on where it stopped.

        """)
    #expect(summary.complaints == "MediaIngest: a\\u{a}b: Permission denied\n")
  }

  @Test("JSON has the same, for programs")
  func json() throws {
    struct Document: Decodable, Equatable {
      struct Entry: Decodable, Equatable { let file: String, message: String }
      let complete: Bool
      let files: Int, written: Int, unchanged: Int, failed: Int, bytesRead: Int
      let types: [String: Int]
      let problems: [Entry]
    }
    #expect(
      try JSONDecoder().decode(Document.self, from: Data(summary.json.utf8))
        == Document(
          complete: false, files: 6, written: 2, unchanged: 1, failed: 1, bytesRead: 1536,
          types: summary.types, problems: [.init(file: "a\nb", message: "Permission denied")]))
  }

  @Test("The progress line fits in a terminal")
  func progress() {
    #expect(
      ProgressLine.text(for: summary) == "[################........] 4 of 6 files, 1.5 KiB read")
    var large = Summary()
    large.files = 12_345_678
    large.written = 12_345_678
    large.bytesRead = .max
    #expect(ProgressLine.text(for: large).count < 80)
    #expect(ProgressLine.text(for: Summary()).contains("0 of 0 files"))
  }

  @Test("The remaining time is told once it can be guessed, by what is left to do")
  func remaining() {
    var summary = summary
    let begin = ContinuousClock.now
    summary.begin = begin
    summary.bytes = 0
    summary.bytesRead = 0
    // Four of six files are done in ten seconds.
    #expect(summary.remaining(at: begin + .milliseconds(500)) == nil)
    #expect(summary.remaining(at: begin + .seconds(10)) == .seconds(5))
    // Half of the bytes are read, and hardly any files are done.
    summary.files = 8
    summary.bytes = 1 << 40
    summary.bytesRead = 1 << 39
    let seconds = summary.remaining(at: begin + .seconds(100))!.components.seconds
    #expect((99...101).contains(seconds))
    #expect(Summary().remaining(at: begin) == nil)
  }

  @Test(
    "The progress line has the remaining time, and fits its terminal",
    arguments: [
      (80, "[################........] 4 of 6 files, 1.5 KiB read, 1:05 left"),
      (40, "[########.....] 4 of 6 files, 1:05 left"), (30, "4 of 6 files, 1:05 left"),
      (20, "4 of 6 files, 1:05 "),
    ])
  func narrow(columns: Int, line: String) {
    let text = ProgressLine.text(for: summary, remaining: .seconds(65), columns: columns)
    #expect(text == line)
    #expect(text.count < columns)
  }

  @Test("One of anything is told in the singular")
  func singular() {
    var summary = Summary()
    summary.hasBegun = true
    summary.isComplete = true
    summary.files = 1
    summary.written = 1
    summary.bytesRead = 1
    summary.pruned = 1
    #expect(
      summary.text == """
        1 file: 1 written, 0 done before, 0 failed; 1 byte read.
        1 sidecar of files that are gone removed.

        """)
  }

  @Test("Names cannot turn the direction of text or end a line")
  func deceptive() {
    var summary = Summary()
    summary.problems = [Problem("a\u{202E}b\u{2028}c", "x")]
    #expect(summary.complaints == "MediaIngest: a\\u{202e}b\\u{2028}c: x\n")
  }
}
