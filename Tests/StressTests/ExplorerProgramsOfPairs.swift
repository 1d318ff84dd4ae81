#if PROPERATIONS_EXPLORER

  import Foundation
  import Futures
  import TestSupport
  import Testing

  @Suite("Explored programs: two acts at once", .timeLimit(.minutes(10)), .oneAtATime)
  struct ExplorerProgramsOfPairs {
    /// Explores each act beside itself and beside all others.
    private func explorePairs(
      with first: Scene.Act, by explorer: Explorer, isInline: Bool
    ) async throws {
      let index = try #require(Scene.Act.allCases.firstIndex(of: first))
      for second in Scene.Act.allCases[index...] {
        let tracker = LifetimeTracker()
        let name = "\(first) beside \(second), \(isInline ? "inline" : "on a context")"
        try await explorer.explore(name) { program in
          let scene =
            isInline ? Scene(on: .inline, tracker) : Scene(on: program.context(), tracker)
          program.thread { scene.perform(first) }
          program.thread { scene.perform(second) }
          program.afterwards { scene.settleTheRest() }
          scene.check(program)
        }
        #expect(tracker.alive == 0, "\(name) leaves something behind")
      }
    }

    @Test(arguments: Scene.Act.allCases)
    func `any two acts on futures with inline closures keep every promise`(
      _ act: Scene.Act
    ) async throws {
      try await explorePairs(
        with: act, by: Explorer(preemptions: 2, limit: size(400)), isInline: true)
    }

    @Test(arguments: Scene.Act.allCases)
    func `any two acts on futures with a context keep every promise`(
      _ act: Scene.Act
    ) async throws {
      try await explorePairs(
        with: act, by: Explorer(preemptions: 1, limit: size(200)), isInline: false)
    }
  }

  /// How many schedules are tried: as said, or a multiple of that.
  func size(_ schedules: Int) -> Int {
    let factor = ProcessInfo.processInfo.environment["PROPERATIONS_EXPLORER_FACTOR"]
    return schedules * max(1, factor.flatMap { Int($0) } ?? 1)
  }

#endif
