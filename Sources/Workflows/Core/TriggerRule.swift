/// When a task runs, as to how the tasks before it have ended.
///
/// A prerequisite *has ended* when it has finished, has failed, was cancelled or was
/// skipped, or when it waits in vain: one of its own prerequisites has failed or was
/// cancelled.
///
/// The rule of a task is given when it is added:
/// ``Workflow/add(_:prerequisites:when:)``, `add(_:after:when:on:body:)`.
public enum TriggerRule: UInt8, Sendable, Hashable, CaseIterable {
  /// When all prerequisites have finished: the default.
  ///
  /// The task waits in vain, and stays pending, if one of them fails or is cancelled. If
  /// none does and one is skipped, the task is skipped, too.
  case whenAllSucceed
  /// When all prerequisites have ended, in whatever way: to clean up.
  ///
  /// Cancelling the workflow or a prerequisite does not cancel the task, and neither does
  /// ``Workflow/failFast``: only its own ``AnyWorkflowTask/cancel()`` does.
  case whenAllDone
  /// When all prerequisites have ended and one of them has failed, or waits in vain
  /// because of a failure: to put things right, or to tell about it.
  ///
  /// If none has, the task is skipped. As with ``whenAllDone``, only its own
  /// ``AnyWorkflowTask/cancel()`` cancels it.
  case whenAnyFails
}

/// The error that skips a task.
///
/// Throw it from the work of a task, or fail a run with it, where a condition for doing
/// the work does not hold. The task is then ``WorkflowTaskState/skipped``, whatever its
/// ``AnyWorkflowTask/retryPolicy``. What follows the task says by its ``TriggerRule``
/// whether it is skipped, too.
///
/// ```swift
/// let report = try workflow.add("report") { try makeReport() }
/// try workflow.add("alert", after: report) { report in
///   guard report.hasErrors else { throw TaskSkipped() }
///   try sendAlert(about: report)
/// }
/// ```
///
/// It is also what the future of a skipped task fails with, and what tasks with other
/// rules get in place of its result.
public struct TaskSkipped: Error, Sendable, Hashable, CustomStringConvertible {
  /// Makes the error.
  public init() {}

  /// "skipped".
  public var description: String { "skipped" }
}
