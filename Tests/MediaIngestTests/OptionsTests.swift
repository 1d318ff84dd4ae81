import ExampleSupport
import TestSupport
import Testing

@testable import MediaIngest

/// The meaning of the arguments.
@Suite("Options", .timeLimit(.minutes(5)), .oneAtATime)
struct OptionsTests {
  @Test("Options and the folder come in any order")
  func anyOrder() throws {
    let options = try Options(
      ["--json", "--jobs", "7", "photos", "--output", "out", "--timeout", "1.5"])
    #expect(options.folder == "photos")
    #expect(options.output == "out")
    #expect(options.jobs == 7)
    #expect(options.timeLimit == .milliseconds(1500))
    #expect(options.wantsJSON)
  }

  @Test("The output is in the folder unless it is said otherwise")
  func defaultOutput() throws {
    #expect(try Options(["photos"]).output == "photos/.ingest")
    #expect(try Options(["photos/"]).output == "photos/.ingest")
    #expect(try Options(["--", "-x"]).output == "-x/.ingest")
  }

  @Test("Help needs no folder", arguments: ["-h", "--help"])
  func help(option: String) throws { #expect(try Options([option]).wantsHelp) }

  @Test(
    "Wrong usage is an error",
    arguments: [
      [], [""], ["--"], ["--json"], ["a", "b"], ["--unknown", "a"], ["-x", "a"], ["a", "--jobs"],
      ["--jobs", "0", "a"], ["--jobs", "257", "a"], ["--jobs", "many", "a"], ["a", "--output"],
      ["--output", "", "a"], ["--timeout", "0", "a"], ["--timeout", "nan", "a"],
      ["--timeout", "-1", "a"], ["a", "--timeout"], ["--timeout", "inf", "a"],
    ])
  func wrong(arguments: [String]) {
    #expect(throws: UsageError.self) { try Options(arguments) }
  }

  @Test("Values may be attached to their options")
  func attached() throws {
    let options = try Options(["--output=out", "-j7", "--timeout=1.5", "photos"])
    #expect(options.output == "out")
    #expect(options.jobs == 7)
    #expect(options.timeLimit == .milliseconds(1500))
  }

  @Test("Modes are read, and those that contradict each other refused")
  func modes() throws {
    #expect(try Options(["--force", "a"]).mode == .force)
    #expect(try Options(["--verify", "a"]).mode == .verify)
    #expect(try Options(["--prune", "--force", "a"]).prunes)
    for arguments in [["--force", "--verify", "a"], ["--verify", "--prune", "a"]] {
      #expect(throws: UsageError.self) { try Options(arguments) }
    }
  }

  @Test("Help fits a terminal of 80 columns")
  func helpWidth() {
    #expect(Options.help.split(separator: "\n").allSatisfy { $0.count <= 80 })
  }
}
