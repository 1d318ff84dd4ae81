/// The SplitMix64 generator: the same numbers for the same state, on every machine.
package struct SplitMix {
  private var state: UInt64

  package init(state: UInt64) { self.state = state }

  package mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var z = state
    z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
    return z ^ (z >> 31)
  }

  /// Returns a number from zero up to a bound, which it does not reach.
  package mutating func next(below bound: UInt64) -> Int { Int(next() % bound) }

  /// Returns a number from zero up to one, which it does not reach.
  package mutating func nextFraction() -> Double { Double(next() >> 11) * 0x1p-53 }

  /// Lets a value decide about all numbers from now on.
  package mutating func stir(_ value: UInt64) { state = next() ^ value }
}
