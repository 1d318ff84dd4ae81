import ExampleSupport

/// A file as the scan has found it.
///
/// A class, because there are many, and they are handed on often.
final class File: Sendable {
  let path: Path
  let status: FileStatus
  /// More names of the very same file: hard links.
  let otherNames: [Path]

  init(path: Path, status: FileStatus, otherNames: [Path] = []) {
    self.path = path
    self.status = status
    self.otherNames = otherNames
  }

  /// All its names that the scan has found.
  var names: [Path] { [path] + otherNames }
}
