#if PROPERATIONS_EXPLORER

  /// A decision that was made.
  struct Decision {
    /// The threads that could go on, by bit.
    let options: UInt8
    /// The running thread, if it could go on.
    let current: Int?
    let chosen: Int
    /// What the running thread was about to touch, and what it then touched
    /// under the lock that it took: two at most.
    let object: Int
    var objectUnderLock: Int?

    static func contains(_ options: UInt8, _ thread: Int) -> Bool { options & 1 << thread != 0 }

    /// Which thread goes on where the schedule says nothing.
    static func byDefault(_ options: UInt8, current: Int?) -> Int {
      current ?? options.trailingZeroBitCount
    }
  }

  /// Decides which thread goes on.
  protocol SchedulingStrategy {
    /// - Parameters:
    ///   - options: The threads that can go on, by bit; two at least.
    ///   - current: The running thread, if it can go on.
    ///   - decision: The number of the decision.
    /// - Returns: One of the options; anything else ends the execution: the
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
