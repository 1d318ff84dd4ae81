/// Decides which attempts fail, and when: always the same ones for the same seed.
struct Chance: Sendable {
  let seed: UInt64
  /// Replaces every task's own probability of failure.
  var probability: Double?

  /// Returns the part of its work, from 0 to 1, at which an attempt fails; `nil` if it
  /// succeeds.
  ///
  /// The result does not depend on other tasks or on timing.
  func failure(of name: String, attempt: Int, probability: Double) -> Double? {
    var generator = SplitMix(state: UInt64(attempt))
    for byte in name.utf8 { generator.stir(UInt64(byte)) }
    generator.stir(seed)
    let draw = generator.nextFraction()
    let part = generator.nextFraction()
    return draw < self.probability ?? probability ? part : nil
  }
}

/// The SplitMix64 generator.
private struct SplitMix {
  var state: UInt64

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var z = state
    z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
    return z ^ (z >> 31)
  }

  mutating func stir(_ value: UInt64) { state = next() ^ value }

  mutating func nextFraction() -> Double { Double(next() >> 11) * 0x1p-53 }
}
