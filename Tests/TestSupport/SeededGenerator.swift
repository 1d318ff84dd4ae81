import Foundation

/// A generator of repeatable random numbers: SplitMix64.
package struct SeededGenerator: RandomNumberGenerator, Sendable {
  /// The start of the sequence.
  package let seed: UInt64
  private var state: UInt64

  package init(seed: UInt64) {
    self.seed = seed
    state = seed
  }

  /// Makes a generator for a test, and prints its seed.
  ///
  /// `PROPERATIONS_SEED` in the environment sets the seed.
  package init(for test: String = #function) {
    let given = ProcessInfo.processInfo.environment["PROPERATIONS_SEED"].flatMap { UInt64($0) }
    self.init(seed: given ?? UInt64.random(in: 0...UInt64(UInt32.max)))
    print("\(test): PROPERATIONS_SEED=\(seed)")
  }

  package mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var z = state
    z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
    return z ^ (z >> 31)
  }
}
