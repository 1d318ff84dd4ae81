import Foundation
import TestSupport
import Testing

/// The article `Guarantees` lists for each guarantee exactly the tests with its number.
@Suite("The article Guarantees", .timeLimit(.minutes(5)), .oneAtATime)
struct GuaranteeListTests {
  private static let article = "Sources/Futures/Futures.docc/Guarantees.md"

  /// The names of the tests with a number, by number.
  ///
  /// All tests are read for them, once.
  private static let tests = Result { try findTests() }

  private static func findTests() throws -> [Int: Set<String>] {
    var found: [Int: Set<String>] = [:]
    for path in try Documents.paths(below: "Tests", ending: "Tests.swift") {
      // This file contains the trait in other code.
      guard !path.hasSuffix("GuaranteeListTests.swift") else { continue }
      for (name, numbers) in MarkedTest.all(in: try Documents.text(of: path)) {
        for number in numbers { found[number, default: []].insert(name) }
      }
    }
    return found
  }

  /// Returns the headings of the article, each with the names in its list.
  private func sections() throws -> [(heading: String, names: [String])] {
    try Documents.text(of: Self.article).components(separatedBy: "\n## ").dropFirst().map { text in
      let lines = text.split(separator: "\n")
      let names = lines.compactMap { line in
        line.wholeMatch(of: /- "(.+)"/).map { String($0.1) }
      }
      return (String(lines.first ?? ""), names)
    }
  }

  @Test("It has the README's guarantees, with their numbers and sentences")
  func headings() throws {
    let readme = try Documents.text(of: "README.md")
    let section = try #require(
      readme.components(separatedBy: "\n## ").first { $0.hasPrefix("Guarantees\n") })
    let guarantees = section.split(separator: "\n").compactMap { line in
      line.wholeMatch(of: /(\d+)\. \*\*(.+?)\.\*\* (.*)/)
        .map { (heading: "\($0.1). \($0.2)", text: String($0.3)) }
    }
    #expect(guarantees.count == 12)
    #expect(try sections().map(\.heading) == guarantees.map(\.heading))
    let article = try Documents.text(of: Self.article)
    for guarantee in guarantees { #expect(article.contains(guarantee.text)) }
    #expect(section.contains(Self.article), "the README does not link to the article")
  }

  @Test("Every guarantee has tests, and the article lists exactly those", arguments: 1...12)
  func names(_ number: Int) throws {
    let marked = try Self.tests.get()[number] ?? []
    #expect(!marked.isEmpty, "no test carries .guarantee(\(number))")
    let listed = try sections()[number - 1].names
    #expect(Set(listed).count == listed.count)
    #expect(marked.subtracting(listed) == [], "the article does not list these")
    #expect(Set(listed).subtracting(marked) == [], "no such test carries the number")
  }

  @Test("No test carries a number that no guarantee has")
  func strangers() throws {
    #expect(try Set(Self.tests.get().keys).subtracting(1...12) == [])
  }
}

@Suite("The look for marked tests", .timeLimit(.minutes(5)), .oneAtATime)
struct MarkedTestTests {
  @Test("Tests are found by their display name, their sentence or their function")
  func found() {
    let mark = ".guarantee"
    let tests = MarkedTest.all(
      in: """
        @Test("shown", \(mark)(1), arguments: [1]) func a() {}
        @Test(\(mark)(2, 3)) func `a sentence: this`() {}
        @Test(\(mark)(4),
          arguments: ["x"]) @available(*, noasync)
        func plain() {}
        @Test func unmarked() {}
        """)
    #expect(tests.map(\.name) == ["shown", "a sentence: this", "plain"])
    #expect(tests.map(\.numbers) == [[1], [2, 3], [4]])
  }
}

/// A test with the trait `.guarantee`, found in a source.
enum MarkedTest {
  static func all(in source: String) -> [(name: String, numbers: [Int])] {
    source.matches(of: /\.guarantee\(([0-9, ]+)\)/).compactMap { match in
      let before = source[..<match.range.lowerBound]
      guard let start = before.range(of: "@Test", options: .backwards)?.upperBound,
        let function = source[match.range.upperBound...].firstMatch(
          of: /func (`(?<sentence>[^`]+)`|(?<plain>\w+))/)
      else { return nil }
      let display = source[start..<match.range.lowerBound]
        .prefixMatch(of: /\(\s*"(?<name>[^"]+)"/)
      let name = display?.name ?? function.sentence ?? function.plain ?? ""
      let numbers = match.1.split(separator: ",").compactMap {
        Int($0.trimmingCharacters(in: .whitespaces))
      }
      return (String(name), numbers)
    }
  }
}
