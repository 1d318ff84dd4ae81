/// A value that one of several options chooses, which exclude each other.
package struct Choice<Value: Sendable>: Sendable {
  package private(set) var value: Value
  /// The options that have chosen, each once, in order.
  private var names: [String] = []

  /// Makes a choice that no option has made yet.
  package init(_ value: Value) { self.value = value }

  /// Chooses a value, because an option was given.
  package mutating func choose(_ value: Value, by name: String) {
    self.value = value
    if !names.contains(name) { names.append(name) }
  }

  /// Complains if more than one of the options was given.
  package func check() throws(UsageError) {
    if names.count > 1 { throw UsageError("\(names[0]) and \(names[1]) exclude each other") }
  }
}
