/// What a workflow has found in its journal.
///
/// Tasks are named by the identifiers that `journaled(as:version:)` gave
/// them. Each list is in alphabetical order.
public struct WorkflowResumption: Sendable, Hashable {
  /// A recorded task that is not what it was.
  public struct Change: Sendable, Hashable {
    /// What is different about it.
    public enum Kind: Sendable, Hashable {
      /// The version of the record, and the version that the task has now.
      case version(recorded: Int, now: Int)
      /// It depends on other recorded tasks than before.
      case prerequisites
      /// Its result cannot be decoded as the type that it has now; with the reason.
      case result(String)
    }
    /// The task.
    public let identifier: String
    /// What is different about it.
    public let kind: Kind
  }

  /// The tasks that are finished, with their recorded results.
  public internal(set) var restored: [String] = []
  /// The recorded tasks that run again because a part of the file is damaged or missing
  /// in which they were recorded.
  public internal(set) var damaged: [String] = []
  /// The recorded tasks that run again because they depend on one that does.
  public internal(set) var forgotten: [String] = []
  /// The recorded tasks that are not in the workflow.
  public internal(set) var unknown: [String] = []
  /// The recorded tasks that are not what they were.
  public internal(set) var changed: [Change] = []
  /// How many lines of the file were damaged, without its end.
  public internal(set) var damagedLineCount = 0
  /// Whether the end of the file was cut or damaged.
  ///
  /// A process that is killed while it writes leaves such an end behind. The tasks whose
  /// results were being written have not finished, so nothing is lost.
  public internal(set) var isTorn = false

  /// Whether a record names a task that is unknown or has changed.
  public var hasMismatch: Bool { !unknown.isEmpty || !changed.isEmpty }
}

extension WorkflowResumption.Change: CustomStringConvertible {
  /// The task and what is different about it.
  public var description: String {
    let name = TaskNames.quoted(identifier)
    switch kind {
    case .version(let recorded, let now):
      return "\(name) (version \(recorded) is recorded, and it is version \(now))"
    case .prerequisites: return "\(name) (it depends on other recorded tasks than before)"
    case .result(let reason): return "\(name) (its result cannot be decoded: \(reason))"
    }
  }
}
