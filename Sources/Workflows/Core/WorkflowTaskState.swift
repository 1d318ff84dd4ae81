/// Where a task stands.
///
/// A task is ready when it is made. Added to a workflow behind prerequisites
/// that have not finished, it is pending until they have. A ready task that
/// is started executes, and ends finished, failed, cancelled or skipped; from there
/// it can be retried or reset, and run again.
public enum WorkflowTaskState: UInt8, Sendable, Hashable, CaseIterable {
  /// Waits for its prerequisites to finish.
  case pending
  /// Could run, and does as soon as it is started and there is room.
  case ready
  /// Its work runs, or has been asked for.
  case executing
  /// Was cancelled; ``AnyWorkflowTask/retry()`` or
  /// ``AnyWorkflowTask/reset()`` revives it.
  case cancelled
  /// Has a result.
  case finished
  /// Has an error; ``AnyWorkflowTask/retry()`` runs it again.
  case failed
  /// Was not run, or has ended its run with ``TaskSkipped``, because a condition did not
  /// hold; ``AnyWorkflowTask/reset()`` revives it.
  ///
  /// Counts as finished where a workflow or its progress does, but has no result.
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
