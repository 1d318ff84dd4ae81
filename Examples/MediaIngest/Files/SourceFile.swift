import ExampleSupport

/// A file as the scan has found it.
struct SourceFile: Sendable {
  let path: String
  /// The path of the file, relative to the ingested folder.
  let name: String
  let status: FileStatus
}

extension String {
  /// The path of a name in the folder that has this path.
  func appending(name: String) -> String {
    if isEmpty { return name }
    return hasSuffix("/") ? self + name : "\(self)/\(name)"
  }
}
