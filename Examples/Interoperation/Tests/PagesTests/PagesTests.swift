import Foundation
import Testing

@Suite("Pages of the documentation", .timeLimit(.minutes(1)))
struct PagesTests {
  private static let folder = URL(filePath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

  /// The pages of the folder, by name.
  private static var pages: [String] {
    get throws {
      try FileManager.default.contentsOfDirectory(atPath: folder.path)
        .filter { $0.hasSuffix(".md") }.map { String($0.dropLast(3)) }.sorted()
    }
  }

  @Test("Each library has a page, and each page a library")
  func complete() throws {
    let libraries = try FileManager.default
      .contentsOfDirectory(atPath: Self.folder.appending(path: "Sources").path)
      .map { $0.replacing("Properations", with: "") }.sorted()
    #expect(try Self.pages == libraries)
  }

  @Test("Every example of a page stands word for word in a test of its library")
  func examples() throws {
    for page in try Self.pages {
      let text = try String(contentsOf: Self.folder.appending(path: "\(page).md"), encoding: .utf8)
      let examples = text.components(separatedBy: "```swift\n").dropFirst().compactMap {
        $0.components(separatedBy: "```").first
      }
      #expect(!examples.isEmpty, "\(page).md has no example")
      let tests = try Self.lines(ofTestsFor: page)
      for example in examples {
        #expect(tests.contains(Self.trimmed(example)), "\(page).md: \(example)")
      }
    }
  }

  /// All tests of a library as one text without indentation.
  private static func lines(ofTestsFor page: String) throws -> String {
    let tests = folder.appending(path: "Tests/Properations\(page)Tests")
    return try FileManager.default.contentsOfDirectory(atPath: tests.path).map { name in
      trimmed(try String(contentsOf: tests.appending(path: name), encoding: .utf8))
    }.joined(separator: "\n")
  }

  /// The lines without indentation, and without empty lines.
  private static func trimmed(_ text: String) -> String {
    text.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
      .filter { !$0.isEmpty }.joined(separator: "\n")
  }
}
