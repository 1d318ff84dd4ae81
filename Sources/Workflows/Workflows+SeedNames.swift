import Foundation
import Futures

// Names from Task.framework that have other names here. Each does what it did there, but
// results have types.

/// The old name of ``Workflow``, from Task.framework.
@available(*, deprecated, renamed: "Workflow")
public typealias TSKWorkflow = Workflow

/// The old name of ``WorkflowTask``, from Task.framework; its result has a type here.
@available(*, deprecated, renamed: "WorkflowTask")
public typealias TSKTask<Output: Sendable> = WorkflowTask<Output>

/// The old name of ``BlockWorkflowTask``, from Task.framework; its result has a type here.
@available(*, deprecated, renamed: "BlockWorkflowTask")
public typealias TSKBlockTask<Output: Sendable> = BlockWorkflowTask<Output>

/// The old name of ``ExternalConditionTask``, from Task.framework; its result has a type
/// here.
@available(*, deprecated, renamed: "ExternalConditionTask")
public typealias TSKExternalConditionTask<Output: Sendable> = ExternalConditionTask<Output>

/// The old name of ``SubworkflowTask``, from Task.framework; its result has a type here.
@available(*, deprecated, renamed: "SubworkflowTask")
public typealias TSKSubworkflowTask<Output: Sendable> = SubworkflowTask<Output>

/// The old name of ``WorkflowTaskState``, from Task.framework.
@available(*, deprecated, renamed: "WorkflowTaskState")
public typealias TSKTaskState = WorkflowTaskState

/// The old name of ``WorkflowTaskDelegate``, from Task.framework.
@available(*, deprecated, renamed: "WorkflowTaskDelegate")
public typealias TSKTaskDelegate = WorkflowTaskDelegate

/// The old name of ``WorkflowDelegate``, from Task.framework.
@available(*, deprecated, renamed: "WorkflowDelegate")
public typealias TSKWorkflowDelegate = WorkflowDelegate

/// The old name of ``Workflow/taskKey``, from Task.framework.
@available(*, deprecated, renamed: "Workflow.taskKey")
public var TSKWorkflowTaskKey: String { Workflow.taskKey }

extension Workflow {
  /// Adds a task that waits for other tasks; use `add(_:prerequisites:)`.
  ///
  /// - Parameters:
  ///   - task: A task that belongs to no workflow.
  ///   - prerequisiteTasks: The tasks of this workflow that have to finish first; `nil` for
  ///     none.
  /// - Returns: The task.
  /// - Throws: A ``WorkflowError``. In that case the workflow is unchanged.
  @available(*, deprecated, renamed: "add(_:prerequisites:)")
  @discardableResult
  public func add<Task: AnyWorkflowTask>(
    _ task: Task, prerequisiteTasks: [AnyWorkflowTask]?
  ) throws -> Task {
    try add(task, prerequisites: prerequisiteTasks ?? [])
  }

  /// Adds a task whose prerequisites are partly given by key; use
  /// `add(_:prerequisites:keyedPrerequisites:)`.
  ///
  /// - Parameters:
  ///   - task: A task that belongs to no workflow.
  ///   - prerequisiteTasks: The tasks of this workflow that have to finish first; `nil` for
  ///     none, the default.
  ///   - keyedPrerequisiteTasks: More prerequisites, by key; `nil` for none.
  /// - Returns: The task.
  /// - Throws: A ``WorkflowError``. In that case the workflow is unchanged.
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
  /// The old name of ``taskDidStart``, from Task.framework.
  @available(*, deprecated, renamed: "taskDidStart")
  public static var TSKTaskDidStart: Notification.Name { taskDidStart }

  /// The old name of ``taskDidFinish``, from Task.framework.
  @available(*, deprecated, renamed: "taskDidFinish")
  public static var TSKTaskDidFinish: Notification.Name { taskDidFinish }

  /// The old name of ``taskDidFail``, from Task.framework.
  @available(*, deprecated, renamed: "taskDidFail")
  public static var TSKTaskDidFail: Notification.Name { taskDidFail }

  /// The old name of ``taskDidCancel``, from Task.framework.
  @available(*, deprecated, renamed: "taskDidCancel")
  public static var TSKTaskDidCancel: Notification.Name { taskDidCancel }

  /// The old name of ``taskDidReset``, from Task.framework.
  @available(*, deprecated, renamed: "taskDidReset")
  public static var TSKTaskDidReset: Notification.Name { taskDidReset }

  /// The old name of ``taskDidRetry``, from Task.framework.
  @available(*, deprecated, renamed: "taskDidRetry")
  public static var TSKTaskDidRetry: Notification.Name { taskDidRetry }

  /// The old name of ``workflowWillStart``, from Task.framework.
  @available(*, deprecated, renamed: "workflowWillStart")
  public static var TSKWorkflowWillStart: Notification.Name { workflowWillStart }

  /// The old name of ``workflowWillCancel``, from Task.framework.
  @available(*, deprecated, renamed: "workflowWillCancel")
  public static var TSKWorkflowWillCancel: Notification.Name { workflowWillCancel }

  /// The old name of ``workflowWillReset``, from Task.framework.
  @available(*, deprecated, renamed: "workflowWillReset")
  public static var TSKWorkflowWillReset: Notification.Name { workflowWillReset }

  /// The old name of ``workflowWillRetry``, from Task.framework.
  @available(*, deprecated, renamed: "workflowWillRetry")
  public static var TSKWorkflowWillRetry: Notification.Name { workflowWillRetry }

  /// The old name of ``workflowDidFinish``, from Task.framework.
  @available(*, deprecated, renamed: "workflowDidFinish")
  public static var TSKWorkflowDidFinish: Notification.Name { workflowDidFinish }

  /// The old name of ``workflowTaskDidFail``, from Task.framework.
  @available(*, deprecated, renamed: "workflowTaskDidFail")
  public static var TSKWorkflowTaskDidFail: Notification.Name { workflowTaskDidFail }

  /// The old name of ``workflowTaskDidCancel``, from Task.framework.
  @available(*, deprecated, renamed: "workflowTaskDidCancel")
  public static var TSKWorkflowTaskDidCancel: Notification.Name { workflowTaskDidCancel }
}
