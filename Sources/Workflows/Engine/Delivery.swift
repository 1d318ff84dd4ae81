/// Something to tell the world, noted under the lock and told after it, in
/// order.
enum Delivery: Sendable {
  /// With its hook, if the task's worker calls it while another thread tells the news.
  case started(AnyWorkflowTask, StartHook?)
  /// With the result, in a box that the task can open.
  case finished(AnyWorkflowTask, ResultObject)
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

extension Delivery {
  /// The task that the news is of, if it is of one.
  private var task: AnyWorkflowTask? {
    switch self {
    case .started(let task, _), .finished(let task, _), .failed(let task, _),
      .cancelled(let task), .skipped(let task), .reset(let task), .attemptFailed(let task, _),
      .retried(let task), .progressed(let task):
      task
    case .workflowFinished, .announced: nil
    }
  }

  /// Whether a hook of the task is called.
  var isForHook: Bool { task?.hasHooks ?? false }
  /// Whether it is a start whose hook the worker calls.
  var hasStartHook: Bool {
    if case .started(_, _?) = self { true } else { false }
  }
  /// Whether the task has a delegate of its own.
  var isForDelegate: Bool { task?.delegateIfAny != nil }
}

/// A box of a result, of whatever type.
typealias ResultObject = any AnyObject & Sendable

/// A result on its way to those who are told of it.
final class ResultBox<Output: Sendable>: Sendable {
  let result: Output
  init(_ result: Output) { self.result = result }
}
