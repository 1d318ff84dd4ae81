import Foundation
import Futures

/// A task that runs other tasks in a queue of its own.
public protocol TaskQueueContainable: AnyFuture {
  /// The queue of the members, which enter it when the group executes.
  var innerQueue: TaskQueue { get }
}

/// The group that a queue of members reports to.
protocol TaskQueueOwner: AnyObject, Sendable {
  /// The group.
  var ownerTask: AnyFuture? { get }
  /// Whether the group has begun to start its members, or never will.
  var hasBegun: Bool { get }
  /// A task is about to be added; `false` if it is too late for that.
  func willAdd(_ task: AnyFuture) -> Bool
  /// A barrier is about to be added.
  func willAdd(barrier: Operation)
  /// The user is about to suspend or resume the queue; `false` if the owner does it later.
  func willSetSuspended(_ isSuspended: Bool) -> Bool
  /// Whether the user has suspended the queue of a group that has begun and has not ended.
  var staysSuspended: Bool { get }
  /// A task has finished.
  func memberDidFinish(_ task: any ProducerTaskProtocol)
}

/// The methods of groups that users may override.
protocol GroupHook: AnyObject {
  func taskDidFinish<T: ProducerTaskProtocol>(_ task: T)
}
