import Futures

/// Somebody who is told of the tasks of a queue.
///
/// Each method does nothing unless you write it.
public protocol TaskQueueDelegate: AnyObject, Sendable {
  /// A task is about to be added: once for each, before it can start.
  ///
  /// Also for tasks that another one produces, for the dependencies of
  /// conditions and for the upstream stages of operators.
  ///
  /// - Parameters:
  ///   - queue: The queue.
  ///   - task: The task.
  func taskQueue<T: ProducerTaskProtocol>(_ queue: TaskQueue, willAdd task: T)

  /// A task has finished: once for each.
  ///
  /// - Parameters:
  ///   - queue: The queue.
  ///   - task: The task; `isFinished` is `true`.
  func taskQueue<T: ProducerTaskProtocol>(_ queue: TaskQueue, didFinish task: T)

  /// A task was not added, and goes on as if the queue had not been asked.
  ///
  /// - Parameters:
  ///   - queue: The queue.
  ///   - task: The task.
  ///   - error: ``ProducerTaskError/alreadyEnqueued(task:)``: the task is in a queue
  ///     already, or was in one and has finished.
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
