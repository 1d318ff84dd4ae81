import Foundation
import TestSupport
import Testing

/// The common behaviour of all examples.
@Suite("Streams and help of the examples", .timeLimit(.minutes(5)), .oneAtATime)
struct StreamsTests {
  static let tools = ["BuildGraph", "DuplicateFinder", "MediaIngest", "OrderWorkflow"]

  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder("ExampleSupportTests") }

  /// Runs a line of shell in which `$0` is the program; `errors` is the text on standard
  /// error.
  private func shell(
    _ line: String, _ tool: String
  ) async throws -> (exitCode: Int32, errors: String) {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/bin/sh")
    process.arguments = ["-c", "{ \(line); } 2>errors", Program(tool).url.path]
    process.currentDirectoryURL = folder.url
    let exitCode = try await Program.launch(process).value
    return (exitCode, try folder.read("errors"))
  }

  @Test("Help fits in 80 columns, names the program, and explains every option", arguments: tools)
  func help(tool: String) async throws {
    let outcome = try await Program(tool).run(["--help"])
    #expect(outcome.exitCode == 0)
    #expect(outcome.errors.isEmpty)
    let lines = outcome.output.split(separator: "\n", omittingEmptySubsequences: false)
    #expect(lines.filter { $0.count > 80 }.isEmpty)
    #expect(lines[0].hasPrefix("Usage: \(tool) "))
    #expect(outcome.output.contains("\n  --version "))
    #expect(outcome.output.contains("\n  -h, --help "))
  }

  @Test("The version is one line", arguments: tools)
  func version(tool: String) async throws {
    let outcome = try await Program(tool).run(["--version"])
    #expect(outcome.exitCode == 0)
    #expect(outcome.errors.isEmpty)
    #expect(outcome.output.wholeMatch(of: try Regex("\(tool) [0-9.]+(-[a-z]+)?\n")) != nil)
  }

  @Test("Wrong usage exits with 2 and says on standard error what is wrong", arguments: tools)
  func wrongUsage(tool: String) async throws {
    let outcome = try await Program(tool).run(["--no-such-option"])
    #expect(outcome.exitCode == 2)
    #expect(outcome.output.isEmpty)
    #expect(outcome.errors.hasPrefix("\(tool): unknown option '--no-such-option'\n\nUsage: "))
  }

  @Test("With standard output closed it ends quietly", arguments: tools)
  func closedOutput(tool: String) async throws {
    let outcome = try await shell("\"$0\" --help >&-", tool)
    #expect(outcome.exitCode == 0)
    #expect(outcome.errors == "")
  }

  @Test("With all streams closed it ends by itself", arguments: tools)
  func allClosed(tool: String) async throws {
    #expect(try await shell("\"$0\" --help <&- >&- 2>&-", tool).exitCode == 0)
    #expect(try await shell("\"$0\" --wrong <&- >&- 2>&-", tool).exitCode == 2)
  }

  @Test("When the reader of its output has gone it ends quietly", arguments: tools)
  func closedPipe(tool: String) async throws {
    // The reader closes the pipe before the program starts.
    let outcome = try await shell(
      """
      mkfifo pipe
      : <pipe & exec 3>pipe; wait
      "$0" --help >&3
      """, tool)
    #expect(outcome.exitCode == 0)
    #expect(outcome.errors == "")
  }

  /// Command lines that do the work of a program, in a folder with a folder `in`.
  static let work = [
    ("OrderWorkflow", "\"$0\" --auto --seed 7"),
    ("MediaIngest", "\"$0\" --output out in; test -e out/note.json"),
  ]

  @Test("With standard output closed it does its work, quietly", arguments: work)
  func workWithClosedOutput(tool: String, line: String) async throws {
    try folder.write("note", to: "in/note")
    let outcome = try await shell("exec >&-; set -e; \(line)", tool)
    #expect(outcome.exitCode == 0)
    #expect(outcome.errors == "")
  }

  @Test("When the reader of its output has gone it does its work, quietly", arguments: work)
  func workWithClosedPipe(tool: String, line: String) async throws {
    try folder.write("note", to: "in/note")
    let outcome = try await shell(
      """
      mkfifo pipe
      : <pipe & exec 3>pipe; wait
      exec >&3; set -e; \(line)
      """, tool)
    #expect(outcome.exitCode == 0)
    #expect(outcome.errors == "")
  }

  @Test("A full disk is told in the system's words, and is a failure", arguments: tools)
  func fullDisk(tool: String) async throws {
    guard FileManager.default.fileExists(atPath: "/dev/full") else { return }
    let outcome = try await shell("\"$0\" --help >/dev/full", tool)
    #expect(outcome.exitCode == 1)
    #expect(outcome.errors == "\(tool): cannot write: No space left on device\n")
  }
}
