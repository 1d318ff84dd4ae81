import Foundation
import TestSupport
import Testing

@Suite("The article Operators", .timeLimit(.minutes(5)), .oneAtATime)
struct OperatorListTests {
  private static let article = "Sources/TypedTasks/TypedTasks.docc/Operators.md"

  /// Returns the names of the public functions in a folder or file.
  private func functions(in folder: String) throws -> Set<String> {
    var names: Set<String> = []
    for path in try Documents.paths(below: folder, ending: ".swift") {
      for match in try Documents.text(of: path).matches(
        of: /public (?:final|static) func `?(\w+)/)
      {
        names.insert(String(match.1))
      }
    }
    return names
  }

  @Test("It has every operator of the module")
  func complete() throws {
    let text = try Documents.text(of: Self.article)
    let functions = try functions(in: "Sources/TypedTasks/Operators")
    #expect(functions.count > 30, "the sources were not found")
    for name in functions {
      #expect(text.contains("`\(name)(") || text.contains("`Tasks.\(name)("), "\(name)")
    }
  }

  @Test("What it says is elsewhere is not here, and what it offers is")
  func honest() throws {
    let parts = try Documents.text(of: Self.article).components(
      separatedBy: "## From other libraries, and not here")
    try #require(parts.count == 2)
    let all = try functions(in: "Sources/TypedTasks")
    for match in parts[0].matches(of: /`(?:Tasks\.)?(\w+)\([^`]*\)`/) {
      // `task.recover` is an operator of futures.
      #expect(all.contains(String(match.1)), "\(match.1) is offered")
    }
    let absent = parts[1].split(separator: "\n").filter { $0.hasPrefix("| `") }
      .compactMap { $0.split(separator: "|").first }
      .flatMap { $0.matches(of: /`(\w+)/).map { String($0.1) } }
    #expect(absent.count > 50)
    // These names exist for several tasks.
    for name in absent where !["reduce", "collect"].contains(name) {
      #expect(!all.contains(name), "\(name) is not here")
    }
  }
}
