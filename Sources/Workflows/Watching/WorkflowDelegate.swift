/// Observes the runs of a workflow and the transitions of its tasks.
///
/// Every method has an empty default implementation. The calls come in the order of the
/// transitions, one at a time, and never while the library holds a lock. All operations
/// may be called from inside a method.
///
/// A method may be slow, and may wait for the task that it is called for: threads that
/// run tasks do not call it. It must not wait for the outcome of the run, which comes
/// after all calls. It must not wait for another run of a task with hooks either, because
/// hooks are called after all earlier news. See ``Workflow`` for the threads that do call
/// delegates, and ``Workflow/setDelegate(_:on:)`` to have them called in a context.
public protocol WorkflowDelegate: AnyObject, Sendable {
  /// Called when the last task has finished or was skipped.
  ///
  /// If the last task was skipped when it was added, or was restored from a journal, the
  /// call comes with the next run. For an empty workflow, it comes with every start. A run
  /// of a workflow that has finished and was not reset does not repeat the call; only its
  /// end is reported.
  ///
  /// - Parameter workflow: The workflow.
  func workflowDidFinish(_ workflow: Workflow)

  /// Called when a run has ended, with any outcome: no task executes or can start.
  ///
  /// Called once for each run, after all other calls for the run and before its future
  /// settles; see ``WorkflowEvent/runDidEnd(_:)``.
  ///
  /// - Parameters:
  ///   - workflow: The workflow.
  ///   - outcome: How the run ended.
  func workflow(_ workflow: Workflow, didEndRunWith outcome: WorkflowOutcome)

  /// Called when a task has failed.
  ///
  /// - Parameters:
  ///   - workflow: The workflow.
  ///   - task: The task.
  ///   - error: Its error.
  func workflow(_ workflow: Workflow, task: AnyWorkflowTask, didFailWith error: any Error)

  /// Called when a task was cancelled.
  ///
  /// - Parameters:
  ///   - workflow: The workflow.
  ///   - task: The task.
  func workflow(_ workflow: Workflow, taskDidCancel task: AnyWorkflowTask)

  /// Called when a task was skipped.
  ///
  /// - Parameters:
  ///   - workflow: The workflow.
  ///   - task: The task.
  func workflow(_ workflow: Workflow, taskDidSkip task: AnyWorkflowTask)

  /// Called when a task has begun to execute.
  ///
  /// - Parameters:
  ///   - workflow: The workflow.
  ///   - task: The task.
  func workflow(_ workflow: Workflow, taskDidStart task: AnyWorkflowTask)

  /// Called when a task has finished.
  ///
  /// - Parameters:
  ///   - workflow: The workflow.
  ///   - task: The task.
  func workflow(_ workflow: Workflow, taskDidFinish task: AnyWorkflowTask)
}

extension WorkflowDelegate {
  /// Does nothing.
  public func workflowDidFinish(_ workflow: Workflow) {}
  /// Does nothing.
  public func workflow(_ workflow: Workflow, didEndRunWith outcome: WorkflowOutcome) {}
  /// Does nothing.
  public func workflow(
    _ workflow: Workflow, task: AnyWorkflowTask, didFailWith error: any Error
  ) {}
  /// Does nothing.
  public func workflow(_ workflow: Workflow, taskDidCancel task: AnyWorkflowTask) {}
  /// Does nothing.
  public func workflow(_ workflow: Workflow, taskDidSkip task: AnyWorkflowTask) {}
  /// Does nothing.
  public func workflow(_ workflow: Workflow, taskDidStart task: AnyWorkflowTask) {}
  /// Does nothing.
  public func workflow(_ workflow: Workflow, taskDidFinish task: AnyWorkflowTask) {}
}
