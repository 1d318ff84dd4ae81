import ExampleSupport
import Foundation
import Properations
import TestSupport
import Testing

@testable import DuplicateFinder

/// The meaning of the arguments.
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

  @Test("A value may be attached to its option")
  func attachedValue() throws {
    #expect(try options("--open-files=4", "a").openFiles == 4)
  }

  @Test(
    "A size is a number of bytes, or of units of 1024",
    arguments: zip(
      ["0", "100", "64K", "1M", "2G", "1T"], [0, 100, 65536, 1 << 20, 2 << 30, 1 << 40] as [Int64]))
  func sizes(text: String, size: Int64) throws {
    #expect(try options("--min-size", text, "a").minSize == size)
  }

  @Test(
    "A size that makes no sense is an error, and the complaint says what it should be",
    arguments: ["", "K", "-1", "1Z", "1.5M", "9999999999T"])
  func wrongSize(text: String) {
    let error = UsageError("--min-size needs a size, such as 100, 64K or 1M")
    #expect(throws: error) { try options("--min-size=\(text)", "a") }
  }

  @Test(
    "Options that contradict each other are an error",
    arguments: [
      ["--json", "-0"], ["--quiet", "--summary"], ["--remove", "--hard-link"], ["--dry-run"],
    ])
  func contradictions(arguments: [String]) {
    #expect(throws: UsageError.self) { try Options((arguments + ["a"]).map { Path($0) }) }
    #expect(throws: Never.self) {
      try Options([arguments[0], "a"].filter { $0 != "--dry-run" }.map { Path($0) })
    }
  }

  @Test("Help fits a terminal of 80 columns")
  func helpWidth() {
    #expect(Options.help.split(separator: "\n").allSatisfy { $0.count <= 80 })
  }

  @Test("More open files do not mean more threads than processors")
  func threads() throws {
    let widths = try ["2", "16", "1024"].map {
      DuplicateSearch(try options("--open-files", $0, "a"), scope: CancellationScope()).width
    }
    let processors = max(2, ProcessInfo.processInfo.activeProcessorCount)
    #expect(widths == [1, min(8, processors), min(512, processors)])
  }
}
