/// An option of a program: its names, its effect and its help text.
package struct CommandOption<Options> {
  /// The short name, such as `-j`; `nil` if there is none.
  let short: Character?
  /// The long name with its dashes, such as `--jobs`; `nil` if there is none.
  let long: String?
  /// The placeholder for the option's value in help, such as `N`; `nil` for an option
  /// without a value.
  let value: String?
  let help: String
  /// Applies the option.
  ///
  /// The closure receives the name that the user typed, and the value: empty for an
  /// option without one.
  let apply: (inout Options, String, Argument) throws(UsageError) -> Void

  private init(
    _ names: [String], value: String?, help: String,
    _ apply: @escaping (inout Options, String, Argument) throws(UsageError) -> Void
  ) {
    short = names.first { !$0.hasPrefix("--") }?.last
    long = names.first { $0.hasPrefix("--") }
    self.value = value
    self.help = help
    self.apply = apply
  }

  /// Makes an option without a value.
  ///
  /// - Parameters:
  ///   - names: One short name, one long name, or both, with their dashes.
  ///   - help: What the option does, without line breaks.
  ///   - set: Changes the program's options.
  package static func flag(
    _ names: String..., help: String, _ set: @escaping (inout Options) -> Void
  ) -> Self {
    Self(names, value: nil, help: help) { options, _, _ throws(UsageError) in set(&options) }
  }

  /// Makes an option whose value is not empty.
  ///
  /// - Parameters:
  ///   - names: One short name, one long name, or both, with their dashes.
  ///   - value: The placeholder for the value in help.
  ///   - needs: What the message about a missing value asks for.
  ///   - help: What the option does, without line breaks.
  ///   - set: Changes the program's options.
  package static func argument(
    _ names: String..., value: String, needs: String, help: String,
    _ set: @escaping (inout Options, Argument) -> Void
  ) -> Self {
    Self(names, value: value, help: help) { options, name, argument throws(UsageError) in
      guard !argument.bytes.isEmpty else { throw UsageError("\(name) needs \(needs)") }
      set(&options, argument)
    }
  }

  /// Makes an option whose value is text that is not empty.
  package static func text(
    _ names: String..., value: String, needs: String, help: String,
    _ set: @escaping (inout Options, String) -> Void
  ) -> Self {
    converted(names, value: value, needs: needs, help: help, { $0.isEmpty ? nil : $0 }, set)
  }

  /// Makes an option whose value is a whole number.
  package static func number<Number: FixedWidthInteger>(
    _ names: String..., value: String, in range: ClosedRange<Number>, help: String,
    _ set: @escaping (inout Options, Number) -> Void
  ) -> Self {
    let needs =
      range == 0...Number.max
      ? "a whole number that is not negative"
      : "a number from \(range.lowerBound) to \(range.upperBound)"
    return converted(
      names, value: value, needs: needs, help: help,
      { Number($0).flatMap { range.contains($0) ? $0 : nil } }, set)
  }

  /// Makes an option whose value is a number that need not be whole.
  ///
  /// - Parameters:
  ///   - lower: The lower bound, as the message about a wrong value shows it.
  ///   - upper: The upper bound, as the message about a wrong value shows it.
  package static func decimal(
    _ names: String..., value: String, from lower: String, to upper: String, of unit: String = "",
    help: String, _ set: @escaping (inout Options, Double) -> Void
  ) -> Self {
    let range = (Double(lower) ?? 0)...(Double(upper) ?? .infinity)
    return converted(
      names, value: value, needs: "a number\(unit) from \(lower) to \(upper)", help: help,
      { Double($0).flatMap { range.contains($0) ? $0 : nil } }, set)
  }

  /// Makes an option whose value is converted from text.
  ///
  /// - Parameters:
  ///   - needs: What the option needs, for the message about a text that cannot be converted.
  ///   - convert: Returns `nil` for such a text.
  package static func converted<Value>(
    _ names: [String], value: String, needs: String, help: String,
    _ convert: @escaping (String) -> Value?, _ set: @escaping (inout Options, Value) -> Void
  ) -> Self {
    Self(names, value: value, help: help) { options, name, argument throws(UsageError) in
      guard let converted = argument.text.flatMap(convert) else {
        throw UsageError("\(name) needs \(needs)")
      }
      set(&options, converted)
    }
  }
}
