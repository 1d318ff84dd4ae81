import Foundation
import TestSupport
import Testing

/// Ctrl-C, from a terminal that shows progress.
@Suite("BuildGraph, interrupted", .timeLimit(.minutes(5)), .oneAtATime)
struct InterruptionTests {
  private let program = Program("BuildGraph")
  private let folder: TemporaryFolder
  private let terminal: Terminal

  init() throws {
    folder = try TemporaryFolder("BuildGraphTests")
    terminal = try Terminal()
    try folder.write(
      """
      after: slow
          echo after
      slow: quick
          echo $$ > process
          sleep 1000 & echo $! > child
          wait
      quick:
          echo quick > quick
      """, to: "Buildfile")
  }

  @Test("It stops promptly with what its commands started, and keeps what is done")
  func interrupted() async throws {
    let run = try program.start([], at: terminal, in: folder.url)
    try await terminal.appearance(of: "[1/3] slow").value
    #expect(await eventually { (try? folder.read("child").hasSuffix("\n")) == true })
    let start = ContinuousClock.now
    kill(run.process.processIdentifier, SIGINT)
    #expect(try await run.exitCode.value == 130)
    // Prompt for a person, with tolerance for a busy machine.
    #expect(ContinuousClock.now - start < .seconds(30))
    try await terminal.appearance(of: "Interrupted. 1 built, 0 up to date").value

    for name in ["process", "child"] {
      let id = try #require(Int32(folder.read(name).dropLast()))
      #expect(await eventually { Building.isGone(id) })
    }
    let next = try await program.run(["-n"], in: folder.url)
    #expect(!next.output.contains("would build  quick"))
    #expect(next.output.contains("would build  slow (not built yet, or not to the end)"))
  }

  @Test("What commands have started is asked to end before it is killed")
  func asked() async throws {
    try folder.write(
      """
      slow:
          (trap 'echo > asked; exit' TERM; echo > process; while :; do sleep 0.05; done) &
          wait
      """, to: "Buildfile")
    let run = try program.start([], at: terminal, in: folder.url)
    #expect(await eventually { folder.exists("process") })
    kill(run.process.processIdentifier, SIGINT)
    #expect(try await run.exitCode.value == 130)
    #expect(folder.exists("asked"))
  }

  @Test("A command that ignores the request to end is killed in the end")
  func stubborn() async throws {
    try folder.write(
      "slow:\n  trap '' INT TERM\n  echo $$ > process\n  while :; do sleep 0.1; done\n",
      to: "Buildfile")
    let run = try program.start([], at: terminal, in: folder.url)
    #expect(await eventually { (try? folder.read("process").hasSuffix("\n")) == true })
    kill(run.process.processIdentifier, SIGTERM)
    #expect(try await run.exitCode.value == 128 + SIGTERM)
    let id = try #require(Int32(folder.read("process").dropLast()))
    #expect(await eventually { Building.isGone(id) })
  }

  @Test("A second build of the same description is refused while the first runs")
  func twoAtOnce() async throws {
    let run = try program.start([], at: terminal, in: folder.url)
    try await terminal.appearance(of: "[1/3] slow").value
    let second = try await program.run([], in: folder.url)
    #expect(second.exitCode == 1)
    #expect(second.errors.contains("another build is using"))
    kill(run.process.processIdentifier, SIGINT)
    #expect(try await run.exitCode.value == 130)
  }
}
