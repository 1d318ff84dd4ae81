import TestSupport
import Testing

/// Which targets are built, depending on the description and the arguments.
@Suite("BuildGraph, what is wanted", .timeLimit(.minutes(5)), .oneAtATime)
struct WantedTests {
  @Test("Without arguments the default targets are built; others only when asked for")
  func defaults() async throws {
    let building = try Building(
      "a:\n  echo a > a\nb: a\n  cat a > b\nc:\n  echo c > c\nclean:\n  rm -f a b c\n"
        + ".default: b\n.default: c\n")
    #expect(try await building.build().built == ["a", "b", "c"])
    #expect(try await building.build("clean").built == ["clean"])
    #expect(!building.folder.exists("a"))
  }

  @Test("A target that always runs does so whenever it is wanted, and only then")
  func always() async throws {
    let building = try Building(
      "stamp:\n  date >> stamp\nuser: stamp\n  cat stamp > user\nother:\n  echo\n.always: stamp\n")
    #expect(try await building.build("user").built == ["stamp", "user"])
    let again = try await building.build("user")
    #expect(again.built == ["stamp", "user"])
    #expect(again.output.contains("stamp (it always runs)"))
    #expect(try await building.build("-n", "stamp").output.contains("stamp (it always runs)"))
    #expect(try await building.build("other").built == ["other"])
  }

  @Test("A target that always runs and makes the same file again spares those that need it")
  func alwaysTheSame() async throws {
    let building = try Building(
      """
      stamp:
          echo 1 > new; cmp -s new stamp || mv new stamp
      user: stamp
          cat stamp > user
      .always: stamp
      """)
    #expect(try await building.build().built == ["stamp", "user"])
    #expect(try await building.build().built == ["stamp"])
  }

  @Test("With -B everything that is wanted is built, whatever is known of it")
  func all() async throws {
    let building = try Building("a:\n  echo a > a\nb: a\n  cat a > b\nc:\n  echo c > c\n")
    _ = try await building.build()
    #expect(try await building.build().output == "Everything is up to date.\n")
    let again = try await building.build("-B", "b")
    #expect(again.built == ["a", "b"])
    #expect(again.output.contains("a (everything is wanted anew)"))
    #expect(try await building.build("--always-make").built == ["a", "b", "c"])
    let dry = try await building.build("-nB", "a")
    #expect(dry.output == "would build  a (everything is wanted anew)\n    $ echo a > a\n")
  }

  @Test("-C goes to a folder first, and from there to the next")
  func directory() async throws {
    let building = try Building()
    try building.folder.write("a:\n  echo a > a\n", to: "one/two/Buildfile")
    #expect(try await building.build("-C", "one", "--directory=two").built == ["a"])
    #expect(building.folder.exists("one/two/a"))
    #expect(try await building.build("-Cone", "-ftwo/Buildfile").output.hasPrefix("Everything"))
    let wrong = try await building.build("-C", "none")
    #expect(wrong.exitCode == 2)
    #expect(wrong.errors == "BuildGraph: cannot go to 'none': No such file or directory\n")
  }

  @Test("After a failure nothing is begun, but what runs goes on to its end")
  func stop() async throws {
    // The command fails after the other one has begun, and the other one ends three
    // seconds after the process of the first is gone: then the failure is known.
    let building = try Building(
      """
      long:
          : > begun; while ! test -e failing || kill -0 `cat failing`; do sleep 0.02; done; sleep 3; echo long > long
      fails:
          while ! test -e begun; do sleep 0.02; done; echo $$ > pid; mv pid failing; exit 3
      next: long
          echo next
      other:
          echo other
      """)
    let outcome = try await building.build("-j2")
    #expect(outcome.exitCode == 1)
    #expect(outcome.built == ["long"])
    #expect(outcome.failed == ["fails"])
    #expect(outcome.output.contains("fails: exit status 3"))
    #expect(outcome.output.contains("1 built, 0 up to date, 1 failed, 2 not run"))
  }

  @Test("With -k a failure holds up only the targets that need the failed one")
  func keepGoing() async throws {
    let building = try Building(
      "fails:\n  false\nneeds: fails\n  echo\nalone:\n  echo\nlast:\n  false\n")
    let outcome = try await building.build("-k", "-j1")
    #expect(outcome.exitCode == 1)
    #expect(outcome.built == ["alone"])
    #expect(outcome.failed == ["fails", "last"])
    #expect(outcome.output.contains("1 built, 0 up to date, 2 failed, 1 not run"))
    // Without -k no target is built after the first failure.
    #expect(try await building.build("-j1").output.contains(" 1 failed, "))
  }
}
