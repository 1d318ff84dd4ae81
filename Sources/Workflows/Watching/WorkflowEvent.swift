/// An event in a workflow; see ``Workflow/events``.
///
/// A stream has the events in the order in which they happened. An event that is about to
/// happen is announced before the call that causes it changes anything. If earlier events
/// have not been delivered yet, for instance because a delegate makes that call, the
/// announcement comes after them, and the change may have happened by then. The change has
/// also happened if a call for the workflow around this one causes it. Notifications
/// come in the same order.
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
  ///
  /// If the last task was skipped when it was added, or was restored from a journal, the
  /// event comes with the next run.
  case workflowDidFinish
  /// A run of the workflow has ended, with any outcome: no task executes or can start.
  ///
  /// It comes once for each run, after all other events of the run, including
  /// ``workflowDidFinish``. Only tasks inside a subworkflow task that has failed or was cancelled
  /// may go on, and tell so later. A run begins with ``Workflow/start(fileID:line:)``,
  /// ``Workflow/run()`` or ``Workflow/retry(fileID:line:)``, unless the workflow is already
  /// running. Tasks that are started individually make no run.
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
  /// An attempt of the task has failed, and another one follows.
  ///
  /// The next event of the task is ``taskDidRetry(_:)``.
  case taskAttemptDidFail(AnyWorkflowTask, TaskAttempt)
  /// The task is retried after a failure or a cancellation.
  case taskDidRetry(AnyWorkflowTask)
}
