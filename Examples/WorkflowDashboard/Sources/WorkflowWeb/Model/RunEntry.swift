/// The run of a workflow as the page shows it.
public struct RunEntry: Codable, Sendable, Equatable {
  /// How the workflow stands.
  public enum Phase: String, Codable, Sendable {
    /// It has not been started since it was made or reset.
    case idle
    /// Tasks execute, or are about to.
    case running
    /// The last run has ended so.
    case finished, failed, cancelled, stuck
    /// It was read from a file and cannot run.
    case recorded
  }

  /// How the workflow stands.
  public var phase: Phase
  /// Whether no task may begin.
  public var isPaused: Bool
  /// How the last run ended, as a sentence.
  public var outcome: String?
  /// What can be done with the run.
  public var actions: [RunAction]
  /// The tasks of the critical path, first to last, once a run has ended.
  ///
  /// The path goes through workflows inside tasks: a task on it that has a workflow inside is
  /// followed by the critical path of that workflow, whose identifiers begin with the task's.
  public var criticalPath: [String]
  /// The version in which this entry has last changed.
  public var version: Int
}

/// What a button does to the run of a workflow.
public enum RunAction: String, Codable, Sendable, CaseIterable {
  /// Starts the ready tasks, and further tasks as they become ready.
  case start
  /// Lets no further task begin.
  case pause
  /// Lets tasks begin again.
  case resume
  /// Cancels all tasks that have not ended.
  case cancel
  /// Runs failed and cancelled tasks again.
  case retry
  /// Clears all results and errors.
  case reset
}
