/// The state of a task.
///
/// A new task is ready. A task that is added to a workflow after unfinished prerequisites
/// is pending until they have finished. A ready task that is started executes, and ends
/// finished, failed, cancelled or skipped. It can then be retried or reset, and run
/// again.
public enum WorkflowTaskState: UInt8, Sendable, Hashable, CaseIterable {
  /// The task waits for its prerequisites to finish.
  case pending
  /// The task can run, and begins as soon as it is started and there is room.
  case ready
  /// The task's work runs, or has been asked for.
  case executing
  /// The task was cancelled.
  ///
  /// ``AnyWorkflowTask/retry()`` or ``AnyWorkflowTask/reset()`` revives it.
  case cancelled
  /// The task has a result.
  case finished
  /// The task has an error; ``AnyWorkflowTask/retry()`` runs it again.
  case failed
  /// The task was not run, or ended its run with ``TaskSkipped``, because a condition did
  /// not hold.
  ///
  /// ``AnyWorkflowTask/reset()`` revives it. It counts as finished for the workflow and
  /// its progress, but has no result.
  case skipped
}

extension WorkflowTaskState: CustomStringConvertible {
  /// The name of the state: "Pending", "Ready", "Executing", "Cancelled",
  /// "Finished", "Failed" or "Skipped".
  public var description: String {
    switch self {
    case .pending: "Pending"
    case .ready: "Ready"
    case .executing: "Executing"
    case .cancelled: "Cancelled"
    case .finished: "Finished"
    case .failed: "Failed"
    case .skipped: "Skipped"
    }
  }
}
