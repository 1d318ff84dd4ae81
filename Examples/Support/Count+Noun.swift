extension BinaryInteger {
  /// The number with a noun: `1 file`, `2 files`, `0 bytes`.
  ///
  /// - Parameters:
  ///   - noun: The noun in the singular.
  ///   - plural: The plural, if it is not the noun with an `s`.
  package func of(_ noun: String, plural: String? = nil) -> String {
    self == 1 ? "1 \(noun)" : "\(self) \(plural ?? noun + "s")"
  }
}
