import Foundation

extension Report {
  /// The report for machines.
  var json: String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    // Strings and whole numbers: nothing that JSON could not express.
    let document = try! encoder.encode(Document(self))
    return String(decoding: document, as: UTF8.self) + "\n"
  }
}

/// The shape of the JSON, with paths as `Path.text` has them.
private struct Document: Encodable {
  struct Group: Encodable {
    let size: Int64
    let wastedBytes: Int64
    /// One for each file.
    let paths: [String]
    /// All names of each file that has several; the first is in `paths`.
    let hardLinks: [[String]]
  }

  struct Totals: Encodable {
    let files: Int
    let emptyFiles: Int
    let groups: Int
    let duplicateFiles: Int
    let wastedBytes: Int64
  }

  struct Problem: Encodable {
    let path: String
    let kind: String
    let message: String
  }

  let complete: Bool
  let groups: [Group]
  let totals: Totals
  let problems: [Problem]

  init(_ report: Report) {
    complete = report.isComplete
    groups = report.groups.map { group in
      Group(
        size: group.size, wastedBytes: group.wastedBytes, paths: group.files.map(\.path.text),
        hardLinks: group.files.filter { !$0.otherNames.isEmpty }
          .map { ([$0.path] + $0.otherNames).map(\.text) })
    }
    totals = Totals(
      files: report.files, emptyFiles: report.emptyFiles, groups: report.groups.count,
      duplicateFiles: report.groups.reduce(0) { $0 + $1.files.count - 1 },
      wastedBytes: report.wastedBytes)
    problems = report.problems.map {
      Problem(path: $0.path.text, kind: $0.kind.rawValue, message: $0.message)
    }
  }
}
