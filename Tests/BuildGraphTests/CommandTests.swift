import Foundation
import Properations
import TestSupport
import Testing

/// The program as a whole, with real commands.
@Suite("BuildGraph", .timeLimit(.minutes(5)), .oneAtATime)
struct CommandTests {
  private let program = Program("BuildGraph")
  private let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder("BuildGraphTests")
    try folder.write(
      """
      all: hello check

      hello: hello.o util.o
          cat hello.o util.o > hello
          echo linked

      hello.o: hello.c
          cat hello.c > hello.o

      util.o: util.c
          cat util.c > util.o

      check: hello
          grep -q sea hello
      """, to: "Buildfile")
    try folder.write("the sea\n", to: "hello.c")
    try folder.write("more\n", to: "util.c")
  }

  private func build(_ arguments: String...) async throws -> Program.Outcome {
    try await program.run(arguments, in: folder.url)
  }

  // MARK: Which commands run

  @Test("The first build runs everything; the second nothing")
  func twice() async throws {
    let first = try await build()
    #expect(first.exitCode == 0)
    #expect(first.errors.isEmpty)
    #expect(first.built == ["check", "hello", "hello.o", "util.o"])
    #expect(first.output.contains("\n    | linked\n"))
    #expect(first.output.contains("\n4 built, 0 up to date, 0 failed, 0 not run, in "))
    #expect(first.output.contains("\nCritical path, "))
    let path = first.output.split(separator: "\n").drop { !$0.hasPrefix("Critical path, ") }
    #expect(path.dropFirst().map { $0.split(separator: " ").last }.suffix(2) == ["hello", "check"])
    #expect(try folder.read("hello") == "the sea\nmore\n")

    let second = try await build()
    #expect(second.exitCode == 0)
    #expect(second.output == "Everything is up to date.\n")
  }

  @Test("A file that has changed is built into what needs it, and into nothing else")
  func changedFile() async throws {
    _ = try await build()
    try folder.write("much more\n", to: "util.c")
    let outcome = try await build()
    #expect(outcome.built == ["check", "hello", "util.o"])
    #expect(outcome.output.contains("util.o (util.c has changed)"))
    #expect(outcome.output.contains("hello (util.o has changed)"))
    #expect(outcome.output.contains("3 built, 1 up to date, 0 failed, 0 not run"))
  }

  @Test("Changed commands, changed prerequisites and a missing target are reasons")
  func reasons() async throws {
    _ = try await build()
    let text = try folder.read("Buildfile")
    try folder.write(text.replacing("-q sea", with: "-q more"), to: "Buildfile")
    #expect(try await build().output.contains("check (its commands have changed)"))

    try folder.write(text.replacing("check: hello", with: "check: hello util.c"), to: "Buildfile")
    _ = try await build()
    try folder.write(text, to: "Buildfile")
    #expect(
      try await build().output.contains("check (its list of prerequisites has changed)"))

    try folder.remove("util.o")
    let outcome = try await build()
    #expect(outcome.output.contains("util.o (it is missing)"))
    #expect(outcome.built == ["check", "hello", "util.o"])
    #expect(try await build().output == "Everything is up to date.\n")
  }

  @Test("A target that makes the same file again spares those that need it")
  func cutOff() async throws {
    try folder.write(
      """
      list: source
          echo same > list.new
          cmp -s list.new list || mv list.new list
      report: list
          cat list > report
      """, to: "Buildfile")
    try folder.write("1", to: "source")
    _ = try await build()
    try folder.write("22", to: "source")
    #expect(try await build().built == ["list"])
  }

  @Test("A folder in which something is built has not changed for those that need it")
  func folders() async throws {
    try folder.write(
      "out/a: out\n  echo a > out/a\nout/b: out\n  echo b > out/b\nout:\n  mkdir out\n",
      to: "Buildfile")
    #expect(try await build().built == ["out", "out/a", "out/b"])
    #expect(try await build().output == "Everything is up to date.\n")
  }

  @Test("A change passes through a name that has no commands")
  func names() async throws {
    try folder.write(
      "end: parts\n  echo end\nparts: a b\na: a.c\n  echo a > a\nb:\n", to: "Buildfile")
    try folder.write("1", to: "a.c")
    #expect(try await build().built == ["a", "end"])
    #expect(try await build().output == "Everything is up to date.\n")
    try folder.write("22", to: "a.c")
    #expect(try await build().built == ["a", "end"])
  }

  @Test("What failed is run again on the next start, and what it held up; nothing else is")
  func failure() async throws {
    try folder.write("the land\n", to: "hello.c")
    try folder.write(
      try folder.read("Buildfile") + "\n    echo never\nafter: check\n    echo after\n",
      to: "Buildfile")
    let failed = try await build()
    #expect(failed.exitCode == 1)
    #expect(failed.output.contains("check: exit status 1"))
    #expect(failed.output.contains("3 built, 0 up to date, 1 failed, 2 not run"))
    #expect(!failed.output.contains("never"))

    let again = try await build()
    #expect(again.exitCode == 1)
    #expect(again.output.contains("0 built, 3 up to date, 1 failed, 2 not run"))

    try folder.write("sea\n", to: "util.c")
    let repaired = try await build()
    #expect(repaired.exitCode == 0)
    #expect(repaired.built == ["after", "check", "hello", "util.o"])
  }

  @Test("A target that is there but whose last build failed half-way is built again")
  func halfWay() async throws {
    try folder.write("a:\n  echo part > a\n  test -e whole\n", to: "Buildfile")
    try folder.write("", to: "whole")
    #expect(try await build().exitCode == 0)
    try folder.remove("a")
    try folder.remove("whole")
    #expect(try await build().exitCode == 1)
    #expect(folder.exists("a"))
    try folder.write("", to: "whole")
    #expect(try await build().built == ["a"])
  }

  @Test("Only wanted targets are built")
  func wanted() async throws {
    #expect(try await build("util.o").built == ["util.o"])
    let unknown = try await build("nothing")
    #expect(unknown.exitCode == 2)
    #expect(unknown.errors == "BuildGraph: there is no target 'nothing'\n")
  }

  @Test("A command that is ended by a signal has failed")
  func signal() async throws {
    try folder.write("a:\n  kill -9 $$\n", to: "Buildfile")
    let outcome = try await build()
    #expect(outcome.exitCode == 1)
    #expect(outcome.output.contains("a: ended by signal 9"))
  }

  @Test("Commands run side by side, but no more than -j says", arguments: [1, 3])
  func limit(jobs: Int) async throws {
    // Each command waits until the allowed number of commands have begun, and counts
    // them.
    var text = ""
    for i in 1...6 {
      text += """
        t\(i):
            mkdir -p running; : > running/\(i)
            n=0
            while [ $(ls running | wc -l) -lt \(jobs) ] && [ $n -lt 200 ]; do
              sleep 0.02; n=$((n+1))
            done
            ls running | wc -l >> counts
            sleep 0.1; rm running/\(i)

        """
    }
    try folder.write(text, to: "Buildfile")
    #expect(try await build("-j", "\(jobs)").exitCode == 0)
    let counts = try folder.read("counts").split(whereSeparator: \.isWhitespace).compactMap {
      Int($0)
    }
    #expect(counts.count == 6)
    #expect(counts.max() == jobs)
  }

  // MARK: Output without commands

  @Test("A dry run tells what would be run and why, and runs nothing")
  func dryRun() async throws {
    let first = try await build("--dry-run")
    #expect(first.exitCode == 0)
    #expect(
      first.output.contains("would build  check (not built yet, or not to the end)\n    $ grep"))
    #expect(!folder.exists("hello") && !folder.exists(".Buildfile.state"))

    _ = try await build()
    #expect(try await build("-n").output == "Everything is up to date.\n")
    try folder.write("much more\n", to: "util.c")
    let lines = try await build("-n").output.split(separator: "\n").filter { $0.hasPrefix("would") }
    #expect(
      lines == [
        "would build  util.o (util.c has changed)",
        "would build  hello (util.o would be built)",
        "would build  check (hello would be built)",
      ])
  }

  @Test("The drawing and the trace name all targets")
  func exports() async throws {
    let dot = try await build("--dot")
    #expect(dot.output.hasPrefix("digraph \"Buildfile\" {\n"))
    #expect(!folder.exists("hello"))

    #expect(try await build("--trace", "trace.json").exitCode == 0)
    let json = try JSONSerialization.jsonObject(with: Data(contentsOf: folder.file("trace.json")))
    let events = (json as? [String: Any])?["traceEvents"] as? [[String: Any]] ?? []
    let names = events.filter { $0["ph"] as? String == "X" }.compactMap { $0["name"] as? String }
    for name in ["all", "check", "hello", "hello.o", "util.o"] {
      #expect(names.contains(name))
      #expect(dot.output.contains("\"\(name)\\n"))
    }
  }

  // MARK: Errors

  @Test("A wrong description exits with 2, and its lines are named; nothing is run")
  func wrongDescription() async throws {
    try folder.write("a: b\n  : > ran\nb: a\nc: nowhere\n", to: "Buildfile")
    let outcome = try await build("c")
    #expect(outcome.exitCode == 2)
    #expect(outcome.output.isEmpty)
    #expect(
      outcome.errors == """
        Buildfile:1: these need one another: 'a' (line 1) -> 'b' (line 3) -> 'a' (line 1)
        Buildfile:4: 'c' needs 'nowhere', which is neither a target nor a file

        """)
    #expect(!folder.exists("ran"))
  }

  @Test("A description that is not there exits with 2")
  func noDescription() async throws {
    let outcome = try await build("-f", "none")
    #expect(outcome.exitCode == 2)
    #expect(outcome.errors.hasPrefix("BuildGraph: cannot read 'none'"))
  }

  @Test(
    "Wrong usage exits with 2, and tells the usage on standard error",
    arguments: [["-j"], ["-j", "0"], ["-jx"], ["-f"], ["--trace"], ["-x"]])
  func wrongUsage(arguments: [String]) async throws {
    let outcome = try await program.run(arguments, in: folder.url)
    #expect(outcome.exitCode == 2)
    #expect(outcome.output.isEmpty)
    #expect(outcome.errors.contains("Usage: BuildGraph"))
  }

  @Test("Help exits with 0, and is told on standard output")
  func help() async throws {
    let outcome = try await build("--help")
    #expect(outcome.exitCode == 0)
    #expect(outcome.output.contains("A rule is a line 'TARGET: PREREQUISITE...'"))
    #expect(outcome.errors.isEmpty)
  }

  @Test("A state file that is torn or full of rubbish costs builds, and nothing else")
  func tornState() async throws {
    _ = try await build()
    let state = try folder.read(".Buildfile.state").split(separator: "\n")
    let torn = state.dropLast().joined(separator: "\n") + "\nrubbish\n" + state.last!.dropLast(9)
    try folder.write(torn, to: ".Buildfile.state")
    let outcome = try await build()
    #expect(outcome.exitCode == 0)
    #expect(outcome.output.contains("3 up to date"))
    #expect(try await build().output == "Everything is up to date.\n")
  }
}
