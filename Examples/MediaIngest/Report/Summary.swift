import ExampleSupport
import Foundation

/// What has become of the files.
struct Summary: Sendable {
  var files = 0
  var written = 0
  var unchanged = 0
  var failed = 0
  var bytesRead: Int64 = 0
  /// How many files there are of each type.
  var types: [String: Int] = [:]
  var problems: [Problem] = []
  /// `false` if it was interrupted, or could not even begin.
  var isComplete = false

  /// Whether it got as far as working on files.
  var hasBegun = false

  /// The summary for people; empty if there is nothing to sum up.
  var text: String {
    guard hasBegun else { return "" }
    let kinds = types.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
      .map { "  \($0.value) \($0.key)\n" }
    let counts = "\(written) written, \(unchanged) done before, \(failed) failed"
    let all = "\(files) \(files == 1 ? "file" : "files"): \(counts); \(bytesRead.asSize) read.\n"
    let done = written + unchanged + failed
    let hint =
      "Interrupted after \(done) of \(files) files. Run it again to go on where it stopped.\n"
    return kinds.joined() + all + (isComplete ? "" : hint)
  }

  /// The problems for people, one a line.
  var complaints: String {
    problems.map { "MediaIngest: \($0.file.printable): \($0.message.printable)\n" }.joined()
  }

  /// The summary for machines.
  var json: String {
    struct Entry: Encodable {
      let file: String
      let message: String
    }
    struct Document: Encodable {
      let complete: Bool
      let files: Int
      let written: Int
      let unchanged: Int
      let failed: Int
      let bytesRead: Int64
      let types: [String: Int]
      let problems: [Entry]
    }
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    // Strings and whole numbers: nothing that JSON could not express.
    let document = try! encoder.encode(
      Document(
        complete: isComplete, files: files, written: written, unchanged: unchanged,
        failed: failed, bytesRead: bytesRead, types: types,
        problems: problems.map { Entry(file: $0.file, message: $0.message) }))
    return String(decoding: document, as: UTF8.self) + "\n"
  }
}
