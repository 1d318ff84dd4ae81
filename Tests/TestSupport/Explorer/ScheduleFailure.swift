#if PROPERATIONS_EXPLORER

  /// A schedule in which a program fails.
  package struct ScheduleFailure: Error, CustomStringConvertible {
    /// How a program fails.
    package enum Kind: Sendable, Equatable {
      /// Every thread that is not over is blocked.
      case deadlock
      /// Nothing is left to do, and a final check does not hold.
      case check(String)
      /// A check that always holds did not.
      case invariant(String)
      /// The threads went on for too long.
      case stepLimit
      /// The running thread blocks in a way that the explorer does not know, or
      /// does not end.
      case stalled
      /// The program did something else than when the schedule was made.
      case notRepeatable
    }

    package let kind: Kind
    package let program: String
    package let schedule: Schedule
    /// What the threads did, one line for each time that another one went on.
    package let trace: String
    /// How many schedules were run, with this one.
    package private(set) var schedulesRun = 1

    init(kind: Kind, program: String, schedule: Schedule, trace: String) {
      self.kind = kind
      self.program = program
      self.schedule = schedule
      self.trace = trace
    }

    func found(after schedules: Int) -> ScheduleFailure {
      var failure = self
      failure.schedulesRun = schedules
      return failure
    }

    package var description: String {
      """
      \(program): \(kind), in schedule \(schedulesRun)
      PROPERATIONS_SCHEDULE='\(program): \(schedule)'
      \(trace)
      """
    }
  }

#endif
