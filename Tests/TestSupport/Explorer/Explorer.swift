#if PROPERATIONS_EXPLORER

  import Foundation

  /// Runs a small concurrent program in many schedules of its threads, one
  /// after the other, and reports the first schedule in which it fails.
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
  /// The threads are real, but only one of them runs at a time. At every
  /// scheduling point (each `Lock`, each `Atomic`, each hand-off of the package;
  /// see `SchedulingPoints`) the explorer decides which thread goes on. So a
  /// schedule is a list of decisions, and runs again exactly as it ran before.
  ///
  /// A failure prints its schedule. To run that one alone, with a trace:
  ///
  ///     PROPERATIONS_SCHEDULE='the name of the program: 12>1 40>0' swift test ...
  ///
  /// What it does not find: what depends on a weak memory model, on the time of
  /// Dispatch's timers, or on threads that the program did not declare.
  package struct Explorer: Sendable {
    enum Strategy: Sendable {
      case preemptions(Int, limit: Int)
      case priorities(depth: Int, schedules: Int, seed: UInt64)
    }

    private let strategy: Strategy
    private let stepLimit: Int
    /// How long a thread may run without reaching a scheduling point.
    package var patience = Duration.seconds(10)

    /// Tries all schedules with at most so many preemptions, those with fewer
    /// first.
    ///
    /// A preemption takes the turn from a thread that could go on. Most faults
    /// need one or two of them.
    ///
    /// - Parameters:
    ///   - preemptions: The most preemptions of a schedule.
    ///   - limit: The most schedules. The order in which they are tried is mixed
    ///     (always in the same way), so that a part of them is a fair sample.
    ///   - stepLimit: The most scheduling points of one schedule.
    package init(preemptions: Int, limit: Int = 10_000, stepLimit: Int = 20_000) {
      strategy = .preemptions(preemptions, limit: limit)
      self.stepLimit = stepLimit
    }

    /// Tries random schedules that find every fault of a depth with a known
    /// probability ("probabilistic concurrency testing").
    ///
    /// Each thread gets a random priority, the highest one that can run does,
    /// and at `depth - 1` random points the running thread falls behind all
    /// others.
    ///
    /// - Parameters:
    ///   - depth: How many orders of two steps a fault may need.
    ///   - schedules: How many schedules to run.
    ///   - seed: What the random numbers start from; every schedule has its own.
    ///   - stepLimit: The most scheduling points of one schedule.
    package init(depth: Int, schedules: Int, seed: UInt64, stepLimit: Int = 100_000) {
      strategy = .priorities(depth: depth, schedules: schedules, seed: seed)
      self.stepLimit = stepLimit
    }

    /// Runs a program in many schedules.
    ///
    /// - Parameters:
    ///   - name: A name for reports, and for `PROPERATIONS_SCHEDULE`.
    ///   - program: Declares the threads of the program and its checks. Called
    ///     once for each schedule, and has to do the same each time.
    /// - Returns: What was tried.
    /// - Throws: The first `ScheduleFailure`.
    @discardableResult
    package func explore(
      _ name: String, _ program: @escaping @Sendable (ExploredProgram) -> Void
    ) async throws -> Exploration {
      if let schedule = Schedule.givenByEnvironment(for: name) {
        try await replay(name, schedule, program)
        return Exploration(schedules: 1, isComplete: false, decisions: 0)
      }
      let (strategy, stepLimit, patience) = (strategy, stepLimit, patience)
      return try await onThreadOfItsOwn {
        let runner = ProgramRunner(
          name: name, program: program, stepLimit: stepLimit, patience: patience)
        defer { runner.end() }
        // What is only made once in a process is made before the first schedule
        // that counts.
        _ = runner.run(FixedSchedule(Schedule()))
        switch strategy {
        case .preemptions(let bound, let limit):
          return try ContextBounding(preemptions: bound, limit: limit).explore(runner)
        case .priorities(let depth, let schedules, let seed):
          return try PrioritySampling(depth: depth, schedules: schedules, seed: seed)
            .explore(runner)
        }
      }
    }

    /// Runs a program in one schedule, and prints what its threads did.
    ///
    /// - Throws: A `ScheduleFailure` if it fails.
    package func replay(
      _ name: String, _ schedule: Schedule,
      _ program: @escaping @Sendable (ExploredProgram) -> Void
    ) async throws {
      let (stepLimit, patience) = (stepLimit, patience)
      try await onThreadOfItsOwn {
        let runner = ProgramRunner(
          name: name, program: program, stepLimit: stepLimit, patience: patience)
        defer { runner.end() }
        _ = runner.run(FixedSchedule(Schedule()))
        let outcome = runner.run(FixedSchedule(schedule), namesFunctions: true)
        if ProcessInfo.processInfo.environment["PROPERATIONS_SCHEDULE"] != nil {
          print(outcome.trace)
        }
        if let failure = outcome.failure { throw failure }
      }
    }

    /// The pool that runs tests must not be blocked.
    private func onThreadOfItsOwn<Output: Sendable>(
      _ body: @escaping @Sendable () throws -> Output
    ) async throws -> Output {
      try await withCheckedThrowingContinuation { continuation in
        Thread { continuation.resume(with: Result { try body() }) }.start()
      }
    }
  }

  /// What an exploration without a failure has tried.
  package struct Exploration: Sendable {
    /// How many schedules were run.
    package let schedules: Int
    /// Whether these were all schedules within the bound.
    package let isComplete: Bool
    /// The most decisions of one schedule.
    package let decisions: Int
  }

#endif
