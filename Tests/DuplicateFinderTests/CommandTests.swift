import ExampleSupport
import Foundation
import TestSupport
import Testing

@testable import DuplicateFinder

/// The program as a whole: exit codes and streams.
@Suite("Command", .timeLimit(.minutes(5)), .oneAtATime)
struct CommandTests {
  let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
    for name in ["a", "b"] { try folder.write("same", to: name) }
  }

  @Test("A search without problems exits with 0, and is silent on standard error")
  func success() async throws {
    let outcome = try await Tool.run([folder.path.text])
    #expect(outcome.exitCode == 0)
    #expect(outcome.output.contains("1 group of equal files, 4 bytes wasted"))
    #expect(outcome.errors.isEmpty)
  }

  @Test("A path that does not exist exits with 1 after the rest was searched")
  func missing() async throws {
    let outcome = try await Tool.run([folder.path("missing").text, "--json", folder.path.text])
    #expect(outcome.exitCode == 1)
    #expect(outcome.output.contains("\"wastedBytes\" : 4"))
    #expect(outcome.errors.contains("missing: No such file or directory"))
  }

  @Test("Wrong usage exits with 2, and tells the usage on standard error", arguments: [[], ["-x"]])
  func wrongUsage(arguments: [String]) async throws {
    let outcome = try await Tool.run(arguments)
    #expect(outcome.exitCode == 2)
    #expect(outcome.output.isEmpty)
    #expect(outcome.errors.contains("Usage: DuplicateFinder"))
  }

  @Test("Help exits with 0, and is told on standard output")
  func help() async throws {
    let outcome = try await Tool.run(["--help"])
    #expect(outcome.exitCode == 0)
    #expect(outcome.output.contains("Usage: DuplicateFinder"))
    #expect(outcome.errors.isEmpty)
  }

  @Test("A reader that goes away is no error")
  func closedPipe() async throws {
    for index in 0..<2000 { try folder.write("same", to: "a rather long name \(index)") }
    let outcome = try await Tool.runShell(
      "\"$0\" \"$@\" | head -n 1; exit ${PIPESTATUS[0]}", [folder.path.text])
    #expect(outcome.exitCode == 0)
    #expect(outcome.errors.isEmpty)
  }

  @Test("The limit of open files holds for all sizes together")
  func openFiles() async throws {
    for index in 0..<300 {
      try folder.write(String(repeating: "x", count: 10 + index / 4), to: "f\(index)")
    }
    // The other descriptors are for the streams and for Dispatch.
    let outcome = try await Tool.runShell(
      "ulimit -n 20; exec \"$0\" \"$@\"", ["--open-files", "4", folder.path.text])
    #expect(outcome.exitCode == 0)
    #expect(outcome.output.contains("76 groups of equal files"))
    #expect(outcome.errors.isEmpty)
  }

  @Test("Quiet prints the groups alone, and the summary alone is the last line")
  func extents() async throws {
    let path = folder.path
    let groups = "4 bytes wasted: 2 files of 4 bytes\n  \(path)/a\n  \(path)/b\n\n"
    let summary = "1 group of equal files, 4 bytes wasted; 2 files found, 0 of them empty.\n"
    #expect(try await Tool.run([path.text]).output == groups + summary)
    #expect(try await Tool.run(["-q", path.text]).output == groups)
    #expect(try await Tool.run(["--summary", path.text]).output == summary)
    let json = try await Tool.run(["--summary", "--json", path.text]).output
    #expect(json.contains("\"wastedBytes\" : 4"))
    #expect(!json.contains("\"paths\""))
  }

  @Test("Names end in zero bytes, and groups in one more")
  func names() async throws {
    for name in ["c\nd", "e"] { try folder.write("other", to: name) }
    let path = folder.path
    let outcome = try await Tool.run(["-0", path.text])
    #expect(
      outcome.output == "\(path)/c\nd\0\(path)/e\0\0\(path)/a\0\(path)/b\0\0")
  }

  @Test("The version is told on standard output")
  func version() async throws {
    let outcome = try await Tool.run(["--version"])
    #expect(outcome.exitCode == 0)
    #expect(outcome.output == "DuplicateFinder \(ToolVersion.current)\n")
  }

  @Test(
    "With closed streams it does its work, quietly", arguments: [">&-", "2>&-", "<&- >&- 2>&-"])
  func closedStreams(redirection: String) async throws {
    let outcome = try await Tool.runShell(
      "\"$0\" \"$@\" \(redirection); echo $?", ["--remove", folder.path.text])
    #expect(outcome.output.hasSuffix("0\n"))
    #expect(outcome.errors.isEmpty)
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path.text) == ["a"])
  }

  @Test(
    "A full disk is told once, in the system's words", .enabled(if: access("/dev/full", W_OK) == 0))
  func fullDisk() async throws {
    let outcome = try await Tool.runShell("\"$0\" \"$@\" >/dev/full", [folder.path.text])
    #expect(outcome.exitCode == 1)
    #expect(outcome.errors == "DuplicateFinder: cannot write: No space left on device\n")
  }
}
