import Foundation
import TestSupport
import Testing
import Workflows

@Suite(
  "Recorded runs that are killed, many times", .enabled(if: isStressing), .timeLimit(.minutes(10)),
  .oneAtATime)
struct JournalKillStressTests {
  #if os(Linux) || os(macOS)
    @Test func `killed 200 times: no result that others have seen is lost or made again`()
      async throws
    {
      var random = SeededGenerator()
      var program: (JournaledProgram, TemporaryFolder)?
      var ends = 0
      for _ in 0..<times(200) {
        if program == nil {
          let folder = try TemporaryFolder("Killed")
          program = (JournaledProgram(seed: random.next(), folder: folder.url.path), folder)
        }
        guard let (current, _) = program else { return }
        let (seed, path) = (current.seed, current.folder)
        let life = UInt32.random(in: 0...25_000, using: &random)
        await #expect(processExitsWith: .signal(SIGKILL)) {
          [seed = seed as UInt64, path = path as String, life = life as UInt32] in
          await JournaledProgram(seed: seed, folder: path).run(killedAfter: life)
        }
        let faults = try current.faults()
        #expect(faults == [], "PROPERATIONS_SEED=\(random.seed)")
        if !faults.isEmpty { return }
        if current.hasEnded {
          ends += 1
          program = nil
        }
      }
      #expect(ends > 0, "some runs come to their end")
    }
  #endif
}
