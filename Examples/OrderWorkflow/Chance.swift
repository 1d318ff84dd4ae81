import ExampleSupport

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
