import ExampleSupport

/// A file as the scan has found it.
struct File: Sendable {
  let path: Path
  let status: FileStatus
  /// More names of the very same file: hard links.
  var otherNames: [Path] = []
}
