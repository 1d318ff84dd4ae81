import ExampleSupport
import Foundation

/// The rule that the output is not ingested, and the input not written to.
enum FoldersApart {
  /// Complains if one of the folders is in the other.
  ///
  /// The output may be in a hidden folder of the input, which is left out.
  static func check(_ folder: String, _ output: String) throws(UsageError) {
    let (input, output) = (names(of: folder), names(of: output))
    if output.starts(with: input) {
      let below = output.dropFirst(input.count)
      if below.contains(where: { $0.hasPrefix(".") }) { return }
      throw UsageError(
        "the output would be ingested itself: it is in the folder, and not hidden")
    }
    if input.starts(with: output) {
      throw UsageError("the folder is in the output: it would be written to")
    }
  }

  /// The names in a path, with links followed as far as there is something.
  private static func names(of path: String) -> [String] {
    var missing: [String] = []
    var path = path.hasPrefix("/") ? path : FileManager.default.currentDirectoryPath + "/" + path
    while true {
      if let real = realpath(path, nil) {
        defer { free(real) }
        let names = String(cString: real).split(separator: "/").map(String.init)
        // (Nothing that is missing is a link.)
        return missing.reversed().reduce(into: names) { names, name in
          if name == ".." { _ = names.popLast() } else { names.append(name) }
        }
      }
      let names = path.split(separator: "/")
      guard let last = names.last else { return missing.reversed() }
      if last == ".." { missing.append("..") } else if last != "." { missing.append(String(last)) }
      path = "/" + names.dropLast().joined(separator: "/")
    }
  }
}
