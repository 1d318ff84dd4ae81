import Foundation
import Properations
import TestSupport
import Testing

/// The remains of a killed program, and of many commands.
@Suite("BuildGraph, what it leaves behind", .timeLimit(.minutes(5)), .oneAtATime)
struct EndingTests {
  @Test("When the program is killed, its commands and what they have started are ended")
  func killed() async throws {
    let building = try Building(
      """
      quick:
          true
      slow: quick
          trap 'echo > asked; exit 1' TERM
          sleep 1000 & echo $! > child
          echo $$ > process
          while :; do sleep 0.02; done
      stubborn: quick
          trap '' TERM; echo $$ > other; while :; do sleep 0.02; done
      """)
    let run = try building.program.start(["-j2"], at: Terminal(), in: building.folder.url)
    for name in ["process", "child", "other"] {
      #expect(await eventually { building.number(in: name) != nil })
    }
    kill(run.process.processIdentifier, SIGKILL)
    #expect(try await run.exitCode.value == 128 + SIGKILL)
    for name in ["process", "child", "other"] {
      let id = try #require(building.number(in: name))
      #expect(await eventually { Building.isGone(id) })
    }
    #expect(building.folder.exists("asked"))
    // The next build begins when no command runs any more.
    #expect(
      await eventuallyBuilt(building, contains: "would build  slow (not built yet, or not to the"))
  }

  @Test("A build that has ended leaves no watchdog behind, and no lock")
  func ended() async throws {
    let building = try Building(
      "a:\n  ps -A -o pid=,ppid= | awk -v p=$PPID '$2 == p { print $1 }' > children\n")
    #expect(try await building.build().exitCode == 0)
    #expect(try await building.build("-B").exitCode == 0)
    let children = try building.folder.read("children").split(whereSeparator: \.isWhitespace)
    #expect(children.count >= 2, "the command and the watchdog")
    for id in children.compactMap({ Int32($0) }) {
      #expect(await eventually { Building.isGone(id) })
    }
  }

  @Test("What a command has left running goes on when the build ends in good order")
  func leftRunning() async throws {
    let building = try Building("a:\n  sleep 1000 >/dev/null 2>&1 & echo $! > child\n")
    #expect(try await building.build().exitCode == 0)
    let id = try #require(building.number(in: "child"))
    #expect(!Building.isGone(id))
    kill(id, SIGKILL)
  }

  @Test("Files that the program was started with are not handed on to commands")
  func inheritedFiles() async throws {
    let building = try Building("a:\n  if echo told >&5; then exit 1; fi\n")
    #expect(try await building.shell("exec 5>other; \"$0\" > out") == 0)
    #expect(try building.folder.read("other").isEmpty)
  }

  @Test("A command that kills its whole process group has failed, and the next one runs")
  func killsItsGroup() async throws {
    let building = try Building("a:\n  kill -9 0\nb:\n  echo b\nc:\n  echo c\n")
    let outcome = try await building.build("-k", "-j1")
    #expect(outcome.output.contains("a: ended by signal 9"))
    #expect(outcome.built == ["b", "c"])
  }

  @Test("300 commands succeed where 48 files may be open")
  func descriptors() async throws {
    let targets = (1...300).map { "t\($0):\n  echo \($0)\n" }
    let building = try Building(targets.joined())
    #expect(try await building.shell("ulimit -n 48; \"$0\" -j4 > out") == 0)
    #expect(try building.folder.read("out").contains("300 built, 0 up to date, 0 failed"))
  }

  @Test("300 targets that end while another one prints need no open file each")
  func waiting() async throws {
    let talker = "talker:\n  while ! test -e go; do echo talk; sleep 0.01; done\n"
    let targets = (1...300).map { "t\($0):\n  echo \($0)\n" }
    let building = try Building(
      talker + targets.joined()
        + "last: \((1...300).map { "t\($0)" }.joined(separator: " "))\n  : > go\n")
    #expect(try await building.shell("ulimit -n 48; \"$0\" -j3 > out") == 0)
    let output = try building.folder.read("out")
    #expect(output.contains("302 built, 0 up to date, 0 failed"))
    for i in 1...300 { #expect(output.contains("    | \(i)\n")) }
  }

  private func eventuallyBuilt(_ building: Building, contains text: String) async -> Bool {
    let end = ContinuousClock.now + Event.patience
    while ContinuousClock.now < end {
      // A dry run takes no lock.
      if let outcome = try? await building.build("quick"), outcome.exitCode == 0 {
        return (try? await building.build("-n").output.contains(text)) ?? false
      }
    }
    return false
  }
}
