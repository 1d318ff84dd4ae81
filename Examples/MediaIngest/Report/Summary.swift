import ExampleSupport
import Foundation

/// The results of the files.
struct Summary: Sendable {
  var files = 0
  var written = 0
  var unchanged = 0
  var failed = 0
  var bytesRead: Int64 = 0
  /// The size of all files, and of the files that are done.
  var bytes: Int64 = 0
  var bytesDone: Int64 = 0
  /// The time when work on the files began.
  var begin: ContinuousClock.Instant?
  /// The number of removed sidecars whose files are gone; `nil` without `--prune`.
  var pruned: Int?
  /// Whether files were compared with their sidecars, and nothing was written.
  var isVerification = false
  /// The problem that stopped all files.
  var obstacle: Problem?
  /// The number of files of each type.
  var types: [String: Int] = [:]
  var problems: [Problem] = []
  /// Whether the ingest ran to its end: it began, and nothing interrupted or stopped it.
  var isComplete = false

  /// Whether work on the files began.
  var hasBegun = false

  /// The summary for people; empty if the work did not begin.
  var text: String {
    guard hasBegun else { return "" }
    let kinds = types.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
      .map { "  \($0.value) \($0.key)\n" }
    let counts =
      isVerification
      ? "\(unchanged) verified, \(failed) failed"
      : "\(written) written, \(unchanged) done before, \(failed) failed"
    let all = "\(files.of("file")): \(counts); \(bytesRead.asSize) read.\n"
    let gone = pruned.map { "\($0.of("sidecar")) of files that are gone removed.\n" } ?? ""
    let end = obstacle == nil ? "Interrupted" : "Stopped"
    let hint =
      "\(end) after \(done) of \(files.of("file")). Run it again to go on where it stopped.\n"
    return kinds.joined() + all + gone + (isComplete ? "" : hint)
  }

  /// The number of files that are done.
  var done: Int { written + unchanged + failed }

  /// The estimated remaining time; `nil` as long as it is unknown.
  ///
  /// Small files count by their number, large ones by their size.
  func remaining(at now: ContinuousClock.Instant) -> Duration? {
    guard let begin, now - begin >= .seconds(1) else { return nil }
    let perFile: Int64 = 64 << 10
    let all = bytes + Int64(files) * perFile
    // Includes what was read of unfinished files.
    let part = min(all, max(bytesDone, bytesRead) + Int64(done) * perFile)
    guard part > 0 else { return nil }
    return (now - begin) * (Double(all - part) / Double(part))
  }

  /// The problems for people, one in each line.
  var complaints: String {
    problems.map { "MediaIngest: \($0.file.visible): \($0.message.visible)\n" }.joined()
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
      let pruned: Int?
      let types: [String: Int]
      let problems: [Entry]
    }
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    // The document has only strings, whole numbers and Booleans, so encoding cannot fail.
    let document = try! encoder.encode(
      Document(
        complete: isComplete, files: files, written: written, unchanged: unchanged,
        failed: failed, bytesRead: bytesRead, pruned: pruned, types: types,
        problems: problems.map { Entry(file: $0.file, message: $0.message) }))
    return String(decoding: document, as: UTF8.self) + "\n"
  }
}
