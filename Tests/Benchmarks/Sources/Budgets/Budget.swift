import NIOPosix

/// A promise of the package, and its measurement.
struct Budget {
  let what: String
  /// Whether a busy machine gives the same result as an idle one.
  var isStable = false
  let measure: () throws -> Row

  /// All budgets, in the order of the table.
  ///
  /// The budgets of a module are in `Budgets+Module.swift`. Add those of a new module
  /// here.
  static func all(on group: MultiThreadedEventLoopGroup) -> [Budget] {
    futures(on: group) + typedTasks() + workflows()
  }
}

extension Budget {
  /// Measures up to three times, until the budget is met: for a check that must not fail
  /// because something else had the machine.
  func measureAgainIfMissed() throws -> Row {
    var row = try measure()
    for _ in 0..<2 where !row.isMet { row = try measure() }
    return row
  }

  /// Compares two sides by the medians of alternating measurements.
  ///
  /// Alternation exposes both sides to the same disturbances, and a median ignores single
  /// ones. Both sides return nanoseconds for each unit.
  static func ratio(
    _ what: String, atMost budget: Double, against name: String, rounds: Int,
    isStable: Bool = false, ours: @escaping () throws -> Double,
    reference: @escaping () throws -> Double
  ) -> Budget {
    Budget(what: what, isStable: isStable) {
      // The first run maps pages and makes threads.
      _ = try (reference(), ours())
      var mine: [Double] = []
      var others: [Double] = []
      for round in 0..<rounds {
        if round.isMultiple(of: 2) { mine.append(try ours()) }
        others.append(try reference())
        if !round.isMultiple(of: 2) { mine.append(try ours()) }
      }
      return Row(
        what: what, unit: "ns", ours: median(mine), reference: median(others), against: name,
        budget: budget)
    }
  }

  /// Measures a number that has an upper limit.
  static func limit(
    _ what: String, atMost budget: Double, unit: String, isStable: Bool = false,
    measure: @escaping () throws -> Double
  ) -> Budget {
    Budget(what: what, isStable: isStable) {
      Row(
        what: what, unit: unit, ours: try measure(), reference: nil, against: "",
        budget: budget)
    }
  }
}

/// Returns the median; for an even count, the lower of the two middle values.
func median(_ values: [Double]) -> Double { values.sorted()[(values.count - 1) / 2] }
