/// The result of resuming a workflow from its journal.
///
/// Tasks are named by the identifiers that `journaled(as:version:)` gave them. Each list
/// is in alphabetical order.
public struct WorkflowResumption: Sendable, Hashable {
  /// A recorded task that has changed since.
  public struct Change: Sendable, Hashable {
    /// The kind of a change.
    public enum Kind: Sendable, Hashable {
      /// The recorded version and the present version differ.
      case version(recorded: Int, now: Int)
      /// The task depends on other recorded tasks than before.
      case prerequisites
      /// The recorded result cannot be decoded as the present type; with the reason.
      case result(String)
    }
    /// The task.
    public let identifier: String
    /// The kind of the change.
    public let kind: Kind
  }

  /// The tasks that are finished, with their recorded results.
  public internal(set) var restored: [String] = []
  /// The recorded tasks that run again because their part of the file is damaged or
  /// missing.
  public internal(set) var damaged: [String] = []
  /// The recorded tasks that run again because they depend on a task that does.
  public internal(set) var forgotten: [String] = []
  /// The recorded tasks that are not in the workflow.
  public internal(set) var unknown: [String] = []
  /// The recorded tasks that have changed.
  public internal(set) var changed: [Change] = []
  /// How many lines of the file were damaged, not counting its end.
  public internal(set) var damagedLineCount = 0
  /// Whether the end of the file was cut or damaged.
  ///
  /// A process that is killed while it writes leaves such an end behind. The tasks whose
  /// results were being written had not finished, so no result is lost.
  public internal(set) var isTorn = false

  /// Whether the journal names a task that is unknown or has changed.
  public var hasMismatch: Bool { !unknown.isEmpty || !changed.isEmpty }
}

extension WorkflowResumption.Change: CustomStringConvertible {
  /// The task and the change.
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
