/// Is told when a run of a workflow ends, and what happens to its tasks.
///
/// Every method has an empty default. The calls come in the order of the
/// transitions, never while the library holds a lock, on the thread that
/// caused a transition or on one that is telling others of transitions at that
/// moment. All operations may be called from inside. A method must not wait for
/// work of the same workflow, nor of one around, inside or beside it: the thread that it
/// blocks may be the one that does the work.
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
