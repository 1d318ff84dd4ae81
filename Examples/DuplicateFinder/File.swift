import ExampleSupport

/// A file as the scan has found it.
struct File: Sendable {
  let path: Path
  let status: FileStatus
  /// More names of the very same file: hard links.
  var otherNames: [Path] = []

  /// All its names that the scan has found.
  var names: [Path] { [path] + otherNames }
}
