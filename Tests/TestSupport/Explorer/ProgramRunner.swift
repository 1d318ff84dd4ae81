#if PROPERATIONS_EXPLORER

  import Foundation

  /// Runs a program many times, each time in another schedule.
  final class ProgramRunner {
    /// The result of one schedule.
    struct Outcome {
      let failure: ScheduleFailure?
      let decisions: [Decision]
      let trace: String
      fileprivate let touches: [Int: UInt8]

      /// Whether a decision concerned an object that several threads touched.
      func isShared(_ decision: Decision) -> Bool {
        [decision.object, decision.objectUnderLock ?? decision.object].contains {
          $0 == Execution.outside || touches[$0, default: 0].nonzeroBitCount > 1
        }
      }
    }

    private let name: String
    private let declare: @Sendable (ExploredProgram) -> Void
    private let stepLimit: Int
    private let patience: Duration
    private var workers: [WorkerThread] = []

    init(
      name: String, program: @escaping @Sendable (ExploredProgram) -> Void, stepLimit: Int,
      patience: Duration
    ) {
      self.patience = patience
      self.name = name
      declare = program
      self.stepLimit = stepLimit
      ExplorerHooks.install()
    }

    /// Adds the positions of the threads to a failure, by running its schedule again.
    func explain(_ failure: ScheduleFailure, foundAfter schedules: Int) -> ScheduleFailure {
      guard failure.kind != .stalled else { return failure.found(after: schedules) }
      let again = run(FixedSchedule(failure.schedule), namesFunctions: true).failure
      return (again?.kind == failure.kind ? again ?? failure : failure).found(after: schedules)
    }

    /// Runs the program once.
    ///
    /// - Parameter namesFunctions: Whether the trace names the functions that threads are
    ///   in.
    func run(_ strategy: some SchedulingStrategy, namesFunctions: Bool = false) -> Outcome {
      let program = ExploredProgram()
      ExploredProgram.$declared.withValue(program) { declare(program) }
      precondition((1...8).contains(program.threads.count), "a program has 1 to 8 threads")
      let execution = Execution(
        program, strategy: strategy, stepLimit: stepLimit, namesFunctions: namesFunctions)
      while workers.count < program.threads.count { workers.append(WorkerThread()) }
      for (thread, worker) in zip(program.threads, workers) { worker.run(thread) }
      execution.start()
      var kind = wait(for: execution)
      if kind != nil {
        // The threads of a failed execution stand still forever, and keep what they use.
        workers = []
        _ = Unmanaged.passRetained(execution)
        _ = Unmanaged.passRetained(program)
      } else {
        for worker in workers.prefix(program.threads.count) { worker.waitUntilIdle() }
        kind = program.finalChecks.first { (try? $0.holds()) != true }.map { .check($0.name) }
      }
      if kind == .stalled {
        return Outcome(failure: stall(execution), decisions: [], trace: "", touches: [:])
      }
      let trace = execution.trace.description
      let failure = kind.map {
        ScheduleFailure(kind: $0, program: name, schedule: execution.schedule, trace: trace)
      }
      return Outcome(
        failure: failure, decisions: execution.decisions, trace: trace,
        touches: execution.touches)
    }

    /// Ends the threads.
    func end() {
      for worker in workers { worker.end() }
      workers = []
    }

    private func wait(for execution: Execution) -> ScheduleFailure.Kind? {
      while true {
        let progress = execution.progress.load(ordering: .relaxed)
        if execution.over.wait(timeout: .now() + patience.seconds) == .success {
          return execution.failure
        }
        if execution.progress.load(ordering: .relaxed) == progress { return .stalled }
      }
    }

    /// The known part of a schedule whose running thread does not come back.
    ///
    /// The thread may still change it.
    private func stall(_ execution: Execution) -> ScheduleFailure {
      ScheduleFailure(
        kind: .stalled, program: name, schedule: execution.schedule,
        trace: execution.trace.description)
    }
  }

#endif
