import Futures

/// An object that is told of the tasks of a queue.
///
/// Each method does nothing by default.
public protocol TaskQueueDelegate: AnyObject, Sendable {
  /// Called once for each task that is about to be added, before it can start.
  ///
  /// It is also called for tasks that another task produces, for the dependencies of
  /// conditions, for the upstreams of operators, and for tasks that fail because the queue
  /// is shut down or its group has ended. The task ends only when this call has returned, so do
  /// not wait here for the task, or for a future that needs it: the wait throws
  /// `ProperationsError.cycle(createdAt:)`.
  ///
  /// - Parameters:
  ///   - queue: The queue.
  ///   - task: The task.
  func taskQueue<T: ProducerTaskProtocol>(_ queue: TaskQueue, willAdd task: T)

  /// Called once for each task that has finished.
  ///
  /// - Parameters:
  ///   - queue: The queue.
  ///   - task: The task; `isFinished` is `true`.
  func taskQueue<T: ProducerTaskProtocol>(_ queue: TaskQueue, didFinish task: T)

  /// Called when a task was not added; the task itself continues unchanged.
  ///
  /// - Parameters:
  ///   - queue: The queue.
  ///   - task: The task.
  ///   - error: ``ProducerTaskError/alreadyEnqueued(task:)``: the task is in a queue
  ///     already, or was in a queue and has finished there, but not as cancelled. (The first
  ///     time, this is no mistake if the task came in with another task and has finished.)
  func taskQueue<T: ProducerTaskProtocol>(
    _ queue: TaskQueue, didReject task: T, error: ProducerTaskError)
}

extension TaskQueueDelegate {
  /// Does nothing.
  public func taskQueue<T: ProducerTaskProtocol>(_ queue: TaskQueue, willAdd task: T) {}
  /// Does nothing.
  public func taskQueue<T: ProducerTaskProtocol>(_ queue: TaskQueue, didFinish task: T) {}
  /// Does nothing.
  public func taskQueue<T: ProducerTaskProtocol>(
    _ queue: TaskQueue, didReject task: T, error: ProducerTaskError
  ) {}
}
