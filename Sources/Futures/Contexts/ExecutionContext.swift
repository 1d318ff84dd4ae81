import Foundation

/// The place where the closures of futures run.
///
/// The library asks a context to start one operation at a time. The context decides where
/// and when. The queues of Foundation and Dispatch are contexts, `.inline` is one, and
/// you can write your own. A context must call `start()` once on every operation that it
/// gets, sooner or later, on any thread. A context that drops an operation breaks the
/// promise behind it. A second `start()` is ignored.
///
/// ```swift
/// struct Delayed: ExecutionContext {
///   let queue: DispatchQueue
///   func execute(_ operation: Operation) {
///     queue.asyncAfter(deadline: .now() + 0.1) { operation.start() }
///   }
/// }
/// ```
///
/// The operation stands for a *batch* on the context: a future whose closure is ready to
/// run there, and the futures downstream that want the same context and become ready
/// meanwhile. So a chain of a hundred closures on one queue costs one hop, not a hundred.
/// A batch ends after about a hundred closures or a millisecond, or when the queue is
/// suspended or its limit is zero.
///
/// Cancelling the operation cancels the future whose closure it runs. If the operation
/// runs a handler, the handler is dropped and the future keeps its result.
public protocol ExecutionContext: Sendable {
  /// Starts the operation, now or later, on any thread.
  ///
  /// - Parameter operation: The operation to start. It carries the name, the priority
  ///   and the quality of service of the future whose closure it runs.
  func execute(_ operation: Operation)
}

extension OperationQueue: ExecutionContext {
  /// Adds the operation to the queue.
  ///
  /// The operation's priority and quality of service apply, and so do the queue's
  /// suspension and concurrency limit.
  public func execute(_ operation: Operation) { addReliably(operation) }
}

extension DispatchQueue: ExecutionContext {
  /// Starts the operation in a block of the queue.
  public func execute(_ operation: Operation) { async { operation.start() } }
}

/// The context that runs closures where the future upstream settled.
///
/// The library enqueues nothing and changes no thread. Closures of one thread run one
/// after the other instead of nesting, so chains of any length need no stack. The
/// exception is a closure that blocks in ``Future/wait(timeout:)-(Duration?)``: the closures that
/// wait for its return run meanwhile. Keep inline closures short, because the producer's
/// thread runs them. If a closure is attached while another thread settles the future, it
/// runs on the attaching thread, and may overtake the closures that run on the other
/// thread.
public struct InlineContext: ExecutionContext {
  /// Makes the context; `.inline` reads better.
  public init() {}

  /// Starts the operation immediately on the calling thread.
  public func execute(_ operation: Operation) { operation.start() }
}

extension ExecutionContext where Self == InlineContext {
  /// Runs closures where the future upstream settled, without a hop.
  public static var inline: InlineContext { InlineContext() }
}

extension ExecutionContext where Self == OperationQueue {
  /// The main queue.
  public static var main: OperationQueue { OperationQueue.main }
}

extension ExecutionContext where Self == DispatchQueue {
  /// A global concurrent queue.
  ///
  /// - Parameter qos: The quality of service of the closures.
  public static func global(qos: DispatchQoS.QoSClass = .default) -> DispatchQueue {
    DispatchQueue.global(qos: qos)
  }
}

/// The context that runs closures on a Swift task executor.
public struct TaskExecutorContext: ExecutionContext {
  let executor: any TaskExecutor

  /// Makes a context from an executor.
  ///
  /// - Parameter executor: The executor that runs the closures.
  public init(_ executor: any TaskExecutor) { self.executor = executor }

  /// Starts the operation in a task on the executor, with medium priority.
  public func execute(_ operation: Operation) {
    // One priority for all, because an executor may take those of a higher priority first.
    Task(executorPreference: executor, priority: .medium) {
      operation.startApart()
    }
  }
}

extension Operation {
  /// Starts the operation apart from the code that has settled its future.
  ///
  /// A new Swift task inherits the path and the closure of that code, and the operation belongs
  /// to neither.
  final func startApart() { FlightPath.none.run { RunningClosure.outside { start() } } }
}

extension ExecutionContext where Self == TaskExecutorContext {
  /// Runs closures on a Swift task executor.
  ///
  /// - Parameter executor: The executor that runs the closures.
  public static func executor(_ executor: any TaskExecutor) -> TaskExecutorContext {
    TaskExecutorContext(executor)
  }
}
