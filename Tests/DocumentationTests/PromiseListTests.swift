import Foundation
import TestSupport
import Testing

/// The README's promises.
///
/// Tests in other targets use these numbers, so no promise may change its meaning
/// unnoticed.
private let promises = [
  "A future settles exactly once.",
  "Every handler runs exactly once, in order, in its context.",
  "A handler never runs inside the call that adds it.",
  "An error stays where it was thrown.",
  "A forgotten promise is an error, not a hang.",
  "A settled future lets go.",
  "Depth and width are limited by memory, not by the stack.",
  "Cancelling always works, and only once.",
  "Giving up waiting changes nothing.",
  "A future is a correct operation.",
  "A mistake is an error that names the culprit.",
  "The library prints nothing.",
]

@Suite("The README", .timeLimit(.minutes(5)), .oneAtATime)
struct PromiseListTests {
  @Test("Its promises have their numbers and their wording")
  func numbersAndWording() throws {
    let readme = try Documents.text(of: "README.md")
    let section = try #require(
      readme.components(separatedBy: "\n## ").first { $0.hasPrefix("Guarantees\n") })
    let found = section.split(separator: "\n").compactMap { line in
      line.wholeMatch(of: /(\d+)\. \*\*(.+?)\*\*.*/).map { "\($0.1). \($0.2)" }
    }
    #expect(found == promises.enumerated().map { "\($0 + 1). \($1)" })
  }
}
