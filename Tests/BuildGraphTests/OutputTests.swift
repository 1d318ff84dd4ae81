import Foundation
import Properations
import TestSupport
import Testing

/// The output of commands, and the reports on them.
@Suite("BuildGraph, output", .timeLimit(.minutes(5)), .oneAtATime)
struct OutputTests {
  @Test("The output of a command stands below its target, with blank lines and without an end")
  func lines() async throws {
    let building = try Building("a:\n  printf 'one\\n\\n three\\n\\nend'\n  printf ' it' >&2\n")
    let outcome = try await building.build()
    #expect(
      outcome.story == [
        "running         a", "    | one", "    | ", "    |  three", "    | ", "    | end it",
        "built   TIME  a (not built yet, or not to the end)",
      ])
  }

  @Test("Bytes that are not text come through as they are")
  func bytes() async throws {
    let building = try Building("a:\n  printf 'x\\377\\000y\\n'\n")
    #expect(try await building.shell("\"$0\" > out") == 0)
    let output = try Data(contentsOf: building.folder.file("out"))
    #expect(output.range(of: Data([0x7C, 0x20, 0x78, 0xFF, 0x00, 0x79, 0x0A])) != nil)
  }

  @Test("What a command prints appears while it runs")
  func streaming() async throws {
    let building = try Building(
      "a:\n  echo first; while ! test -e go; do sleep 0.02; done; echo second\n")
    let terminal = try Terminal()
    let run = try building.program.start([], at: terminal, in: building.folder.url)
    try await terminal.appearance(of: "    | first").value
    #expect(!terminal.text.contains("second"))
    try building.folder.write("", to: "go")
    #expect(try await run.exitCode.value == 0)
    try await terminal.appearance(of: "    | second").value
  }

  @Test("Commands that print side by side are told one after the other")
  func grouping() async throws {
    // Each command prints a line after the other has printed one.
    let building = try Building(
      ["a b", "b a"].map { pair in
        let (own, other) = (pair.first!, pair.last!)
        return """
          \(own):
              for i in 1 2 3 4 5; do
                echo \(own)$i; : > \(own)$i; while ! test -e \(other)$i; do sleep 0.02; done
              done

          """
      }.joined())
    let outcome = try await building.build("-j2")
    let lines = outcome.story.filter { $0.hasPrefix("    | ") }.map { $0.dropFirst(6) }
    let (a, b) = ((1...5).map { "a\($0)" }, (1...5).map { "b\($0)" })
    #expect(lines.map(String.init) == a + b || lines.map(String.init) == b + a)
    #expect(outcome.story.filter { $0.hasPrefix("running") }.count == 2)
  }

  @Test("A silent command does not hold up what is told of others")
  func silent() async throws {
    let building = try Building(
      """
      slow:
          echo begun; while ! test -e go; do sleep 0.02; done; echo done
      quick:
          while ! test -e seen; do sleep 0.02; done; echo hello
      """)
    let terminal = try Terminal()
    let run = try building.program.start(["-j2"], at: terminal, in: building.folder.url)
    try await terminal.appearance(of: "    | begun").value
    try building.folder.write("", to: "seen")
    try await terminal.appearance(of: "    | hello").value
    try building.folder.write("", to: "go")
    #expect(try await run.exitCode.value == 0)
    try await terminal.appearance(of: "    | done").value
    let headers = terminal.text.components(separatedBy: "running         slow").count - 1
    #expect(headers == 2, "it is named again when it goes on")
  }

  @Test("What a command prints when it is interrupted is told")
  func interrupted() async throws {
    let building = try Building(
      """
      a:
          trap 'echo tidied up; exit 1' TERM; : > begun; while :; do sleep 0.02; done
      """)
    let terminal = try Terminal()
    let run = try building.program.start([], at: terminal, in: building.folder.url)
    #expect(await eventually { building.folder.exists("begun") })
    kill(run.process.processIdentifier, SIGINT)
    #expect(try await run.exitCode.value == 130)
    // On a busy machine the line of the progress may come in between.
    try await terminal.appearance(of: "    | tidied up\r\n").value
    try await terminal.appearance(of: "stopped         a\r\n").value
    try await terminal.appearance(of: "Interrupted. 0 built").value
  }

  @Test("Forty megabytes of output need no more memory than a little")
  func memory() async throws {
    let building = try Building(
      """
      little:
          : > begun; while ! test -e sampled; do sleep 0.02; done
      much:
          : > begun; head -c 40000000 /dev/zero | tr '\\0' x
          while ! test -e sampled; do sleep 0.02; done
      """)
    // In kilobytes, while the command runs and until its end. A limit of the address
    // space would count reserved memory.
    func peak(_ target: String) async throws -> Int {
      let line = """
        rm -f begun sampled; "$0" -B \(target) > /dev/null & p=$!; m=0
        while kill -0 $p 2>/dev/null; do
          b=$(ls begun 2>/dev/null)
          n=$(sed -n 's/^VmHWM:[^0-9]*\\([0-9]*\\).*/\\1/p' /proc/$p/status 2>/dev/null)
          test "${n:-0}" -gt $m && m=$n
          test -n "$b" && : > sampled
          sleep 0.02
        done
        wait $p && echo $m > peak
        """
      #expect(try await building.shell(line) == 0)
      return Int(try #require(building.number(in: "peak")))
    }
    guard FileManager.default.fileExists(atPath: "/proc/self/status") else { return }
    let little = try await peak("little")
    #expect(little > 0)
    #expect(try await peak("much") < little + 12_000)
  }

  @Test("Quietly only what commands print and failures are told")
  func quiet() async throws {
    let building = try Building("a:\n  true\nb:\n  echo hello\n")
    let outcome = try await building.build("-q")
    #expect(outcome.output == "running         b\n    | hello\n")
    #expect(try await building.build("--quiet").output.isEmpty)
    try building.folder.write("a:\n  exit 4\n", to: "Buildfile")
    let failed = try await building.build("-q")
    #expect(failed.exitCode == 1)
    #expect(failed.story == ["failed  TIME  a: exit status 4", ""])
  }

  @Test("Verbosely commands are told when they begin, and what is up to date")
  func verbose() async throws {
    let building = try Building("a:\n  echo a\n  true\nb: a\n  true\n")
    #expect(
      try await building.build("-v").story == [
        "running         a (not built yet, or not to the end)", "    $ echo a", "    $ true",
        "    | a", "built   TIME  a (not built yet, or not to the end)",
        "running         b (not built yet, or not to the end)", "    $ true",
        "built   TIME  b (not built yet, or not to the end)",
      ])
    #expect(
      try await building.build("--verbose").output
        == "up to date      a\nup to date      b\nEverything is up to date.\n")
  }

  @Test("With standard output closed no file gets what is printed")
  func closedOutput() async throws {
    let building = try Building("a:\n  echo hello > a; echo told\n")
    #expect(try await building.shell("\"$0\" >&- 2>errors") == 0)
    #expect(try building.folder.read("errors").isEmpty)
    #expect(try building.folder.read("a") == "hello\n")
    #expect(try !building.folder.read(".Buildfile.state").contains("    | told"))
    #expect(try await building.build().output == "Everything is up to date.\n")
  }

  @Test("A reader that goes away ends no build, and nothing is said of it")
  func closedPipe() async throws {
    let building = try Building("a:\n  echo a\nb: a\n  echo b > b\n")
    let line = "mkfifo pipe; : < pipe & exec 3> pipe; wait; \"$0\" >&3 2>errors"
    #expect(try await building.shell(line) == 0)
    #expect(try building.folder.read("errors").isEmpty)
    #expect(building.folder.exists("b"))
  }

  @Test("A full temporary folder fails the target in the system's words")
  func noTemporaryFiles() async throws {
    let building = try Building("a:\n  echo a\n")
    #expect(try await building.shell("TMPDIR=/nowhere \"$0\" > out") == 1)
    let output = try building.folder.read("out")
    #expect(output.hasPrefix("failed          a: No such file or directory\n"))
  }

  @Test("A trace that cannot be written is told in the system's words")
  func trace() async throws {
    let building = try Building("a:\n  true\n")
    let outcome = try await building.build("--trace=/nowhere/trace.json")
    #expect(outcome.exitCode == 1)
    #expect(
      outcome.errors
        == "BuildGraph: cannot write '/nowhere/trace.json': No such file or directory\n")
  }
}
