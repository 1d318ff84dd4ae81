#if PROPERATIONS_EXPLORER

  import Foundation

  /// A list of decisions: which thread continues at which decision.
  ///
  /// A decision is a scheduling point at which more than one thread could continue.
  /// Decisions are numbered. By default, the running thread continues, or the first
  /// thread that can. `12>1 40>0` means: thread 1 continues at decision 12, and thread 0
  /// at decision 40.
  package struct Schedule: Sendable, Equatable, CustomStringConvertible {
    struct Deviation: Sendable, Equatable {
      let decision: Int
      let thread: Int
    }

    /// The deviations from the default, in the order of the decisions.
    private(set) var deviations: [Deviation] = []

    /// The schedule without a preemption.
    package init() {}

    /// Reads a schedule; `nil` if the text is not a schedule.
    package init?(_ text: String) {
      for part in text.split(whereSeparator: { $0 == " " || $0 == "," }) {
        let numbers = part.split(separator: ">").map { Int($0) }
        guard numbers.count == 2, let decision = numbers[0], let thread = numbers[1] else {
          return nil
        }
        deviations.append(Deviation(decision: decision, thread: thread))
      }
    }

    package var description: String {
      deviations.map { "\($0.decision)>\($0.thread)" }.joined(separator: " ")
    }

    mutating func append(_ thread: Int, at decision: Int) {
      deviations.append(Deviation(decision: decision, thread: thread))
    }

    func deviating(to thread: Int, at decision: Int) -> Schedule {
      var other = self
      other.append(thread, at: decision)
      return other
    }

    /// The schedule for a program in the environment variable `PROPERATIONS_SCHEDULE`.
    ///
    /// The value is the name of the program, a colon, and the schedule.
    static func givenByEnvironment(for program: String) -> Schedule? {
      guard let text = ProcessInfo.processInfo.environment["PROPERATIONS_SCHEDULE"],
        text.hasPrefix(program + ":")
      else { return nil }
      return Schedule(String(text.dropFirst(program.count + 1)))
    }
  }

#endif
