/// A name for a prerequisite that says what type of result it has.
///
/// A task that is used in several workflows, behind different tasks, asks for
/// what it needs by key. With a typed key a wrong task is found out when the
/// task is added, not when it runs:
///
/// ```swift
/// let reportKey = PrerequisiteKey<Report>("report")
/// let mail = BlockWorkflowTask<Void>(name: "mail") { task in
///   do {
///     send(try task.result(forKey: reportKey))
///     task.finish()
///   } catch {
///     task.fail(with: error)
///   }
/// }
/// try workflow.add(mail, keyedPrerequisites: [reportKey.named: render])
/// ```
///
/// The type is the very type of the result: a key of an optional, of a superclass
/// or of a protocol does not fit. A typed key and its plain name stand for the same
/// prerequisite.
public struct PrerequisiteKey<Output: Sendable>: Hashable, Sendable {
  /// The name.
  public let name: String

  /// Makes a key.
  ///
  /// - Parameter name: The name; one task has at most one prerequisite of it.
  public init(_ name: String) { self.name = name }

  /// The key as it appears among keyed prerequisites and required keys.
  public var named: AnyHashable { AnyHashable(self) }
}

/// A key whose type of result is known.
protocol TypedKey {
  var name: String { get }
  static var outputType: Any.Type { get }
}

extension PrerequisiteKey: TypedKey {
  static var outputType: Any.Type { Output.self }
}

extension AnyHashable {
  /// The plain name of a typed key; any other key unchanged.
  var plainKey: AnyHashable {
    if let typed = base as? any TypedKey { return AnyHashable(typed.name) }
    return self
  }

  /// What type of result the key asks for, if it says so.
  var expectedOutput: Any.Type? { (base as? any TypedKey).map { type(of: $0).outputType } }
}
