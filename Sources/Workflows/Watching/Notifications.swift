import Foundation
import Futures

// The seed's notifications. Posting costs half a microsecond even if nobody
// observes, as much as everything else about a task; so the library notes
// which of its names the program has ever asked for. On the default center
// only those are posted, unless the center was given to the workflow; on a center
// that was given, all of them.
//
// Reading a name is what an observer does first. So a program that observes by a
// name it has put together from a string has to give its workflows their center.

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
  /// A task is to run again; the object is the task.
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
  /// The last task of a workflow has finished; the object is the workflow.
  public static var workflowDidFinish: Notification.Name {
    WorkflowNotification.workflowDidFinish.used
  }
  /// A task of a workflow has failed; the object is the workflow, the task is
  /// under ``Workflow/taskKey``.
  public static var workflowTaskDidFail: Notification.Name {
    WorkflowNotification.workflowTaskDidFail.used
  }
  /// A task of a workflow was cancelled; the object is the workflow, the task
  /// is under ``Workflow/taskKey``.
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

  /// Whether the program has asked for any name.
  @inline(__always)
  static var isAnyUsed: Bool { usedNames.load(ordering: .relaxed) != 0 }

  var isUsed: Bool { Self.usedNames.load(ordering: .relaxed) & (1 << rawValue) != 0 }

  /// The name, for somebody who is going to observe it.
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
