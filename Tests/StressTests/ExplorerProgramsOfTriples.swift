#if PROPERATIONS_EXPLORER

  import Foundation
  import Futures
  import TestSupport
  import Testing

  @Suite("Explored programs: three acts at once", .timeLimit(.minutes(10)), .oneAtATime)
  struct ExplorerProgramsOfTriples {
    @Test func `random acts of three threads keep every promise, by random priorities`()
      async throws
    {
      var generator = SeededGenerator(for: "explored triples")
      for _ in 0..<size(60) {
        let acts = (0..<3).map { _ in
          (0..<2).map { _ in Scene.Act.allCases.randomElement(using: &generator)! }
        }
        let tracker = LifetimeTracker()
        let name = acts.map { $0.map(\.rawValue).joined(separator: ", ") }
          .joined(separator: " beside ")
        try await Explorer(depth: 3, schedules: 60, seed: generator.next())
          .explore(name) { program in
            let scene = Scene(on: .inline, tracker)
            for ofOneThread in acts {
              program.thread { for act in ofOneThread { scene.perform(act) } }
            }
            program.afterwards { scene.settleTheRest() }
            scene.check(program)
          }
        #expect(tracker.alive == 0, "\(name) leaves something behind")
      }
    }
  }

#endif
