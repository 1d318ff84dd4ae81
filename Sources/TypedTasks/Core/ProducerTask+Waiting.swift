import Foundation
import Futures

extension ProducerTask {
  /// Makes the task wait until another task has finished, with any result.
  ///
  /// The other task may be in another queue, but you have to add it to one. On an
  /// operator of a chain, the dependency holds back this operator only. It has no effect
  /// once the task executes. A task that would wait for itself fails with
  /// ``ProducerTaskError/cycle(path:)`` when it is enqueued, or at once if it is in a
  /// queue.
  ///
  /// - Parameter task: The task that has to finish first.
  @discardableResult
  public final func addDependency<T: ProducerTaskProtocol>(_ task: T) -> Self {
    core.addDependency(task, to: self)
    return self
  }

  /// Makes the task wait until several tasks or other operations have finished, with any
  /// results.
  ///
  /// See ``addDependency(_:)-(T)``.
  ///
  /// - Parameters:
  ///   - first: An operation that has to finish first.
  ///   - second: Another operation that has to finish first.
  ///   - others: More operations that have to finish first.
  @discardableResult
  public final func addDependency(
    _ first: Operation, _ second: Operation, _ others: Operation...
  ) -> Self { addDependencies([first, second] + others) }

  /// Makes the task wait until several tasks or other operations have finished, with any
  /// results.
  ///
  /// See ``addDependency(_:)-(T)``.
  ///
  /// - Parameter operations: The operations that have to finish first.
  /// - Complexity: O(n).
  @discardableResult
  public final func addDependencies(_ operations: [Operation]) -> Self {
    for operation in operations { core.addDependency(operation, to: self) }
    return self
  }

  /// Removes a dependency.
  ///
  /// If the task waited for nothing else, it continues.
  ///
  /// - Parameter task: The task that this task no longer waits for.
  @discardableResult
  public final func removeDependency<T: ProducerTaskProtocol>(_ task: T) -> Self {
    core.removeDependency(task, from: self)
    return self
  }

  /// Adds a condition that has to be met before the task runs.
  ///
  /// Conditions are evaluated when all dependencies have finished; see ``TaskCondition``
  /// for the thread. If a condition is not met, the task fails with
  /// ``ProducerTaskError/conditionsFailure(errors:)`` and does not execute. If the task
  /// is already in its queue and does not execute yet, it fails with
  /// ``ProducerTaskError/conditionAddedTooLate(task:)``.
  ///
  /// - Parameter condition: The condition.
  @discardableResult
  public final func addCondition<Condition: TaskCondition>(_ condition: Condition) -> Self {
    core.addCondition(AnyCondition(condition), to: self)
    return self
  }

  /// Adds several conditions.
  ///
  /// - Parameter conditions: The conditions, one on each line.
  @discardableResult
  public final func addConditions(
    @TaskConditionBuilder _ conditions: () -> [AnyCondition]
  ) -> Self {
    for condition in conditions() { core.addCondition(condition, to: self) }
    return self
  }

  /// The conditions, in the order in which they were added.
  public final var conditions: [AnyCondition] { core.conditions }

  /// Adds an observer, which is told what happens to the task from now on.
  ///
  /// - Parameter observer: The observer.
  @discardableResult
  public final func addObserver<Observer: TaskObserver>(_ observer: Observer) -> Self {
    core.addObserver(observer)
    return self
  }

  /// The observers, in the order in which they were added; none after the task has ended.
  public final var observers: [any TaskObserver] { core.observers }

  /// Puts another task in the queue that this task is in.
  ///
  /// If this task is a member of a group, the group waits for the new task too. The two
  /// tasks do not wait for each other. A barrier that waits for this task also waits for
  /// the new task. If this task is in no task queue, or has finished and its work has
  /// returned, the new task fails with ``ProducerTaskError/notEnqueued(task:)``.
  ///
  /// - Parameter task: The new task.
  public final func produce<T: ProducerTaskProtocol>(new task: T) {
    core.produce(task, by: self)
  }
}
