import ExampleSupport

/// A file as the scan has found it.
///
/// It is a class because there are many files and they are passed on often.
final class File: Sendable {
  let path: Path
  let status: FileStatus
  /// The other names of the same file: hard links.
  let otherNames: [Path]

  init(path: Path, status: FileStatus, otherNames: [Path] = []) {
    self.path = path
    self.status = status
    self.otherNames = otherNames
  }

  /// All names of the file that the scan has found.
  var names: [Path] { [path] + otherNames }
}
