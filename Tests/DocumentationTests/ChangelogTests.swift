import Foundation
import TestSupport
import Testing

@Suite("The article Changelog", .timeLimit(.minutes(5)), .oneAtATime)
struct ChangelogTests {
  /// The first column of the table of names.
  private func oldNames() throws -> String {
    let parts = try Documents.text(of: "Sources/Futures/Futures.docc/Changelog.md")
      .components(separatedBy: "## Names that have changed")
    try #require(parts.count == 2)
    return parts[1].split(separator: "\n").filter { $0.hasPrefix("| ") }
      .compactMap { $0.dropFirst().split(separator: " | ").first.map(String.init) }
      .joined(separator: "\n")
  }

  @Test("Every deprecated name has a row in the table of names")
  func complete() throws {
    let table = try oldNames()
    var found = 0
    for path in try Documents.paths(below: "Sources", ending: ".swift")
    // The articles about the earlier systems list their names, so this table does not.
    where !path.hasSuffix("+SeedNames.swift") {
      for name in DeprecatedName.all(in: try Documents.text(of: path)) {
        found += 1
        #expect(table.contains(name), "\(path): \(name)")
      }
    }
    #expect(found > 20, "the sources were not found")
  }

  @Test("Deprecated functions and types are found by name, initialisers by their type")
  func found() {
    let attribute = "@available(*, deprecated"
    let names = DeprecatedName.all(
      in: """
        extension Outer.Inner {
          \(attribute), renamed: "b(_:)")
          @discardableResult
          public final func a(_ x: Int) {}
          public func c() {}

          \(attribute), message: "Use init(_:).")
          public convenience init(x: Int) {}
        }
        \(attribute), message: "Override e(_:).")
        open override func d() {}
        \(attribute), renamed: "New")
        public typealias Old = New
        """)
    #expect(names == ["a(", "Inner(", "d(", "Old"])
  }
}

/// The name of a deprecated declaration, as the table of names writes it.
enum DeprecatedName {
  static func all(in source: String) -> [String] {
    source.matches(of: /@available\(\s*\*, deprecated/).compactMap { match in
      let rest = source[match.range.upperBound...]
      guard
        let declaration = rest.firstMatch(
          of: /(?:public|open) [a-z ]*?(func|var|typealias|init)\b ?`?(\w*)/)
      else { return nil }
      switch declaration.1 {
      case "func": return "\(declaration.2)("
      case "init":
        let types = source[..<match.range.lowerBound]
          .matches(of: /(?:extension|class|struct|enum) (?:\w+\.)*(\w+)/)
        return types.last.map { "\($0.1)(" }
      default: return String(declaration.2)
      }
    }
  }
}
