import Foundation
import Futures

/// An object that is told what happens to a task.
///
/// Observers are called in the order in which they were added. Each method does nothing
/// by default.
public protocol TaskObserver: Sendable {
  /// Called when the task is about to execute.
  ///
  /// Not called for a task that never executes. If another thread ends the task at this
  /// moment, the observer may hear of the end before, or during, this call.
  ///
  /// - Parameter task: The task.
  func taskDidStart<T: ProducerTaskProtocol>(_ task: T)

  /// Called when the task produces another task, before that enters the task's queue.
  ///
  /// It is also called if the task is in no task queue; then the other task fails.
  ///
  /// - Parameters:
  ///   - task: The task.
  ///   - newTask: The other task.
  func task<T1: ProducerTaskProtocol, T2: ProducerTaskProtocol>(_ task: T1, didProduce newTask: T2)

  /// Called when the task is asked to cancel, or ends as cancelled: once, and never after
  /// ``taskDidFinish(_:)``.
  ///
  /// If the task was executing, it has not finished yet, and finishes only when this call has
  /// returned. So do not wait for it here: `wait(timeout:)` throws, and `waitUntilFinished()`
  /// stops the process with a message. An operator, and a task that was cancelled before it
  /// executed, have their results already, and `isFinished` may be `true`.
  ///
  /// - Parameter task: The task.
  func taskDidCancel<T: ProducerTaskProtocol>(_ task: T)

  /// Called when the task has finished, and its handlers have run or were handed to their
  /// queue.
  ///
  /// - Parameter task: The task; `isFinished` is `true`.
  func taskDidFinish<T: ProducerTaskProtocol>(_ task: T)
}

extension TaskObserver {
  /// Does nothing.
  public func taskDidStart<T: ProducerTaskProtocol>(_ task: T) {}
  /// Does nothing.
  public func task<T1: ProducerTaskProtocol, T2: ProducerTaskProtocol>(
    _ task: T1, didProduce newTask: T2
  ) {}
  /// Does nothing.
  public func taskDidCancel<T: ProducerTaskProtocol>(_ task: T) {}
  /// Does nothing.
  public func taskDidFinish<T: ProducerTaskProtocol>(_ task: T) {}
}

/// An observer that calls closures.
///
/// ```swift
/// task.addObserver(BlockObserver(didFinish: { task in log.append("done: \(task)") }))
/// ```
public struct BlockObserver: TaskObserver {
  private let didStart: (@Sendable (AnyFuture) -> Void)?
  private let didProduce: (@Sendable (AnyFuture, AnyFuture) -> Void)?
  private let didCancel: (@Sendable (AnyFuture) -> Void)?
  private let didFinish: (@Sendable (AnyFuture) -> Void)?

  /// Makes an observer.
  ///
  /// - Parameters:
  ///   - didStart: Called when the task is about to execute.
  ///   - didProduce: Called when the task produces another task.
  ///   - didCancel: Called when the task is asked to cancel.
  ///   - didFinish: Called when the task has finished.
  public init(
    didStart: (@Sendable (AnyFuture) -> Void)? = nil,
    didProduce: (@Sendable (AnyFuture, AnyFuture) -> Void)? = nil,
    didCancel: (@Sendable (AnyFuture) -> Void)? = nil,
    didFinish: (@Sendable (AnyFuture) -> Void)? = nil
  ) {
    self.didStart = didStart
    self.didProduce = didProduce
    self.didCancel = didCancel
    self.didFinish = didFinish
  }

  /// Calls the closure.
  public func taskDidStart<T: ProducerTaskProtocol>(_ task: T) { didStart?(task) }
  /// Calls the closure.
  public func task<T1: ProducerTaskProtocol, T2: ProducerTaskProtocol>(
    _ task: T1, didProduce newTask: T2
  ) { didProduce?(task, newTask) }
  /// Calls the closure.
  public func taskDidCancel<T: ProducerTaskProtocol>(_ task: T) { didCancel?(task) }
  /// Calls the closure.
  public func taskDidFinish<T: ProducerTaskProtocol>(_ task: T) { didFinish?(task) }
}
