import Foundation

/// Where the closures of futures run.
///
/// A context is asked to start one operation at a time, and decides where and
/// when: the queues of Foundation and Dispatch are contexts, so is `.inline`,
/// and yours can be too. A context must call `start()` on every operation it
/// is given, once, sooner or later, on any thread. One that drops an operation
/// breaks the promise behind it; a second `start()` is ignored.
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
/// The operation stands for a *batch* on the context: a future whose closure is
/// ready to run there, and the futures downstream that want the very same context
/// and become ready meanwhile. So a chain of a hundred closures on one queue costs
/// one hop, not a hundred. A batch ends after about a hundred closures or a
/// millisecond, or when the queue is suspended.
///
/// Cancelling the operation cancels the future whose closure it runs. If it runs a
/// handler, the handler is dropped and the future keeps its result.
public protocol ExecutionContext: Sendable {
  /// Starts the operation, now or later, here or elsewhere.
  ///
  /// - Parameter operation: The operation to start. It carries the name, the priority
  ///   and the quality of service of the future whose closure it runs.
  func execute(_ operation: Operation)
}

extension OperationQueue: ExecutionContext {
  /// Adds the operation to the queue: its priority, quality of service,
  /// suspension and concurrency limit apply.
  public func execute(_ operation: Operation) { addReliably(operation) }
}

extension DispatchQueue: ExecutionContext {
  /// Starts the operation in a block of the queue.
  public func execute(_ operation: Operation) { async { operation.start() } }
}

/// The context that runs closures where the future upstream settled.
///
/// Nothing is enqueued and no thread is changed. Closures of one thread run one after
/// the other instead of nesting, so chains of any length need no stack. Only a closure
/// that blocks in ``Future/wait(timeout:)`` runs those that wait for it to return. Keep
/// such closures short: the producer's thread runs them. One that is attached just when
/// another thread settles the future runs where it is attached, and may overtake those
/// that are running there.
public struct InlineContext: ExecutionContext {
  /// Makes the context; `.inline` reads better.
  public init() {}

  /// Starts the operation here and now.
  public func execute(_ operation: Operation) { operation.start() }
}

extension ExecutionContext where Self == InlineContext {
  /// Where the future upstream settled, without a hop.
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
  private let executor: any TaskExecutor

  /// Makes a context of an executor.
  ///
  /// - Parameter executor: What runs the closures.
  public init(_ executor: any TaskExecutor) { self.executor = executor }

  /// Starts the operation in a task on the executor.
  public func execute(_ operation: Operation) {
    Task(executorPreference: executor) { operation.start() }
  }
}

extension ExecutionContext where Self == TaskExecutorContext {
  /// A Swift task executor.
  ///
  /// - Parameter executor: What runs the closures.
  public static func executor(_ executor: any TaskExecutor) -> TaskExecutorContext {
    TaskExecutorContext(executor)
  }
}
