/// Something to tell the world, noted under the lock and told after it, in
/// order.
enum Delivery {
  case started(AnyWorkflowTask)
  /// With the result, in a box that the task can open.
  case finished(AnyWorkflowTask, AnyObject)
  case failed(AnyWorkflowTask, any Error)
  /// With the time, as with the end of the workflow: an outer workflow has to
  /// know what came first.
  case cancelled(AnyWorkflowTask, UInt64)
  case reset(AnyWorkflowTask)
  /// And it is tried again.
  case attemptFailed(AnyWorkflowTask, TaskAttempt)
  case retried(AnyWorkflowTask)
  /// The workflow inside the task has, or what is inside that: only counters want
  /// to know.
  case progressed(AnyWorkflowTask)
  case workflowFinished(UInt64)
}

/// A result on its way to those who are told of it.
final class ResultBox<Output: Sendable>: Sendable {
  let result: Output
  init(_ result: Output) { self.result = result }
}
