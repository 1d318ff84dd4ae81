/// The rule that decides, from the ends of its prerequisites, whether a task runs.
///
/// A prerequisite *has ended* when it has finished, has failed, was cancelled or was
/// skipped, or when it waits in vain: one of its own prerequisites has failed or was
/// cancelled.
///
/// A task gets its rule when it is added: ``Workflow/add(_:prerequisites:when:)``,
/// `add(_:after:when:on:body:)`.
public enum TriggerRule: UInt8, Sendable, Hashable, CaseIterable {
  /// The task runs when all prerequisites have finished: the default.
  ///
  /// If one fails or is cancelled, the task waits in vain and stays pending. If none does
  /// and one is skipped, the task is skipped, too.
  case whenAllSucceed
  /// The task runs when all prerequisites have ended, in any way: to clean up.
  ///
  /// Cancelling the workflow or a prerequisite does not cancel the task, and neither does
  /// ``Workflow/failFast``. Only these do: its own ``AnyWorkflowTask/cancel()``, its own work,
  /// the cancellation of the queue in which it waits, and ``Workflow/timeout`` between two of
  /// its attempts.
  case whenAllDone
  /// The task runs when all prerequisites have ended and one of them has failed: to
  /// repair or to report.
  ///
  /// A prerequisite that waits in vain because of a failure counts as failed. If none has
  /// failed, the task is skipped. The moment when all have ended decides: a prerequisite that
  /// then waits in vain for a cancelled task counts as cancelled, even if it later waits for a
  /// failed one, too. It is cancelled as with ``whenAllDone``.
  case whenAnyFails
}

/// The error that skips a task.
///
/// Throw it from the work of a task, or fail a run with it, if a condition for the work
/// does not hold. The task is then ``WorkflowTaskState/skipped``, whatever its
/// ``AnyWorkflowTask/retryPolicy``. The ``TriggerRule`` of each dependent decides whether
/// it is skipped, too.
///
/// ```swift
/// let report = try workflow.add("report") { try makeReport() }
/// try workflow.add("alert", after: report) { report in
///   guard report.hasErrors else { throw TaskSkipped() }
///   try sendAlert(about: report)
/// }
/// ```
///
/// The future of a skipped task also fails with this error, and tasks with other rules
/// receive it in place of the result.
public struct TaskSkipped: Error, Sendable, Hashable, CustomStringConvertible {
  /// Makes the error.
  public init() {}

  /// "skipped".
  public var description: String { "skipped" }
}
