/// A task as the page shows it.
public struct TaskEntry: Codable, Sendable, Equatable {
  /// What kind of work a task does, as far as the page treats it differently.
  public enum Kind: String, Codable, Sendable {
    /// Any work.
    case work
    /// It waits until a value is given from outside.
    case condition
    /// Its work is a workflow, whose tasks have this one as their parent.
    case subworkflow
  }

  /// The state of a task from one time on.
  public struct Moment: Codable, Sendable, Equatable {
    /// The time, in seconds since 1970.
    public let at: Double
    /// The state from then on: the lower-case name of a `WorkflowTaskState`.
    public let state: String
    /// The error with which an attempt ended at this time, if it did.
    public var error: String?
  }

  /// The number of the task in its workflow, after the identifier of its parent: `4`, or
  /// `4.1` for the second task of the workflow inside the fifth task.
  public let id: String
  /// The identifier of the task around the task's workflow, if there is one.
  public let parent: String?
  /// The name, which may contain any characters.
  public var name: String
  /// What kind of work it does.
  public let kind: Kind
  /// The lower-case name of the task's state.
  public var state: String
  /// The completed fraction, from 0 to 1; `nil` if it is unknown.
  public var progress: Double?
  /// How many attempts have begun since the task was last reset.
  public var attempts: Int
  /// The error of a failed task.
  public var error: String?
  /// The result of a finished task, if the application describes results.
  public var result: String?
  /// The identifiers of the tasks that the task waits for.
  public let prerequisites: [String]
  /// The trigger rule, if it is not the default.
  public let rule: String?
  /// What can be done with the task in its state.
  public var actions: [TaskAction]
  /// The states that the task went through, oldest first; only the latest are kept.
  public var history: [Moment]
  /// The version in which the entry has last changed.
  public var version: Int
}

/// What a button does to a task.
public enum TaskAction: String, Codable, Sendable, CaseIterable {
  /// Runs a ready task.
  case start
  /// Cancels the task and its dependents.
  case cancel
  /// Runs a failed or cancelled task again.
  case retry
  /// Clears the task and its dependents.
  case reset
  /// Gives a value to a task that waits for one.
  case fulfill
}
