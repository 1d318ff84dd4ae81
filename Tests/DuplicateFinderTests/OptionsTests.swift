import ExampleSupport
import TestSupport
import Testing

@testable import DuplicateFinder

/// What the arguments mean.
@Suite("Options", .timeLimit(.minutes(5)), .oneAtATime)
struct OptionsTests {
  private func options(_ arguments: String...) throws -> Options {
    try Options(arguments.map { Path($0) })
  }

  @Test("Options and paths come in any order")
  func anyOrder() throws {
    let options = try options("a", "--json", "b", "--open-files", "4", "--empty")
    #expect(options.paths == [Path("a"), Path("b")])
    #expect(options.wantsJSON)
    #expect(options.wantsEmptyFiles)
    #expect(options.openFiles == 4)
    #expect(!options.wantsHelp)
  }

  @Test("What follows -- are paths")
  func endOfOptions() throws {
    #expect(
      try options("--", "--json", "--", "-x").paths == ["--json", "--", "-x"].map { Path($0) })
  }

  @Test("Help needs no path")
  func help() throws {
    #expect(try options("--help").wantsHelp)
    #expect(try options("-h").wantsHelp)
  }

  @Test(
    "Wrong usage is an error",
    arguments: [
      [], ["--"], ["--json"], ["--unknown", "a"], ["-x", "a"], ["a", "--open-files"],
      ["--open-files", "1", "a"], ["--open-files", "many", "a"], ["--open-files", "-1", "a"],
    ])
  func wrong(arguments: [String]) {
    #expect(throws: UsageError.self) { try Options(arguments.map { Path($0) }) }
  }
}
