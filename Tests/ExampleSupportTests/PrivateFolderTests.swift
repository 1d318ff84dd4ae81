import ExampleSupport
import Foundation
import TestSupport
import Testing

/// Folders for temporary files.
@Suite("Private folders", .timeLimit(.minutes(5)), .oneAtATime)
struct PrivateFolderTests {
  @Test("Each private folder is a new one that only its owner can read")
  func isPrivate() throws {
    let folders = try (0..<2).map { _ in try makePrivateFolder(for: "PrivateFolderTests") }
    defer { for folder in folders { try? FileManager.default.removeItem(at: folder) } }
    #expect(folders[0] != folders[1])
    for folder in folders {
      #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty)
      let attributes = try FileManager.default.attributesOfItem(atPath: folder.path)
      #expect(attributes[.posixPermissions] as? Int == 0o700)
    }
  }
}
