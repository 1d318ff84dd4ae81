/// The name of a prerequisite together with the type of its result.
///
/// A task that is used in several workflows, with different prerequisites, finds them by
/// key. With a typed key, a task of the wrong type is detected when the task is added,
/// not when it runs:
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
/// The type must be exactly the type of the result: a key of an optional, of a superclass
/// or of a protocol does not fit. A typed key and its plain name stand for the same
/// prerequisite.
public struct PrerequisiteKey<Output: Sendable>: Hashable, Sendable {
  /// The name.
  public let name: String

  /// Makes a key.
  ///
  /// - Parameter name: The name. A task has at most one prerequisite of that name.
  public init(_ name: String) { self.name = name }

  /// The key in the form that keyed prerequisites and required keys use.
  public var named: AnyHashable { AnyHashable(self) }
}

/// A key with a known type of result.
protocol TypedKey {
  var name: String { get }
  static var outputType: Any.Type { get }
}

extension PrerequisiteKey: TypedKey {
  static var outputType: Any.Type { Output.self }
}

extension AnyHashable {
  /// The plain name of a typed key, or the key itself.
  var plainKey: AnyHashable {
    if let typed = base as? any TypedKey { return AnyHashable(typed.name) }
    return self
  }

  /// The type of result that the key requires, if it is typed.
  var expectedOutput: Any.Type? { (base as? any TypedKey).map { type(of: $0).outputType } }
}
