#if PROPERATIONS_EXPLORER

  import Foundation

  /// Runs a small concurrent program in many schedules of its threads, and reports the
  /// first schedule in which it fails.
  ///
  /// ```swift
  /// try await Explorer(preemptions: 2).explore("a settlement beside a cancellation") { program in
  ///   let promise = Promise<Int>()
  ///   let consumer = promise.mapToValue(on: .inline) { $0 + 1 }
  ///   program.thread { promise.succeed(with: 1) }
  ///   program.thread { consumer.cancel() }
  ///   program.atEnd("the consumer has settled") { consumer.isSettled }
  /// }
  /// ```
  ///
  /// The threads are real, but only one of them runs at a time. At every scheduling point
  /// (each `Lock`, each `Atomic`, each hand-off of the package; see `SchedulingPoints`)
  /// the explorer decides which thread continues. So a schedule is a list of decisions,
  /// and can be repeated exactly.
  ///
  /// A failure prints its schedule. To run this schedule alone, with a trace:
  ///
  ///     PROPERATIONS_SCHEDULE='the name of the program: 12>1 40>0' swift test ...
  ///
  /// The explorer does not find faults that depend on a weak memory model, on the time of
  /// Dispatch's timers, or on threads that the program did not declare.
  package struct Explorer: Sendable {
    private let search: @Sendable (ProgramRunner) throws -> Exploration
    private let stepLimit: Int
    /// How long a thread may run without reaching a scheduling point.
    package var patience = Duration.seconds(10)

    /// Tries all schedules with at most a given number of preemptions, fewer preemptions
    /// first.
    ///
    /// A preemption takes the turn from a thread that could continue. Most faults need
    /// one or two preemptions.
    ///
    /// - Parameters:
    ///   - preemptions: The maximum number of preemptions in a schedule.
    ///   - limit: The maximum number of schedules. Their order is mixed, always in the
    ///     same way, so that a part of them is a fair sample.
    ///   - stepLimit: The maximum number of scheduling points in a schedule.
    package init(preemptions: Int, limit: Int = 10_000, stepLimit: Int = 20_000) {
      search = { try ContextBounding(preemptions: preemptions, limit: limit).explore($0) }
      self.stepLimit = stepLimit
    }

    /// Tries random schedules that find every fault of a depth with a known probability
    /// ("probabilistic concurrency testing").
    ///
    /// Each thread gets a random priority. The thread with the highest priority that can
    /// run runs. At `depth - 1` random points the running thread falls behind all others.
    ///
    /// - Parameters:
    ///   - depth: How many orders of two steps a fault may need.
    ///   - schedules: The number of schedules to run.
    ///   - seed: The start of the random numbers; every schedule has its own seed.
    ///   - stepLimit: The maximum number of scheduling points in a schedule.
    package init(depth: Int, schedules: Int, seed: UInt64, stepLimit: Int = 100_000) {
      search = {
        try PrioritySampling(depth: depth, schedules: schedules, seed: seed).explore($0)
      }
      self.stepLimit = stepLimit
    }

    /// Runs a program in many schedules.
    ///
    /// - Parameters:
    ///   - name: A name for reports, and for `PROPERATIONS_SCHEDULE`.
    ///   - program: Declares the threads of the program and its checks. It is called once
    ///     for each schedule, and has to do the same each time.
    /// - Returns: The counts of the exploration.
    /// - Throws: The first `ScheduleFailure`.
    @discardableResult
    package func explore(
      _ name: String, _ program: @escaping @Sendable (ExploredProgram) -> Void
    ) async throws -> Exploration {
      if let schedule = Schedule.givenByEnvironment(for: name) {
        try await replay(name, schedule, program)
        return Exploration(schedules: 1, isComplete: false, decisions: 0)
      }
      return try await onThreadOfItsOwn(name, program, search)
    }

    /// Runs a program in one schedule, and prints what its threads did.
    ///
    /// - Throws: A `ScheduleFailure` if the program fails.
    package func replay(
      _ name: String, _ schedule: Schedule,
      _ program: @escaping @Sendable (ExploredProgram) -> Void
    ) async throws {
      try await onThreadOfItsOwn(name, program) { runner in
        let outcome = runner.run(FixedSchedule(schedule), namesFunctions: true)
        if ProcessInfo.processInfo.environment["PROPERATIONS_SCHEDULE"] != nil {
          print(outcome.trace)
        }
        if let failure = outcome.failure { throw failure }
      }
    }

    /// Passes what runs the program to a closure, on a thread of its own, because the pool that
    /// runs tests must not be blocked.
    private func onThreadOfItsOwn<Output: Sendable>(
      _ name: String, _ program: @escaping @Sendable (ExploredProgram) -> Void,
      _ body: @escaping @Sendable (ProgramRunner) throws -> Output
    ) async throws -> Output {
      let (stepLimit, patience) = (stepLimit, patience)
      return try await withCheckedThrowingContinuation { continuation in
        Thread {
          let runner = ProgramRunner(
            name: name, program: program, stepLimit: stepLimit, patience: patience)
          // This run makes the objects that a process makes only once, before the first
          // schedule that counts.
          _ = runner.run(FixedSchedule(Schedule()))
          let result = Result { try body(runner) }
          runner.end()
          continuation.resume(with: result)
        }.start()
      }
    }
  }

  /// The counts of an exploration without a failure.
  package struct Exploration: Sendable {
    /// The number of schedules that were run.
    package let schedules: Int
    /// Whether these were all schedules within the bound.
    package let isComplete: Bool
    /// The highest number of decisions in a schedule.
    package let decisions: Int
  }

#endif
