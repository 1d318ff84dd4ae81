import NIOPosix

/// Something that the package promises, and how it is measured.
struct Budget {
  let what: String
  /// Whether a busy machine can tell as well as an idle one.
  var isStable = false
  let measure: () throws -> Row

  /// All of them, in the order of the table.
  ///
  /// The rows of a module are in a file `Budgets+Module.swift`: add those of
  /// another one here.
  static func all(on group: MultiThreadedEventLoopGroup) -> [Budget] {
    futures(on: group) + typedTasks() + workflows()
  }
}

extension Budget {
  /// Compares two sides: by turns, so that whatever else the machine does
  /// disturbs both, and by the medians, so that a single disturbance does not
  /// count.
  ///
  /// Both sides return nanoseconds for each.
  static func ratio(
    _ what: String, atMost budget: Double, against name: String, rounds: Int,
    isStable: Bool = false, ours: @escaping () throws -> Double,
    reference: @escaping () throws -> Double
  ) -> Budget {
    Budget(what: what, isStable: isStable) {
      // The first time pages are mapped and threads are made.
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

  /// Measures something that may not be more than a number.
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

/// The middle one; of an even number the lower of the middle two.
func median(_ values: [Double]) -> Double { values.sorted()[(values.count - 1) / 2] }
