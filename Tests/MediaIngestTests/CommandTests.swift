import Foundation
import Properations
import TestSupport
import Testing

@testable import MediaIngest

/// The program as a whole: exit codes and streams.
@Suite("Command", .timeLimit(.minutes(5)), .oneAtATime)
struct CommandTests {
  let program = Program("MediaIngest")
  let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
    for name in ["a", "b"] { try folder.write(name, to: "in/\(name)") }
  }

  @Test("Without problems it exits with 0, and is silent on standard error")
  func success() async throws {
    let outcome = try await program.run([folder.path("in")])
    #expect(outcome.exitCode == 0)
    #expect(
      outcome.output.hasSuffix("2 files: 2 written, 0 done before, 0 failed; 2 bytes read.\n"))
    #expect(outcome.errors.isEmpty)
    #expect(try folder.names(below: "in/.ingest") == [".ingest.lock", "a.json", "b.json"])
  }

  @Test("A file that fails makes it exit with 1 when the others are done")
  func failure() async throws {
    try folder.makeSparseFile("in/large", size: 1 << 40)
    let outcome = try await program.run(["--timeout", "5", "--json", folder.path("in")])
    #expect(outcome.exitCode == 1)
    #expect(outcome.output.contains("\"written\" : 2"))
    #expect(outcome.errors == "MediaIngest: large: not finished within 5.0 seconds\n")
  }

  @Test("A folder that does not exist makes it exit with 1")
  func missing() async throws {
    let outcome = try await program.run([folder.path("missing")])
    #expect(outcome.exitCode == 1)
    #expect(outcome.output.isEmpty)
    #expect(outcome.errors.contains("missing: No such file or directory"))
  }

  @Test("Wrong usage exits with 2, and tells the usage on standard error")
  func wrongUsage() async throws {
    let outcome = try await program.run(["-x"])
    #expect(outcome.exitCode == 2)
    #expect(outcome.output.isEmpty)
    #expect(outcome.errors.contains("Usage: MediaIngest"))
  }

  @Test("Help exits with 0, and is told on standard output")
  func help() async throws {
    let outcome = try await program.run(["--help"])
    #expect(outcome.exitCode == 0)
    #expect(outcome.output == Options.help)
    #expect(outcome.errors.isEmpty)
  }

  @Test("No more files are open than it works on, however many there are")
  func openFiles() async throws {
    for index in 0..<200 { try folder.write("content", to: "in/f\(index)") }
    // The other descriptors are for the streams and for Dispatch.
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/bin/bash")
    process.arguments = [
      "-c", "ulimit -n 20; exec \"$0\" --json --jobs 4 \"$1\" >\"$2\" 2>&1", program.url.path,
      folder.path("in"), folder.path("output"),
    ]
    #expect(try await process.runAsFuture().value == 0)
    #expect(try folder.read("output").contains("\"written\" : 202"))
  }
}
