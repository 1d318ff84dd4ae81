#if PROPERATIONS_EXPLORER

  /// Tries random schedules by priorities ("probabilistic concurrency testing").
  struct PrioritySampling {
    let depth: Int
    let schedules: Int
    let seed: UInt64

    func explore(_ runner: ProgramRunner) throws -> Exploration {
      var length = max(runner.run(FixedSchedule(Schedule())).decisions.count, 1)
      for number in 0..<schedules {
        let priorities = Priorities(depth: depth, length: length, seed: seed &+ UInt64(number))
        let outcome = runner.run(priorities)
        if let failure = outcome.failure {
          throw runner.explain(failure, foundAfter: number + 1)
        }
        length = max(length, outcome.decisions.count)
      }
      return Exploration(schedules: schedules, isComplete: false, decisions: length)
    }
  }

  /// The thread with the highest priority continues; at a few random decisions the
  /// running thread falls behind all others.
  struct Priorities: SchedulingStrategy {
    private var priorities: [Int]
    /// The new priority of the running thread, by decision.
    private var changes: [Int: Int] = [:]

    init(depth: Int, length: Int, seed: UInt64) {
      var generator = SeededGenerator(seed: seed)
      priorities = (0..<8).map { $0 + depth }.shuffled(using: &generator)
      for priority in 0..<max(depth - 1, 0) {
        changes[Int.random(in: 0..<length, using: &generator)] = priority
      }
    }

    mutating func choose(among options: UInt8, current: Int?, at decision: Int) -> Int {
      if let current, let priority = changes[decision] { priorities[current] = priority }
      let threads = (0..<8).filter { Decision.contains(options, $0) }
      return threads.max { priorities[$0] < priorities[$1] } ?? 0
    }
  }

#endif
