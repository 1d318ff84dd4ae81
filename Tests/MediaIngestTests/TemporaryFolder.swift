import Foundation

@testable import MediaIngest

/// A folder that goes with its last reference.
final class TemporaryFolder: Sendable {
  let url: URL

  init() throws {
    url = FileManager.default.temporaryDirectory
      .appendingPathComponent("MediaIngestTests-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(at: url) }

  func path(_ name: String) -> String { url.path.appending(name: name) }

  /// Writes a file, and the folders that it is in.
  func write(_ content: Data, to name: String) throws {
    let file = url.appendingPathComponent(name)
    try FileManager.default.createDirectory(
      at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
    try content.write(to: file)
  }

  func write(_ content: String, to name: String) throws {
    try write(Data(content.utf8), to: name)
  }

  func text(_ name: String) throws -> String {
    String(decoding: try Data(contentsOf: url.appendingPathComponent(name)), as: UTF8.self)
  }

  /// Makes a file that is as long as you like, and takes no space.
  func makeSparseFile(_ name: String, size: Int64) throws {
    try write("", to: name)
    try systemCall { truncate(path(name), off_t(size)) }
  }

  func remove(_ name: String) throws {
    try FileManager.default.removeItem(at: url.appendingPathComponent(name))
  }

  /// The names of all files below a folder, in order.
  func names(below name: String) throws -> [String] {
    let folder = url.appendingPathComponent(name)
    return try FileManager.default.subpathsOfDirectory(atPath: folder.path)
      .filter { (try? FileStatus(of: folder.path.appending(name: $0)).kind) == .file }
      .sorted()
  }
}
