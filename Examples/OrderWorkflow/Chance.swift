/// What goes wrong, and when: the same for the same seed.
struct Chance: Sendable {
  let seed: UInt64
  /// Takes the place of every task's own probability.
  var probability: Double?

  /// At which part of its work an attempt fails, from 0 to 1; `nil` if it goes
  /// well.
  ///
  /// It depends on nothing that happens at the same time.
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
