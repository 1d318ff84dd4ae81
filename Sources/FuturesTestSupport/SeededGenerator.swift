/// A generator of repeatable random numbers.
///
/// The same seed gives the same numbers on every machine. The algorithm is SplitMix64 by
/// Steele, Lea and Flood. The numbers are no secret: use them for tests only.
public struct SeededGenerator: RandomNumberGenerator, Sendable {
  /// The start of the sequence.
  public let seed: UInt64
  private var state: UInt64

  /// Makes a generator.
  ///
  /// - Parameter seed: The start of the sequence; any number.
  public init(seed: UInt64) {
    self.seed = seed
    state = seed
  }

  /// Returns the next number.
  public mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var z = state
    z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
    return z ^ (z >> 31)
  }
}
