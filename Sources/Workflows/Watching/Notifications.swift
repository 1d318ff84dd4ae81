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
  public static var taskDidStart: Notification.Name { used(.taskDidStart) }
  /// A task has finished; the object is the task.
  public static var taskDidFinish: Notification.Name { used(.taskDidFinish) }
  /// A task has failed; the object is the task.
  public static var taskDidFail: Notification.Name { used(.taskDidFail) }
  /// A task was cancelled; the object is the task.
  public static var taskDidCancel: Notification.Name { used(.taskDidCancel) }
  /// A task was skipped; the object is the task.
  public static var taskDidSkip: Notification.Name { used(.taskDidSkip) }
  /// A task was reset; the object is the task.
  public static var taskDidReset: Notification.Name { used(.taskDidReset) }
  /// A task is retried; the object is the task.
  public static var taskDidRetry: Notification.Name { used(.taskDidRetry) }
  /// A workflow is about to start its tasks; the object is the workflow.
  public static var workflowWillStart: Notification.Name { used(.workflowWillStart) }
  /// A workflow is about to cancel its tasks; the object is the workflow.
  public static var workflowWillCancel: Notification.Name { used(.workflowWillCancel) }
  /// A workflow is about to reset its tasks; the object is the workflow.
  public static var workflowWillReset: Notification.Name { used(.workflowWillReset) }
  /// A workflow is about to retry its tasks; the object is the workflow.
  public static var workflowWillRetry: Notification.Name { used(.workflowWillRetry) }
  /// The last task of a workflow has finished or was skipped; the object is the workflow.
  public static var workflowDidFinish: Notification.Name { used(.workflowDidFinish) }
  /// A task of a workflow has failed; the object is the workflow.
  ///
  /// The task is in the user info under ``Workflow/taskKey``.
  public static var workflowTaskDidFail: Notification.Name { used(.workflowTaskDidFail) }
  /// A task of a workflow was cancelled; the object is the workflow.
  ///
  /// The task is in the user info under ``Workflow/taskKey``.
  public static var workflowTaskDidCancel: Notification.Name { used(.workflowTaskDidCancel) }

  /// The name of a kind of notification, which counts as used from now on.
  private static func used(_ notification: WorkflowNotification) -> Notification.Name {
    WorkflowNotification.usedNames.bitwiseOr(1 << notification.rawValue, ordering: .relaxed)
    return notification.name
  }
}

/// A kind of notification.
enum WorkflowNotification: UInt16 {
  case taskDidStart, taskDidFinish, taskDidFail, taskDidCancel, taskDidReset, taskDidRetry
  case workflowWillStart, workflowWillCancel, workflowWillReset, workflowWillRetry
  case workflowDidFinish, workflowTaskDidFail, workflowTaskDidCancel, taskDidSkip

  fileprivate static let usedNames = Atomic<UInt16>(0)

  /// Whether the program has read any of the names.
  @inline(__always)
  static var isAnyUsed: Bool { usedNames.load(ordering: .relaxed) != 0 }

  var isUsed: Bool { Self.usedNames.load(ordering: .relaxed) & (1 << rawValue) != 0 }

  /// In the order of the cases.
  private static let names = [
    "WorkflowTaskDidStart", "WorkflowTaskDidFinish", "WorkflowTaskDidFail",
    "WorkflowTaskDidCancel", "WorkflowTaskDidReset", "WorkflowTaskDidRetry",
    "WorkflowWillStart", "WorkflowWillCancel", "WorkflowWillReset", "WorkflowWillRetry",
    "WorkflowDidFinish", "WorkflowOneTaskDidFail", "WorkflowOneTaskDidCancel",
    "WorkflowTaskDidSkip",
  ]

  var name: Notification.Name { Notification.Name(Self.names[Int(rawValue)]) }
}
