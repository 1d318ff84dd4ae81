/// Is told when a run of a workflow ends, and what happens to its tasks.
///
/// Every method has an empty default. The calls come in the order of the
/// transitions, one at a time, and never while the library holds a lock. All operations
/// may be called from inside.
///
/// A method may take its time, and may wait for the task that it is told of: threads that
/// run tasks do not call it. It must not wait for the outcome of the run, which comes
/// after all calls, nor for another run of a task with hooks, which are called after the
/// news before them. See ``Workflow`` for the threads that do call it, and
/// ``Workflow/setDelegate(_:on:)`` to be told in a context.
public protocol WorkflowDelegate: AnyObject, Sendable {
  /// The last task has finished.
  ///
  /// - Parameter workflow: The workflow.
  func workflowDidFinish(_ workflow: Workflow)

  /// A run of the workflow has ended, well or not: no task goes on by itself.
  ///
  /// Called once for each run, after everything else of the run and before its
  /// future is settled; see ``WorkflowEvent/runDidEnd(_:)``.
  ///
  /// - Parameters:
  ///   - workflow: The workflow.
  ///   - outcome: How the run ended.
  func workflow(_ workflow: Workflow, didEndRunWith outcome: WorkflowOutcome)

  /// A task has failed.
  ///
  /// - Parameters:
  ///   - workflow: The workflow.
  ///   - task: The task.
  ///   - error: Its error.
  func workflow(_ workflow: Workflow, task: AnyWorkflowTask, didFailWith error: any Error)

  /// A task was cancelled.
  ///
  /// - Parameters:
  ///   - workflow: The workflow.
  ///   - task: The task.
  func workflow(_ workflow: Workflow, taskDidCancel task: AnyWorkflowTask)

  /// A task was skipped.
  ///
  /// - Parameters:
  ///   - workflow: The workflow.
  ///   - task: The task.
  func workflow(_ workflow: Workflow, taskDidSkip task: AnyWorkflowTask)

  /// A task has begun to execute.
  ///
  /// - Parameters:
  ///   - workflow: The workflow.
  ///   - task: The task.
  func workflow(_ workflow: Workflow, taskDidStart task: AnyWorkflowTask)

  /// A task has finished.
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
