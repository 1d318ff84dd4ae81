extension BinaryInteger {
  /// The number with a noun: `1 file`, `2 files`, `0 bytes`.
  ///
  /// - Parameters:
  ///   - noun: What there is one of.
  ///   - plural: The plural, if it is more than the noun and an `s`.
  package func of(_ noun: String, plural: String? = nil) -> String {
    self == 1 ? "1 \(noun)" : "\(self) \(plural ?? noun + "s")"
  }
}
