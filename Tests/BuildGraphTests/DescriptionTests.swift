import TestSupport
import Testing

@testable import BuildGraph

@Suite("Description", .timeLimit(.minutes(5)), .oneAtATime)
struct DescriptionTests {
  private func problems(_ text: String) -> [String] {
    do {
      _ = try Description(text)
      return []
    } catch { return error.list.map(\.description) }
  }

  @Test("Rules have names, prerequisites and scripts without their indentation")
  func rules() throws {
    let description = try Description(
      """
      # A comment.
      all: hello  more # and another

      hello: hello.o
      \tcc -o hello hello.o

      \tif true; then
      \t  echo "# no comment"
      \tfi

      # Between rules.
      hello.o:hello.c
          cc -c hello.c
      """)
    #expect(
      description.rules == [
        Rule(target: "all", prerequisites: ["hello", "more"], script: "", line: 2),
        Rule(
          target: "hello", prerequisites: ["hello.o"],
          script: "cc -o hello hello.o\n\nif true; then\n  echo \"# no comment\"\nfi", line: 4),
        Rule(
          target: "hello.o", prerequisites: ["hello.c"], script: "cc -c hello.c", line: 12),
      ])
  }

  @Test("A prerequisite that is named twice counts once")
  func twice() throws {
    #expect(try Description("a: b c b\n").rules[0].prerequisites == ["b", "c"])
  }

  @Test("Lines may end as on Windows, and the last need not end")
  func lineEnds() throws {
    let rules = try Description("a: b\r\n  echo\r\n  done\r\nc:").rules
    #expect(rules.map(\.target) == ["a", "c"])
    #expect(rules[0].script == "echo\ndone")
  }

  // No argument ends with a line end, because the runner prints arguments unchanged.
  @Test(
    "An empty description has no rules", arguments: [[], ["", ""], ["# nothing", "  # more"]])
  func empty(lines: [String]) throws {
    #expect(try Description(lines.map { $0 + "\n" }.joined()).rules.isEmpty)
  }

  @Test("All that is wrong is told, with its lines")
  func allProblems() {
    #expect(
      problems("  echo\na:\nfoo\n  x\n: b\nc d: e\na:\nf: g:h\nk: \u{1B}[31m\n") == [
        "1: a command without a target above it",
        "3: a rule has the form 'TARGET: PREREQUISITE...', and commands are indented",
        "5: no target before the colon",
        "6: more than one target",
        "7: 'a' is defined in line 2 already",
        "8: more than one colon",
        "9: a control character",
      ])
  }
}

@Suite("Settings of a description", .timeLimit(.minutes(5)), .oneAtATime)
struct SettingsTests {
  private func problems(_ text: String) -> [String] {
    do {
      _ = try Description(text)
      return []
    } catch { return error.list.map(\.description) }
  }

  @Test("Lines that name default targets and targets that always run may stand anywhere")
  func settings() throws {
    let description = try Description(
      ".default: a # main\na: b\n  echo\n.always: b\n  # a comment\nb:\n  true\n.default: b\n")
    #expect(description.defaults == ["a", "b"])
    #expect(description.rules.map(\.target) == ["a", "b"])
    #expect(description.rules.map(\.runsAlways) == [false, true])
    #expect(description.rules[0].script == "echo")
    #expect(try Description("a:\n").defaults.isEmpty)
  }

  @Test("A setting that names no target, or has commands, is told with its line")
  func wrong() {
    #expect(
      problems("a:\n.default: a c\n.always: b\n") == [
        "2: '.default' names 'c', which is no target",
        "3: '.always' names 'b', which is no target",
      ])
    #expect(problems("a:\n.always: a\n  echo\n") == ["3: '.always' has no commands"])
  }
}

@Suite("Plan", .timeLimit(.minutes(5)), .oneAtATime)
struct PlanTests {
  private func plan(_ text: String, _ targets: [String] = []) throws -> [String] {
    try Plan(Description(text), targets: targets) { $0.hasSuffix(".c") }.rules.map(\.target)
  }

  private func problems(_ text: String, _ targets: [String] = []) throws -> [String] {
    do {
      _ = try plan(text, targets)
      return []
    } catch let problems as Description.Problems { return problems.list.map(\.description) }
  }

  @Test("Prerequisites come first, otherwise the order is that of the description")
  func order() throws {
    #expect(try plan("d: b c\nb: a\nc: a\na: x.c\ne:") == ["a", "e", "b", "c", "d"])
  }

  @Test("Only what is wanted is planned, and what that needs")
  func wanted() throws {
    #expect(try plan("d: b c\nb: a\nc: a\na:\ne: d", ["c"]) == ["a", "c"])
    #expect(throws: Plan.UnknownTarget.self) { try plan("a:", ["b"]) }
  }

  @Test("A prerequisite that is neither a target nor a file is told, wherever it is")
  func unknown() throws {
    #expect(
      try problems("a: x.c\n\nb: y a\nc: z", ["a"]) == [
        "3: 'b' needs 'y', which is neither a target nor a file",
        "4: 'c' needs 'z', which is neither a target nor a file",
      ])
  }

  @Test("A cycle is told with its targets and their lines, without those before and behind it")
  func cycle() throws {
    #expect(
      try problems("z: a\na: b\nb: c\nc: a d\nd:") == [
        "2: these need one another: 'a' (line 2) -> 'b' (line 3) -> 'c' (line 4) -> 'a' (line 2)"
      ])
    #expect(
      try problems("a: a") == ["1: these need one another: 'a' (line 1) -> 'a' (line 1)"])
  }

  @Test("Every cycle is told: each once, the shortest way")
  func cycles() throws {
    #expect(
      try problems("a: b\nb: a c\nc: b\nd: e\ne: f d\nf: e z.c\ng: g a\n") == [
        "1: these need one another: 'a' (line 1) -> 'b' (line 2) -> 'a' (line 1)",
        "2: these need one another: 'b' (line 2) -> 'c' (line 3) -> 'b' (line 2)",
        "4: these need one another: 'd' (line 4) -> 'e' (line 5) -> 'd' (line 4)",
        "5: these need one another: 'e' (line 5) -> 'f' (line 6) -> 'e' (line 5)",
        "7: these need one another: 'g' (line 7) -> 'g' (line 7)",
      ])
    // A long cycle and a shorter one.
    #expect(
      try problems("a: b\nb: c\nc: d b\nd: a\n") == [
        "1: these need one another: 'a' (line 1) -> 'b' (line 2) -> 'c' (line 3) -> 'd' (line 4) "
          + "-> 'a' (line 1)",
        "2: these need one another: 'b' (line 2) -> 'c' (line 3) -> 'b' (line 2)",
      ])
  }

  @Test(
    "Where all of a hundred targets need one another, some cycles are told, and that there are more"
  )
  func manyCycles() throws {
    let names = (0..<100).map { "t\($0)" }
    let text = names.map { name in
      "\(name): " + names.filter { $0 != name }.joined(separator: " ") + "\n"
    }.joined()
    let told = try problems(text)
    #expect(told.count == 21)
    #expect(told.contains("1: there are more such cycles"))
  }

  @Test("Without wanted targets the default ones are planned, or else all")
  func defaults() throws {
    #expect(try plan("a:\nb: c\nc:\n.default: b") == ["c", "b"])
    #expect(try plan("a:\nb: c\nc:\n.default: b", ["a"]) == ["a"])
  }

  @Test("Twenty thousand targets in a row, last first, are planned without recursion")
  func deep() throws {
    let count = 20_000
    let text = (1..<count).reversed().map { "t\($0): t\($0 - 1)\n" }.joined() + "t0:\n"
    #expect(try plan(text).first == "t0")
    #expect(try problems(text.replacing("t0:\n", with: "t0: t\(count - 1)\n")).count == 1)
  }
}
