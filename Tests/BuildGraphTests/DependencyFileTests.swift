import TestSupport
import Testing

@testable import BuildGraph

@Suite("DependencyFile", .timeLimit(.minutes(5)), .oneAtATime)
struct DependencyFileTests {
  private func names(_ text: String) -> [String]? {
    DependencyFile.prerequisites(in: text.utf8)
  }

  @Test("All prerequisites of all rules are found, each once, over broken lines")
  func rules() {
    #expect(
      names("a.o: a.c a.h \\\n  b.h\\\n c.h a.h\n\na.h:\n\nb.o b.d : b.c\n")
        == ["a.c", "a.h", "b.h", "c.h", "b.c"])
    #expect(names("a.o: a.c \\\r\n a.h\r\n") == ["a.c", "a.h"])
    #expect(names("a.o:\\\n a.c") == ["a.c"])
    #expect(names("") == [])
    #expect(names("# a comment\na: b # more\n") == ["b"])
  }

  @Test("Blanks, colons and signs in names are read as compilers write them")
  func escapes() {
    #expect(
      names("a.o: my\\ file.h \\#1.h cost$$.h c:/x.h a\\:b back\\slash.h\n")
        == ["my file.h", "#1.h", "cost$.h", "c:/x.h", "a:b", "back\\slash.h"])
  }

  @Test("A text that is no rules is recognised")
  func wrong() {
    #expect(names("hello\n") == nil)
    #expect(names("a: b\nhello world\n") == nil)
  }

  @Test("'@FILE' among the prerequisites is a dependency file, and counts once")
  func description() throws {
    let rule = try Description("a: b @a.d ./@c @a.d\n").rules[0]
    #expect(rule.prerequisites == ["b", "./@c"])
    #expect(rule.dependencyFiles == ["a.d"])
    #expect(throws: Description.Problems.self) { try Description("a: @\n") }
  }
}

/// Builds with dependency files.
@Suite("BuildGraph, dependency files", .timeLimit(.minutes(5)), .oneAtATime)
struct DependencyFileBuildTests {
  /// Acts like a compiler: copies the files that a file names, and writes their names to
  /// a dependency file.
  private static let description = """
    a: a.c @a.d
        cat a.c $(cat a.c) > a; echo "a: a.c $(tr '\\n' ' ' < a.c)" > a.d
    """
  private let building: Building

  init() throws {
    building = try Building(Self.description)
    try building.folder.write("h1\nh2\n", to: "a.c")
    for name in ["h1", "h2", "h3"] { try building.folder.write(name, to: name) }
  }

  @Test("A file that only the dependency file names is a reason when it changes or goes")
  func changed() async throws {
    #expect(try await building.build().built == ["a"])
    #expect(try await building.build().output == "Everything is up to date.\n")
    try building.folder.write("changed", to: "h2")
    #expect(try await building.build("-n").output.hasPrefix("would build  a (h2 has changed)"))
    #expect(try await building.build().output.contains("a (h2 has changed)"))
    #expect(try await building.build().output == "Everything is up to date.\n")
    try building.folder.write("changed", to: "h3")
    #expect(try await building.build().output == "Everything is up to date.\n")

    // Now the command reads other files.
    try building.folder.write("h1\nh3\n", to: "a.c")
    #expect(try await building.build().output.contains("a (a.c has changed)"))
    try building.folder.write("not read any more", to: "h2")
    #expect(try await building.build().output == "Everything is up to date.\n")
    try building.folder.remove("h3")
    let outcome = try await building.build()
    #expect(outcome.exitCode == 1)
    #expect(outcome.output.contains("    | cat: "))
  }

  @Test("A file that changes while the commands run is a reason in the next build")
  func changedMeanwhile() async throws {
    try building.folder.write(
      "a: a.c @a.d\n  echo > a; touch -t 203801010000 h1; echo 'a: a.c h1' > a.d\n",
      to: "Buildfile")
    _ = try await building.build()
    #expect(try await building.build("-n").output.contains("a (h1 has changed)"))
  }

  @Test("To begin to have a dependency file, or to stop, is a change of the prerequisites")
  func added() async throws {
    try building.folder.write(
      Self.description.replacing(" @a.d", with: ""), to: "Buildfile")
    _ = try await building.build()
    try building.folder.write(Self.description, to: "Buildfile")
    let outcome = try await building.build()
    #expect(outcome.output.contains("a (its list of prerequisites has changed)"))
  }

  @Test(
    "A dependency file that is missing or is none fails the target",
    arguments: zip(
      ["true", "echo nonsense > a.d"],
      ["cannot be read: No such file or directory", "is not one: a line has no colon"]))
  func wrong(script: String, reason: String) async throws {
    try building.folder.write("a: a.c @a.d\n  \(script)\n", to: "Buildfile")
    let outcome = try await building.build()
    #expect(outcome.exitCode == 1)
    #expect(outcome.output.contains("a: its dependency file 'a.d' \(reason)\n"))
    #expect(try await building.build("-n").output.contains("would build  a (not built yet"))
  }
}
