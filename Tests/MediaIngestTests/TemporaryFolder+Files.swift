import ExampleSupport
import Foundation
import TestSupport

@testable import MediaIngest

extension TemporaryFolder {
  convenience init() throws { try self.init("MediaIngestTests") }

  func path(_ name: String) -> String { url.path.appending(name: name) }

  /// Makes a file of any size that takes no space.
  func makeSparseFile(_ name: String, size: Int64) throws {
    try write("", to: name)
    try systemCall { truncate(path(name), off_t(size)) }
  }

  /// The names of all files below a folder, in order.
  func names(below name: String) throws -> [String] {
    let folder = path(name)
    return try FileManager.default.subpathsOfDirectory(atPath: folder)
      .filter { (try? FileStatus(of: folder.appending(name: $0)).kind) == .file }
      .sorted()
  }
}
