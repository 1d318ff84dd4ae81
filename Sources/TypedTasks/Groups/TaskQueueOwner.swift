import Foundation
import Futures

/// A task that runs others in a queue of its own.
public protocol TaskQueueContainable: AnyFuture {
  /// The queue of the tasks inside, which come into it when the group executes.
  var innerQueue: TaskQueue { get }
}

/// Whom the queue inside a group reports to.
protocol TaskQueueOwner: AnyObject, Sendable {
  /// The group.
  var ownerTask: AnyFuture? { get }
  /// A task is about to be added; `false` if that is too late.
  func willAdd(_ task: AnyFuture) -> Bool
  /// A barrier is about to be added; `false` if the owner adds it later, when the
  /// members before it are in the queue.
  func willAdd(_ barrier: BlockOperation) -> Bool
  /// A task has finished.
  func memberDidFinish<T: ProducerTaskProtocol>(_ task: T)
}

/// What the classes of groups let users override.
protocol GroupHook: AnyObject {
  func taskDidFinish<T: ProducerTaskProtocol>(_ task: T)
}
