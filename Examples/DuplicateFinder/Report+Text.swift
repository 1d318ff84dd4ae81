import ExampleSupport
import Foundation

extension Report {
  /// The report for people.
  var text: String { groups.map(\.text).joined() + summary }

  /// The problems for people, one a line.
  var complaints: String {
    problems.map { "DuplicateFinder: \($0.path): \($0.message)\n" }.joined()
  }

  private var summary: String {
    let progress = isComplete ? "" : "Interrupted. So far: "
    let found = "\(count(groups.count, "group")) of equal files, \(wastedBytes.asSize) wasted"
    let searched = "\(count(files, "file")) found, \(emptyFiles) of them empty"
    return "\(progress)\(found); \(searched).\n"
  }

  private func count(_ count: Int, _ noun: String) -> String {
    "\(count) \(noun)\(count == 1 ? "" : "s")"
  }
}

extension DuplicateGroup {
  fileprivate var text: String {
    let names = files.flatMap { file in
      ["  \(file.path)\n"] + file.otherNames.map { "    = \($0)\n" }
    }
    return "\(wastedBytes.asSize) wasted: \(files.count) files of \(size.asSize)\n"
      + names.joined() + "\n"
  }
}
