import Foundation

/// An operation queue as an executor of Swift tasks.
///
/// Get it from `taskExecutor` of the queue. Each piece of a task between two
/// suspensions is an operation of the queue. While a task waits, it holds no slot; to limit
/// how many tasks are under way, use the async form of `queue.run` instead.
///
/// The executor keeps its queue.
public final class QueueTaskExecutor: TaskExecutor, CustomStringConvertible {
  /// The queue that runs the jobs.
  public let queue: OperationQueue

  init(_ queue: OperationQueue) { self.queue = queue }

  /// Puts a job in the queue; Swift calls this method.
  ///
  /// - Parameter job: A piece of a task.
  public func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    let operation = ExecutorJobOperation { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    operation.queuePriority = job.priority.queuePriority
    queue.addReliably(operation)
  }

  /// The name of the queue, for people.
  public var description: String { "task executor of \(queue.nameInErrors)" }
}
