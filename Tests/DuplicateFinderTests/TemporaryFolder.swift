import ExampleSupport
import Foundation

@testable import DuplicateFinder

/// A folder that is removed with its last reference.
final class TemporaryFolder: Sendable {
  let url: URL

  init(in parent: URL = FileManager.default.temporaryDirectory) throws {
    url =
      parent
      .appendingPathComponent("DuplicateFinderTests-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(at: url) }

  var path: Path { Path(url.path) }

  func path(_ name: String) -> Path { path.appending(Array(name.utf8)) }

  /// Writes a file, and makes its folders.
  func write(_ content: Data, to name: String) throws {
    let file = url.appendingPathComponent(name)
    try FileManager.default.createDirectory(
      at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
    try content.write(to: file)
  }

  func write(_ content: String, to name: String) throws {
    try write(Data(content.utf8), to: name)
  }

  /// Makes a file of any size that takes no space.
  func makeSparseFile(_ name: String, size: Int64) throws {
    try write("", to: name)
    try systemCall { path(name).withCString { truncate($0, off_t(size)) } }
  }

  func remove(_ name: String) throws {
    try FileManager.default.removeItem(at: url.appendingPathComponent(name))
  }

  func makeHardLink(_ name: String, to target: String) throws {
    try systemCall { path(target).withCString { a in path(name).withCString { link(a, $0) } } }
  }

  func makeSymbolicLink(_ name: String, to target: String) throws {
    try systemCall { Path(target).withCString { a in path(name).withCString { symlink(a, $0) } } }
  }

  /// A file as a scan would find it now.
  func file(_ name: String) throws -> File {
    File(path: path(name), status: try FileStatus(of: path(name)))
  }

  /// The name of a path in this folder.
  func name(of path: Path) -> String {
    let prefix = self.path.text + "/"
    return path.text.hasPrefix(prefix) ? String(path.text.dropFirst(prefix.count)) : path.text
  }
}
