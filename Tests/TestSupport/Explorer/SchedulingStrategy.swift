#if PROPERATIONS_EXPLORER

  /// A decision that was made.
  struct Decision {
    /// The threads that could continue, by bit.
    let options: UInt8
    /// The running thread, if it could continue.
    let current: Int?
    let chosen: Int
    /// The object that the running thread was about to touch.
    ///
    /// It may then touch one more object, under the lock that it took.
    let object: Int
    var objectUnderLock: Int?

    static func contains(_ options: UInt8, _ thread: Int) -> Bool { options & 1 << thread != 0 }

    /// The thread that continues if the schedule has no decision.
    static func byDefault(_ options: UInt8, current: Int?) -> Int {
      current ?? options.trailingZeroBitCount
    }
  }

  /// Decides which thread continues.
  protocol SchedulingStrategy {
    /// - Parameters:
    ///   - options: The threads that can continue, by bit; at least two.
    ///   - current: The running thread, if it can continue.
    ///   - decision: The number of the decision.
    /// - Returns: One of the options. Any other number ends the execution, because the
    ///   program does not do the same each time.
    mutating func choose(among options: UInt8, current: Int?, at decision: Int) -> Int
  }

  /// Follows a schedule.
  struct FixedSchedule: SchedulingStrategy {
    private let schedule: Schedule
    private var next = 0

    init(_ schedule: Schedule) { self.schedule = schedule }

    mutating func choose(among options: UInt8, current: Int?, at decision: Int) -> Int {
      let deviations = schedule.deviations
      if next < deviations.count, deviations[next].decision == decision {
        next += 1
        return deviations[next - 1].thread
      }
      return Decision.byDefault(options, current: current)
    }
  }

#endif
