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
    // The rest is for the streams and for what Dispatch opens.
    let outcome = try await Tool.runShell(
      "ulimit -n 20; exec \"$0\" \"$@\"", ["--open-files", "4", folder.path.text])
    #expect(outcome.exitCode == 0)
    #expect(outcome.output.contains("76 groups of equal files"))
    #expect(outcome.errors.isEmpty)
  }
}
