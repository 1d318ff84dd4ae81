import Foundation
import TestSupport
import Testing
import Workflows

@Suite("A recorded run that is killed", .timeLimit(.minutes(5)), .oneAtATime)
struct JournalKillTests {
  #if os(Linux) || os(macOS)
    @Test func `killed five times: no result that others have seen is lost or made again`()
      async throws
    {
      var random = SeededGenerator()
      let folder = try TemporaryFolder("Killed")
      let (seed, path) = (random.next(), folder.url.path)
      let program = JournaledProgram(seed: seed, folder: path)
      for _ in 0..<5 {
        let life = UInt32.random(in: 0...30_000, using: &random)
        await #expect(processExitsWith: .signal(SIGKILL)) {
          [seed = seed as UInt64, path = path as String, life = life as UInt32] in
          await JournaledProgram(seed: seed, folder: path).run(killedAfter: life)
        }
        #expect(try program.faults() == [])
      }
      await #expect(processExitsWith: .signal(SIGKILL)) {
        [seed = seed as UInt64, path = path as String] in
        await JournaledProgram(seed: seed, folder: path).run(killedAfter: 60_000_000)
      }
      #expect(program.hasEnded)
      #expect(try program.faults() == [])
    }
  #endif
}
