/// Observes the end of a task: finished, failed, cancelled or skipped.
///
/// Every method has an empty default implementation. The calls come in the order of the
/// task's transitions, one at a time, and never while the library holds a lock. All
/// operations may be called from inside a method. A method may be slow, and may wait for
/// other tasks of the workflow; see ``WorkflowDelegate``. It must not wait for the task that
/// runs the workflow: that one may end after the call.
public protocol WorkflowTaskDelegate: AnyObject, Sendable {
  /// Called when the task has finished.
  ///
  /// - Parameters:
  ///   - task: The task.
  ///   - result: Its result, of the task's own type.
  func task(_ task: AnyWorkflowTask, didFinishWith result: any Sendable)

  /// Called when the task has failed.
  ///
  /// - Parameters:
  ///   - task: The task.
  ///   - error: Its error.
  func task(_ task: AnyWorkflowTask, didFailWith error: any Error)

  /// Called when the task was cancelled.
  ///
  /// - Parameter task: The task.
  func taskDidCancel(_ task: AnyWorkflowTask)

  /// Called when the task was skipped.
  ///
  /// - Parameter task: The task.
  func taskDidSkip(_ task: AnyWorkflowTask)
}

extension WorkflowTaskDelegate {
  /// Does nothing.
  public func task(_ task: AnyWorkflowTask, didFinishWith result: any Sendable) {}
  /// Does nothing.
  public func task(_ task: AnyWorkflowTask, didFailWith error: any Error) {}
  /// Does nothing.
  public func taskDidCancel(_ task: AnyWorkflowTask) {}
  /// Does nothing.
  public func taskDidSkip(_ task: AnyWorkflowTask) {}
}
