/// A value chosen by one of several options that exclude each other.
package struct Choice<Value: Sendable>: Sendable {
  package private(set) var value: Value
  /// The names of the options that have chosen a value, each once, in order.
  private var names: [String] = []

  /// Makes a choice with a default value, which no option has chosen.
  package init(_ value: Value) { self.value = value }

  /// Chooses a value because the option `name` was given.
  package mutating func choose(_ value: Value, by name: String) {
    self.value = value
    if !names.contains(name) { names.append(name) }
  }

  /// Throws if more than one of the options was given.
  package func check() throws(UsageError) {
    if names.count > 1 { throw UsageError("\(names[0]) and \(names[1]) exclude each other") }
  }
}
