/// Where a task stands.
///
/// A task is ready when it is made. Added to a workflow behind prerequisites
/// that have not finished, it is pending until they have. A ready task that
/// is started executes, and ends finished, failed or cancelled; from there it
/// can be retried or reset, and run again.
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
}

extension WorkflowTaskState: CustomStringConvertible {
  /// The name of the state: "Pending", "Ready", "Executing", "Cancelled",
  /// "Finished" or "Failed".
  public var description: String {
    switch self {
    case .pending: "Pending"
    case .ready: "Ready"
    case .executing: "Executing"
    case .cancelled: "Cancelled"
    case .finished: "Finished"
    case .failed: "Failed"
    }
  }
}
