/// One piece of news for observers, noted under the lock and delivered after it, in
/// order.
enum Delivery: Sendable {
  /// With the hook, if the task's worker calls it while another thread delivers news.
  case started(AnyWorkflowTask, StartHook?)
  /// With the result, in a box that the task can open.
  case finished(AnyWorkflowTask, ResultObject)
  case failed(AnyWorkflowTask, any Error)
  case cancelled(AnyWorkflowTask)
  case skipped(AnyWorkflowTask)
  case reset(AnyWorkflowTask)
  /// An attempt failed, and another one follows.
  case attemptFailed(AnyWorkflowTask, TaskAttempt)
  case retried(AnyWorkflowTask)
  case workflowFinished
  /// The task around the workflow is about to start, cancel, reset or retry it.
  case announced(WorkflowEvent, WorkflowNotification)
}

extension Delivery {
  /// The task that the news is about, if there is one.
  var task: AnyWorkflowTask? {
    switch self {
    case .started(let task, _), .finished(let task, _), .failed(let task, _),
      .cancelled(let task), .skipped(let task), .reset(let task), .attemptFailed(let task, _),
      .retried(let task):
      task
    case .workflowFinished, .announced: nil
    }
  }

  /// Whether the task has hooks.
  var isForHook: Bool { task?.hasHooks ?? false }
  /// Whether this is a start whose hook the worker calls.
  var hasStartHook: Bool {
    if case .started(_, _?) = self { true } else { false }
  }
  /// Whether the task has a delegate of its own.
  var isForDelegate: Bool { task?.delegateCaller?.delegate != nil }
}

/// A box with a result of any type.
typealias ResultObject = any AnyObject & Sendable

/// Carries a result to the observers.
final class ResultBox<Output: Sendable>: Sendable {
  let result: Output
  init(_ result: Output) { self.result = result }
}
