import Foundation
import TestSupport
import Testing

@testable import BuildGraph

/// Scripts that another program starts.
@Suite("BuildGraph with a launcher", .timeLimit(.minutes(5)), .oneAtATime)
struct LauncherTests {
  /// A build with a launcher that notes its arguments.
  private func building(_ description: String) throws -> Building {
    let building = try Building(description)
    try building.folder.write(
      """
      #!/bin/sh
      for word in "$@"; do printf '<%s>' "$word" >> words; done
      echo >> words
      while [ "$1" != /bin/sh ]; do shift; done
      exec "$@"
      """, to: "launch")
    try FileManager.default.setAttributes(
      [.posixPermissions: 0o755], ofItemAtPath: building.folder.file("launch").path)
    return building
  }

  @Test func `the launcher gets its own words, the shell and the script`() async throws {
    let building = try building("a:\n    echo \"it's $HOME\"\n    echo two > a\n")
    let outcome = try await building.build("--launcher", "./launch -n1 'a b'")
    #expect(outcome.exitCode == 0 && outcome.built == ["a"])
    #expect(outcome.output.contains("it's /"))
    #expect(
      try building.folder.read("words")
        == "<-n1><a b></bin/sh><-e><-c><echo \"it's $HOME\"\necho two > a>\n")
    // What starts the scripts is no reason to build again.
    #expect(try await building.build().built == [])
  }

  @Test func `exit codes pass through`() async throws {
    let building = try building("a:\n    echo no\n    exit 7\n")
    let outcome = try await building.build("--launcher=./launch")
    #expect(outcome.exitCode == 1 && outcome.failed == ["a"])
    #expect(outcome.output.contains("exit status 7"))
  }

  @Test func `a launcher that does not exist fails the targets`() async throws {
    let building = try Building("a:\n    true\n")
    let outcome = try await building.build("--launcher", "/no/such/launcher")
    #expect(outcome.exitCode == 1 && outcome.failed == ["a"])
    #expect(outcome.output.contains("/no/such/launcher"))
  }

  @Test func `Ctrl-C ends the launcher and the script`() async throws {
    let building = try building("a:\n    echo $$ > process\n    sleep 1000\n")
    let terminal = try Terminal()
    let run = try building.program.start(
      ["--launcher", "./launch"], at: terminal, in: building.folder.url)
    #expect(await eventually { building.number(in: "process") != nil })
    kill(run.process.processIdentifier, SIGINT)
    #expect(try await run.exitCode.value == 130)
    let id = try #require(building.number(in: "process"))
    #expect(await eventually { Building.isGone(id) })
  }

  @Test(arguments: ["", "  ", "'a", "\"a", "a\\"])
  func `a launcher without a word, or with an open quote, is wrong usage`(_ text: String)
    async throws
  {
    let building = try Building("a:\n    true\n")
    let outcome = try await building.build("--launcher", text)
    #expect(outcome.exitCode == 2)
    #expect(outcome.errors.contains("--launcher needs a command whose quotes are closed"))
  }

  @Test(
    arguments: [
      ("srun -n1", ["srun", "-n1"]), ("  a\tb ", ["a", "b"]), ("a'b c'd", ["ab cd"]),
      ("''", [""]), ("\"a \\\"b\\\\ \\x\"", ["a \"b\\ \\x"]), ("a\\ b '\\'", ["a b", "\\"]),
      ("$HOME `x`", ["$HOME", "`x`"]), ("\"it's\" 'say \"x\"'", ["it's", "say \"x\""]),
    ])
  func `words are split as a shell does`(_ text: String, _ words: [String]) {
    #expect(CommandWords.split(text) == words)
  }
}
