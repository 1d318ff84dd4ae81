import Foundation
import Futures

// Names of Task.framework that have others here. They do what they did there; results have
// types.

/// The name in Task.framework of ``Workflow``.
@available(*, deprecated, renamed: "Workflow")
public typealias TSKWorkflow = Workflow

/// The name in Task.framework of ``WorkflowTask``, whose result has a type.
@available(*, deprecated, renamed: "WorkflowTask")
public typealias TSKTask<Output: Sendable> = WorkflowTask<Output>

/// The name in Task.framework of ``BlockWorkflowTask``, whose result has a type.
@available(*, deprecated, renamed: "BlockWorkflowTask")
public typealias TSKBlockTask<Output: Sendable> = BlockWorkflowTask<Output>

/// The name in Task.framework of ``ExternalConditionTask``, whose result has a type.
@available(*, deprecated, renamed: "ExternalConditionTask")
public typealias TSKExternalConditionTask<Output: Sendable> = ExternalConditionTask<Output>

/// The name in Task.framework of ``SubworkflowTask``, whose result has a type.
@available(*, deprecated, renamed: "SubworkflowTask")
public typealias TSKSubworkflowTask<Output: Sendable> = SubworkflowTask<Output>

/// The name in Task.framework of ``WorkflowTaskState``.
@available(*, deprecated, renamed: "WorkflowTaskState")
public typealias TSKTaskState = WorkflowTaskState

/// The name in Task.framework of ``WorkflowTaskDelegate``.
@available(*, deprecated, renamed: "WorkflowTaskDelegate")
public typealias TSKTaskDelegate = WorkflowTaskDelegate

/// The name in Task.framework of ``WorkflowDelegate``.
@available(*, deprecated, renamed: "WorkflowDelegate")
public typealias TSKWorkflowDelegate = WorkflowDelegate

/// The name in Task.framework of ``Workflow/taskKey``.
@available(*, deprecated, renamed: "Workflow.taskKey")
public var TSKWorkflowTaskKey: String { Workflow.taskKey }

extension Workflow {
  /// Adds a task that waits for others: `add(_:prerequisites:)` with the label of
  /// Task.framework's documentation.
  ///
  /// - Parameters:
  ///   - task: A task that is in no workflow.
  ///   - prerequisiteTasks: Tasks of this workflow that have to finish before; `nil` for
  ///     none.
  /// - Returns: The task.
  /// - Throws: A ``WorkflowError``; then the workflow is unchanged.
  @available(*, deprecated, renamed: "add(_:prerequisites:)")
  @discardableResult
  public func add<Task: AnyWorkflowTask>(
    _ task: Task, prerequisiteTasks: [AnyWorkflowTask]?
  ) throws -> Task {
    try add(task, prerequisites: prerequisiteTasks ?? [])
  }

  /// Adds a task that knows its prerequisites by key:
  /// `add(_:prerequisites:keyedPrerequisites:)` with the labels of Task.framework's
  /// documentation.
  ///
  /// - Parameters:
  ///   - task: A task that is in no workflow.
  ///   - prerequisiteTasks: Tasks of this workflow that have to finish before; `nil`, the
  ///     default, for none.
  ///   - keyedPrerequisiteTasks: More of them, by key; `nil` for none.
  /// - Returns: The task.
  /// - Throws: A ``WorkflowError``; then the workflow is unchanged.
  @available(*, deprecated, renamed: "add(_:prerequisites:keyedPrerequisites:)")
  @discardableResult
  public func add<Task: AnyWorkflowTask>(
    _ task: Task, prerequisiteTasks: [AnyWorkflowTask]? = nil,
    keyedPrerequisiteTasks: [AnyHashable: AnyWorkflowTask]?
  ) throws -> Task {
    try add(
      task, prerequisites: prerequisiteTasks ?? [],
      keyedPrerequisites: keyedPrerequisiteTasks ?? [:])
  }
}

extension Notification.Name {
  /// The name in Task.framework of ``taskDidStart``.
  @available(*, deprecated, renamed: "taskDidStart")
  public static var TSKTaskDidStart: Notification.Name { taskDidStart }

  /// The name in Task.framework of ``taskDidFinish``.
  @available(*, deprecated, renamed: "taskDidFinish")
  public static var TSKTaskDidFinish: Notification.Name { taskDidFinish }

  /// The name in Task.framework of ``taskDidFail``.
  @available(*, deprecated, renamed: "taskDidFail")
  public static var TSKTaskDidFail: Notification.Name { taskDidFail }

  /// The name in Task.framework of ``taskDidCancel``.
  @available(*, deprecated, renamed: "taskDidCancel")
  public static var TSKTaskDidCancel: Notification.Name { taskDidCancel }

  /// The name in Task.framework of ``taskDidReset``.
  @available(*, deprecated, renamed: "taskDidReset")
  public static var TSKTaskDidReset: Notification.Name { taskDidReset }

  /// The name in Task.framework of ``taskDidRetry``.
  @available(*, deprecated, renamed: "taskDidRetry")
  public static var TSKTaskDidRetry: Notification.Name { taskDidRetry }

  /// The name in Task.framework of ``workflowWillStart``.
  @available(*, deprecated, renamed: "workflowWillStart")
  public static var TSKWorkflowWillStart: Notification.Name { workflowWillStart }

  /// The name in Task.framework of ``workflowWillCancel``.
  @available(*, deprecated, renamed: "workflowWillCancel")
  public static var TSKWorkflowWillCancel: Notification.Name { workflowWillCancel }

  /// The name in Task.framework of ``workflowWillReset``.
  @available(*, deprecated, renamed: "workflowWillReset")
  public static var TSKWorkflowWillReset: Notification.Name { workflowWillReset }

  /// The name in Task.framework of ``workflowWillRetry``.
  @available(*, deprecated, renamed: "workflowWillRetry")
  public static var TSKWorkflowWillRetry: Notification.Name { workflowWillRetry }

  /// The name in Task.framework of ``workflowDidFinish``.
  @available(*, deprecated, renamed: "workflowDidFinish")
  public static var TSKWorkflowDidFinish: Notification.Name { workflowDidFinish }

  /// The name in Task.framework of ``workflowTaskDidFail``.
  @available(*, deprecated, renamed: "workflowTaskDidFail")
  public static var TSKWorkflowTaskDidFail: Notification.Name { workflowTaskDidFail }

  /// The name in Task.framework of ``workflowTaskDidCancel``.
  @available(*, deprecated, renamed: "workflowTaskDidCancel")
  public static var TSKWorkflowTaskDidCancel: Notification.Name { workflowTaskDidCancel }
}
