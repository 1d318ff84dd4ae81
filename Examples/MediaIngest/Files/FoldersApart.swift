import ExampleSupport
import Foundation

/// Ensures that the output is not ingested and that nothing is written to the input.
enum FoldersApart {
  /// Throws if one of the folders contains the other.
  ///
  /// The output may be in a hidden folder of the input, because hidden folders are not
  /// ingested.
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

  /// Returns the names in a path.
  ///
  /// Links are followed in the part of the path that exists.
  private static func names(of path: String) -> [String] {
    var missing: [String] = []
    var path = path.hasPrefix("/") ? path : FileManager.default.currentDirectoryPath + "/" + path
    while true {
      if let real = realpath(path, nil) {
        defer { free(real) }
        let names = String(cString: real).split(separator: "/").map(String.init)
        // The missing part has no links.
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
