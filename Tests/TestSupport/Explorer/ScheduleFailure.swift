#if PROPERATIONS_EXPLORER

  /// A schedule in which a program fails.
  package struct ScheduleFailure: Error, CustomStringConvertible {
    /// How a program fails.
    package enum Kind: Sendable, Equatable {
      /// Every thread that is not over is blocked.
      case deadlock
      /// No work is left, and a final check does not hold.
      case check(String)
      /// An invariant did not hold.
      case invariant(String)
      /// The schedule reached too many scheduling points.
      case stepLimit
      /// The running thread does not end, or blocks in a way that the explorer does not
      /// know.
      case stalled
      /// The program did not do the same as when the schedule was made.
      case notRepeatable
    }

    package let kind: Kind
    package let program: String
    package let schedule: Schedule
    /// The trace of the threads, one line for each change of the running thread.
    package let trace: String
    /// The number of schedules that were run, including this one.
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
