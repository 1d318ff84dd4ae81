import Foundation

extension Report {
  /// The report for machines.
  var json: String { json(withGroups: true) }

  /// - Parameter withGroups: `false` to leave out the groups.
  func json(withGroups: Bool) -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    // The document has only strings, whole numbers and Booleans, so encoding cannot fail.
    let document = try! encoder.encode(Document(self, withGroups: withGroups))
    return String(decoding: document, as: UTF8.self) + "\n"
  }
}

/// The shape of the JSON, with paths as in `Path.text`.
private struct Document: Encodable {
  struct Group: Encodable {
    let size: Int64
    let wastedBytes: Int64
    /// One path for each file.
    let paths: [String]
    /// The paths as Base64, if the text of one of them could be that of another path.
    let pathBytes: [String]?
    /// All names of each file that has several; the first name is in `paths`.
    let hardLinks: [[String]]
    /// The names as Base64, if the text of one of them could be that of another path.
    let hardLinkBytes: [[String]]?
    /// The fate of each file, if an action was performed.
    let fates: [String]?
  }

  struct Totals: Encodable {
    let files: Int
    let emptyFiles: Int
    let groups: Int
    let duplicateFiles: Int
    let wastedBytes: Int64
  }

  struct Deeds: Encodable {
    let action: String
    let dryRun: Bool
    let files: Int
    let freedBytes: Int64
  }

  struct Problem: Encodable {
    let path: String
    let pathBytes: String?
    let kind: String
    let message: String
  }

  let complete: Bool
  let groups: [Group]?
  let totals: Totals
  let deeds: Deeds?
  let problems: [Problem]

  init(_ report: Report, withGroups: Bool) {
    complete = report.isComplete
    groups = withGroups ? report.groups.map { Group($0, report.deeds) } : nil
    totals = Totals(
      files: report.files, emptyFiles: report.emptyFiles, groups: report.groups.count,
      duplicateFiles: report.groups.reduce(0) { $0 + $1.files.count - 1 },
      wastedBytes: report.wastedBytes)
    deeds = report.deeds.map {
      Deeds(
        action: $0.action.rawValue, dryRun: $0.isDryRun, files: $0.count,
        freedBytes: $0.freedBytes)
    }
    problems = report.problems.map {
      Problem(
        path: $0.path.text, pathBytes: $0.path.isItsText ? nil : $0.path.base64,
        kind: $0.kind.rawValue, message: $0.message)
    }
  }
}

extension Document.Group {
  init(_ group: DuplicateGroup, _ deeds: Deeds?) {
    let paths = group.files.map(\.path)
    let links = group.files.filter { !$0.otherNames.isEmpty }.map(\.names)
    self.init(
      size: group.size, wastedBytes: group.wastedBytes, paths: paths.map(\.text),
      pathBytes: paths.allSatisfy(\.isItsText) ? nil : paths.map(\.base64),
      hardLinks: links.map { $0.map(\.text) },
      hardLinkBytes: links.joined().allSatisfy(\.isItsText)
        ? nil : links.map { $0.map(\.base64) },
      fates: deeds.map { deeds in paths.map { (deeds.fates[$0] ?? .left).rawValue } })
  }
}

extension Path {
  fileprivate var base64: String { Data(bytes).base64EncodedString() }
}
