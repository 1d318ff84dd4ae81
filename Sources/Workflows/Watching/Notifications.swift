import Foundation
import Futures

// Notifications, as Task.framework has them. Posting costs half a microsecond even
// without observers, as much as everything else about a task. The library therefore notes
// which of its names the program has read. If a workflow uses the default center because
// none was passed to it, only those notifications are posted. On a center that was
// passed, all are posted.
//
// An observer usually reads the name first. A program that makes a name from a string has
// to pass the center to its workflows.

extension Notification.Name {
  /// A task has begun to execute; the object is the task.
  public static var taskDidStart: Notification.Name { WorkflowNotification.taskDidStart.used }
  /// A task has finished; the object is the task.
  public static var taskDidFinish: Notification.Name { WorkflowNotification.taskDidFinish.used }
  /// A task has failed; the object is the task.
  public static var taskDidFail: Notification.Name { WorkflowNotification.taskDidFail.used }
  /// A task was cancelled; the object is the task.
  public static var taskDidCancel: Notification.Name { WorkflowNotification.taskDidCancel.used }
  /// A task was skipped; the object is the task.
  public static var taskDidSkip: Notification.Name { WorkflowNotification.taskDidSkip.used }
  /// A task was reset; the object is the task.
  public static var taskDidReset: Notification.Name { WorkflowNotification.taskDidReset.used }
  /// A task is retried; the object is the task.
  public static var taskDidRetry: Notification.Name { WorkflowNotification.taskDidRetry.used }
  /// A workflow is about to start its tasks; the object is the workflow.
  public static var workflowWillStart: Notification.Name {
    WorkflowNotification.workflowWillStart.used
  }
  /// A workflow is about to cancel its tasks; the object is the workflow.
  public static var workflowWillCancel: Notification.Name {
    WorkflowNotification.workflowWillCancel.used
  }
  /// A workflow is about to reset its tasks; the object is the workflow.
  public static var workflowWillReset: Notification.Name {
    WorkflowNotification.workflowWillReset.used
  }
  /// A workflow is about to retry its tasks; the object is the workflow.
  public static var workflowWillRetry: Notification.Name {
    WorkflowNotification.workflowWillRetry.used
  }
  /// The last task of a workflow has finished or was skipped; the object is the workflow.
  public static var workflowDidFinish: Notification.Name {
    WorkflowNotification.workflowDidFinish.used
  }
  /// A task of a workflow has failed; the object is the workflow.
  ///
  /// The task is in the user info under ``Workflow/taskKey``.
  public static var workflowTaskDidFail: Notification.Name {
    WorkflowNotification.workflowTaskDidFail.used
  }
  /// A task of a workflow was cancelled; the object is the workflow.
  ///
  /// The task is in the user info under ``Workflow/taskKey``.
  public static var workflowTaskDidCancel: Notification.Name {
    WorkflowNotification.workflowTaskDidCancel.used
  }
}

/// A kind of notification.
enum WorkflowNotification: UInt16 {
  case taskDidStart, taskDidFinish, taskDidFail, taskDidCancel, taskDidReset, taskDidRetry
  case workflowWillStart, workflowWillCancel, workflowWillReset, workflowWillRetry
  case workflowDidFinish, workflowTaskDidFail, workflowTaskDidCancel, taskDidSkip

  private static let usedNames = Atomic<UInt16>(0)

  /// Whether the program has read any of the names.
  @inline(__always)
  static var isAnyUsed: Bool { usedNames.load(ordering: .relaxed) != 0 }

  var isUsed: Bool { Self.usedNames.load(ordering: .relaxed) & (1 << rawValue) != 0 }

  /// The name, which counts as used from now on.
  var used: Notification.Name {
    Self.usedNames.bitwiseOr(1 << rawValue, ordering: .relaxed)
    return name
  }

  var name: Notification.Name {
    let text =
      switch self {
      case .taskDidStart: "WorkflowTaskDidStart"
      case .taskDidFinish: "WorkflowTaskDidFinish"
      case .taskDidFail: "WorkflowTaskDidFail"
      case .taskDidCancel: "WorkflowTaskDidCancel"
      case .taskDidSkip: "WorkflowTaskDidSkip"
      case .taskDidReset: "WorkflowTaskDidReset"
      case .taskDidRetry: "WorkflowTaskDidRetry"
      case .workflowWillStart: "WorkflowWillStart"
      case .workflowWillCancel: "WorkflowWillCancel"
      case .workflowWillReset: "WorkflowWillReset"
      case .workflowWillRetry: "WorkflowWillRetry"
      case .workflowDidFinish: "WorkflowDidFinish"
      case .workflowTaskDidFail: "WorkflowOneTaskDidFail"
      case .workflowTaskDidCancel: "WorkflowOneTaskDidCancel"
      }
    return Notification.Name(text)
  }
}
