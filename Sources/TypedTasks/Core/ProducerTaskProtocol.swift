import Foundation
import Futures

/// The interface of all tasks, whatever they produce.
///
/// Use it where a function takes tasks of any type: in observers, conditions and queue
/// delegates. ``ProducerTask`` and its subclasses conform to it.
public protocol ProducerTaskProtocol: AnyFuture {
  /// The type of the task's value.
  associatedtype Output: Sendable
  /// The type of the errors of the task's work; `Never` if the work cannot fail.
  associatedtype Failure: Error

  /// The result of a task.
  typealias Produced = Result<Output, ProducerTaskProtocolError<Failure>>

  /// The result, or `nil` while there is none.
  var produced: Produced? { get }

  /// The conditions that have to be met before the task runs.
  var conditions: [AnyCondition] { get }

  /// The observers, which are told what happens to the task.
  var observers: [any TaskObserver] { get }

  /// Adds a condition.
  @discardableResult func addCondition<Condition: TaskCondition>(_ condition: Condition) -> Self

  /// Adds an observer.
  @discardableResult func addObserver<Observer: TaskObserver>(_ observer: Observer) -> Self

  /// Makes the task wait for another task.
  @discardableResult func addDependency<T: ProducerTaskProtocol>(_ task: T) -> Self

  /// Removes a dependency.
  @discardableResult func removeDependency<T: ProducerTaskProtocol>(_ task: T) -> Self

  /// Called when the task is put in a queue.
  func willEnqueue()

  /// Does the task's work.
  func execute()

  /// Ends the task with a result.
  func finish(with produced: Produced)

  /// Called when the task has finished.
  func finished(with produced: Produced)

  /// Puts another task in the queue that this one is in.
  func produce<T: ProducerTaskProtocol>(new task: T)

  /// Sets the queue of the handlers.
  @discardableResult func receive(on queue: DispatchQueue) -> Self

  /// Adds a handler.
  @discardableResult
  func receive(
    @_inheritActorContext completion handler:
      @escaping @Sendable @isolated(any) (Produced) -> Void
  ) -> Self

  /// Writes the value to a property.
  @discardableResult
  func assign<Root>(
    to keyPath: ReferenceWritableKeyPath<Root, Output>, on object: Root,
    isolation: isolated (any Actor)?
  ) -> Self
}

extension ProducerTaskProtocol {
  /// Writes the value to a property when the task succeeds; see
  /// ``ProducerTask/assign(to:on:isolation:)``.
  ///
  /// - Parameters:
  ///   - keyPath: The property.
  ///   - object: The object.
  ///   - isolation: The actor of the caller; leave it out.
  @discardableResult
  public func assign<Root>(
    to keyPath: ReferenceWritableKeyPath<Root, Output>, on object: Root,
    _ isolation: isolated (any Actor)? = #isolation
  ) -> Self { assign(to: keyPath, on: object, isolation: isolation) }
}
