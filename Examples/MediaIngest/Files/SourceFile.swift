import ExampleSupport

/// A file as the scan has found it.
struct SourceFile: Sendable {
  /// Where it is.
  let path: String
  /// Its path in the folder that is ingested.
  let name: String
  let status: FileStatus
}

extension String {
  /// The path of something in the folder that this is the path of.
  func appending(name: String) -> String {
    if isEmpty { return name }
    return hasSuffix("/") ? self + name : "\(self)/\(name)"
  }
}
