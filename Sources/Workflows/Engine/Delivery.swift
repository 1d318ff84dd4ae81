/// Something to tell the world, noted under the lock and told after it, in
/// order.
enum Delivery {
  case started(AnyWorkflowTask)
  /// With the result, in a box that the task can open.
  case finished(AnyWorkflowTask, AnyObject)
  case failed(AnyWorkflowTask, any Error)
  case cancelled(AnyWorkflowTask)
  case skipped(AnyWorkflowTask)
  case reset(AnyWorkflowTask)
  /// And it is tried again.
  case attemptFailed(AnyWorkflowTask, TaskAttempt)
  case retried(AnyWorkflowTask)
  /// The workflow inside the task has, or what is inside that: only counters want
  /// to know.
  case progressed(AnyWorkflowTask)
  case workflowFinished
  /// The end of a run, for the futures of the task that wait for it.
  indirect case toWaiters([WorkflowCore.TaskWaiter], Delivery)
  /// The task around the workflow is about to start, cancel, reset or retry it.
  case announced(WorkflowEvent, WorkflowNotification)
}

extension Delivery {
  /// Whether it can bring the workflow closer to its end, or further away.
  var countsOutside: Bool {
    switch self {
    case .finished, .skipped, .reset, .progressed: true
    default: false
    }
  }
}

/// A result on its way to those who are told of it.
final class ResultBox<Output: Sendable>: Sendable {
  let result: Output
  init(_ result: Output) { self.result = result }
}
