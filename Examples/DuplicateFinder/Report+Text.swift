import ExampleSupport
import Foundation

extension Report {
  /// The report for people.
  var text: String { groupsText + summary }

  /// The groups for people.
  var groupsText: String { groups.map { $0.text(deeds) }.joined() }

  /// The problems for people, one in each line.
  var complaints: String {
    problems.map { "DuplicateFinder: \($0.path): \($0.message)\n" }.joined()
  }

  /// The totals for people.
  var summary: String {
    let progress = isComplete ? "" : "Interrupted. So far: "
    let found = "\(groups.count.of("group")) of equal files, \(wastedBytes.asSize) wasted"
    let searched = "\(files.of("file")) found, \(emptyFiles) of them empty"
    return "\(progress)\(found); \(searched).\n\(deeds?.summary ?? "")"
  }

  /// The unchanged paths of equal files for other programs: a zero byte ends each path,
  /// and another one each group.
  var names: [UInt8] {
    Array(groups.map { $0.files.map { $0.path.bytes + [0] }.joined() + [0] }.joined())
  }
}

extension DuplicateGroup {
  fileprivate func text(_ deeds: Deeds?) -> String {
    let names = files.flatMap { file in
      let fate = deeds.map { $0.label(of: file) + "  " } ?? ""
      let indent = String(repeating: " ", count: fate.count)
      return ["  \(fate)\(file.path)\n"] + file.otherNames.map { "  \(indent)  = \($0)\n" }
    }
    return "\(wastedBytes.asSize) wasted: \(files.count) files of \(size.asSize)\n"
      + names.joined() + "\n"
  }
}

extension Deeds {
  /// All labels of one tense have the same width.
  fileprivate func label(of file: File) -> String {
    switch fates[file.path] ?? .left {
    case .kept: isDryRun ? "keep  " : "kept   "
    case .removed: isDryRun ? "remove" : "removed"
    case .linked: isDryRun ? "link  " : "linked "
    case .left: isDryRun ? "leave " : "left   "
    }
  }

  fileprivate var summary: String {
    let files = count.of("file")
    return switch (action, isDryRun) {
    case (.remove, false): "\(files) removed, \(freedBytes.asSize) freed.\n"
    case (.hardLink, false): "\(files) linked, \(freedBytes.asSize) freed.\n"
    case (.remove, true): "\(files) would be removed. Nothing was changed.\n"
    case (.hardLink, true): "\(files) would be linked. Nothing was changed.\n"
    }
  }
}
