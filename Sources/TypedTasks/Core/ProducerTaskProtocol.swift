import Foundation
import Futures

/// What all tasks have in common, whatever they produce.
///
/// Use it where a function takes tasks of any type: observers, conditions,
/// queue delegates. ``ProducerTask`` and its subclasses conform to it.
public protocol ProducerTaskProtocol: AnyFuture {
  /// What the task produces.
  associatedtype Output: Sendable
  /// What its work can fail with; `Never` if it cannot.
  associatedtype Failure: Error

  /// The result of a task.
  typealias Produced = Result<Output, ProducerTaskProtocolError<Failure>>

  /// The result, or `nil` while there is none.
  var produced: Produced? { get }

  /// The conditions that have to be met before the task runs.
  var conditions: [AnyCondition] { get }

  /// Those who are told what happens to the task.
  var observers: [any TaskObserver] { get }

  /// Adds a condition.
  @discardableResult func addCondition<Condition: TaskCondition>(_ condition: Condition) -> Self

  /// Adds an observer.
  @discardableResult func addObserver<Observer: TaskObserver>(_ observer: Observer) -> Self

  /// Makes the task wait for another one.
  @discardableResult func addDependency<T: ProducerTaskProtocol>(_ task: T) -> Self

  /// Takes a dependency back.
  @discardableResult func removeDependency<T: ProducerTaskProtocol>(_ task: T) -> Self

  /// The task's work.
  func execute()

  /// Ends the task.
  func finish(with produced: Produced)

  /// Puts another task in the queue that this one is in.
  func produce<T: ProducerTaskProtocol>(new task: T)

  /// Says where the handlers run.
  @discardableResult func receive(on queue: DispatchQueue) -> Self

  /// Adds a handler.
  @discardableResult
  func receive(completion handler: @escaping @Sendable (Produced) -> Void) -> Self
}
