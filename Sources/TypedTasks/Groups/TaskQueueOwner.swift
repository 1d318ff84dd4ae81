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
  /// Something that the user adds is about to enter the queue; `true` if the owner lets it
  /// enter later: a barrier comes after the members in front of it, and what is behind the
  /// barrier after the barrier.
  func holdsBack(_ entry: QueueEntry) -> Bool
  /// The queue is about to be suspended or resumed; `false` if the owner does it later.
  func willSetSuspended(_ isSuspended: Bool) -> Bool
  /// A task has finished.
  func memberDidFinish(_ task: any ProducerTaskProtocol)
}

/// What enters a queue.
enum QueueEntry {
  /// A task that the user adds to the queue.
  case task(AnyFuture)
  /// A task that the user adds to the group.
  case member(AnyFuture)
  case operation(Operation)
  case barrier(Operation)

  var task: AnyFuture? {
    switch self {
    case .task(let task), .member(let task): task
    case .operation, .barrier: nil
    }
  }

  /// The operation, if it is no task.
  var operation: Operation? {
    switch self {
    case .task, .member: nil
    case .operation(let operation), .barrier(let operation): operation
    }
  }
}

/// The methods of groups that users may override.
protocol GroupHook: AnyObject {
  func taskDidFinish<T: ProducerTaskProtocol>(_ task: T)
}
