/// Something that happened in a workflow; see ``Workflow/events``.
public enum WorkflowEvent: Sendable, Hashable {
  /// The workflow is about to start its ready tasks.
  case workflowWillStart
  /// The workflow is about to cancel its tasks.
  case workflowWillCancel
  /// The workflow is about to reset its tasks.
  case workflowWillReset
  /// The workflow is about to retry its failed and cancelled tasks.
  case workflowWillRetry
  /// The last task has finished, or was skipped.
  case workflowDidFinish
  /// A run of the workflow has ended, well or not: no task goes on by itself.
  ///
  /// Comes once for each run, after everything else of the run, including
  /// ``workflowDidFinish``. A run begins with ``Workflow/start()``,
  /// ``Workflow/run()`` or ``Workflow/retry()``, unless one is going on; tasks that
  /// are started one by one make no run.
  case runDidEnd(WorkflowOutcome)
  /// The task has begun to execute.
  case taskDidStart(AnyWorkflowTask)
  /// The task has finished.
  case taskDidFinish(AnyWorkflowTask)
  /// The task has failed.
  case taskDidFail(AnyWorkflowTask)
  /// The task was cancelled.
  case taskDidCancel(AnyWorkflowTask)
  /// The task was skipped.
  case taskDidSkip(AnyWorkflowTask)
  /// The task was reset.
  case taskDidReset(AnyWorkflowTask)
  /// An attempt of the task has failed, and another follows; ``taskDidRetry(_:)``
  /// comes next.
  case taskAttemptDidFail(AnyWorkflowTask, TaskAttempt)
  /// The task is to run again after a failure or a cancellation.
  case taskDidRetry(AnyWorkflowTask)
}
