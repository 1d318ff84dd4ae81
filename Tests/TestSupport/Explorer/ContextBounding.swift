#if PROPERATIONS_EXPLORER

  /// Tries all schedules with at most a given number of preemptions, fewer preemptions
  /// first ("iterative context bounding").
  ///
  /// Each schedule that was run gives new schedules. A new schedule is equal to it up to
  /// one of the decisions after its last deviation, and continues with another thread
  /// there. So each schedule comes up once.
  struct ContextBounding {
    let preemptions: Int
    let limit: Int

    /// Schedules with the same number of preemptions that have not been run.
    private struct Level {
      /// The new decision concerns an object that several threads touch.
      var likely: [Schedule] = []
      /// The other schedules: they differ only in what one thread sees.
      var unlikely: [Schedule] = []

      mutating func takeAny(_ generator: inout SeededGenerator) -> Schedule? {
        if let schedule = Self.takeAny(of: &likely, &generator) { return schedule }
        return Self.takeAny(of: &unlikely, &generator)
      }

      private static func takeAny(
        of schedules: inout [Schedule], _ generator: inout SeededGenerator
      ) -> Schedule? {
        guard !schedules.isEmpty else { return nil }
        schedules.swapAt(
          Int.random(in: schedules.indices, using: &generator), schedules.count - 1)
        return schedules.removeLast()
      }
    }

    func explore(_ runner: ProgramRunner) throws -> Exploration {
      var generator = SeededGenerator(seed: 1)
      var levels = Array(repeating: Level(), count: preemptions + 1)
      levels[0].likely = [Schedule()]
      var (count, decisions) = (0, 0)
      for preemptions in levels.indices {
        while let schedule = levels[preemptions].takeAny(&generator) {
          guard count < limit else {
            return Exploration(schedules: count, isComplete: false, decisions: decisions)
          }
          count += 1
          let outcome = runner.run(FixedSchedule(schedule))
          if let failure = outcome.failure { throw runner.explain(failure, foundAfter: count) }
          decisions = max(decisions, outcome.decisions.count)
          addSchedules(behind: schedule, outcome, to: &levels, from: preemptions)
        }
      }
      return Exploration(schedules: count, isComplete: true, decisions: decisions)
    }

    private func addSchedules(
      behind schedule: Schedule, _ outcome: ProgramRunner.Outcome, to levels: inout [Level],
      from level: Int
    ) {
      let first = schedule.deviations.last.map { $0.decision + 1 } ?? 0
      guard first < outcome.decisions.count else { return }
      for number in first..<outcome.decisions.count {
        let decision = outcome.decisions[number]
        let cost = decision.current == nil ? 0 : 1
        guard level + cost < levels.count else { continue }
        let isLikely = decision.current == nil || outcome.isShared(decision)
        for thread in 0..<8
        where thread != decision.chosen && Decision.contains(decision.options, thread) {
          let other = schedule.deviating(to: thread, at: number)
          if isLikely {
            levels[level + cost].likely.append(other)
          } else {
            levels[level + cost].unlikely.append(other)
          }
        }
      }
    }
  }

#endif
