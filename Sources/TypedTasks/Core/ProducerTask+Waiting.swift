import Foundation
import Futures

extension ProducerTask {
  /// Makes the task wait until another one has finished, with whatever result.
  ///
  /// The other one may be in another queue; somebody has to put it in one. On a
  /// stage of an operator chain it holds back this stage only. It has no effect
  /// once the task executes. A task that would so wait for itself fails with
  /// ``ProducerTaskError/cycle(path:)`` when it is enqueued.
  ///
  /// - Parameter task: What has to finish first.
  @discardableResult
  public final func addDependency<T: ProducerTaskProtocol>(_ task: T) -> Self {
    core.addDependency(task, to: self)
    return self
  }

  /// Makes the task wait until several operations have finished, tasks and others, with
  /// whatever results.
  ///
  /// See ``addDependency(_:)-(T)``.
  ///
  /// - Parameters:
  ///   - first: What has to finish first.
  ///   - second: What has to finish first, too.
  ///   - others: And all of these.
  @discardableResult
  public final func addDependency(
    _ first: Operation, _ second: Operation, _ others: Operation...
  ) -> Self { addDependencies([first, second] + others) }

  /// Makes the task wait until several operations have finished, tasks and others, with
  /// whatever results.
  ///
  /// See ``addDependency(_:)-(T)``.
  ///
  /// - Parameter operations: What has to finish first.
  /// - Complexity: O(n).
  @discardableResult
  public final func addDependencies(_ operations: [Operation]) -> Self {
    for operation in operations { core.addDependency(operation, to: self) }
    return self
  }

  /// Takes a dependency back.
  ///
  /// If it was the last thing that the task waited for, the task goes on.
  ///
  /// - Parameter task: What need not finish any more.
  @discardableResult
  public final func removeDependency<T: ProducerTaskProtocol>(_ task: T) -> Self {
    core.removeDependency(task, from: self)
    return self
  }

  /// Adds a condition that has to be met before the task runs.
  ///
  /// Conditions are evaluated when all dependencies have finished; see
  /// ``TaskCondition`` for the thread. If any is
  /// not met, the task finishes with
  /// ``ProducerTaskError/conditionsFailure(errors:)`` and does not execute. A
  /// task that is in its queue already, and does not execute yet, fails with
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
  /// - Parameter conditions: The conditions, one a line.
  @discardableResult
  public final func addConditions(
    @TaskConditionBuilder _ conditions: () -> [AnyCondition]
  ) -> Self {
    for condition in conditions() { core.addCondition(condition, to: self) }
    return self
  }

  /// The conditions, in the order in which they were added.
  public final var conditions: [AnyCondition] { core.conditions }

  /// Adds somebody who is told what happens to the task from now on.
  ///
  /// - Parameter observer: The observer.
  @discardableResult
  public final func addObserver<Observer: TaskObserver>(_ observer: Observer) -> Self {
    core.addObserver(observer)
    return self
  }

  /// The observers, in the order in which they were added.
  public final var observers: [any TaskObserver] { core.observers }

  /// Puts another task in the queue that this one is in.
  ///
  /// In a group that is the group, which then waits for it. Neither of the two
  /// waits for the other. A barrier that waits for this task waits for the new
  /// one, too. If this task is in no queue, or has finished, the new
  /// one fails with ``ProducerTaskError/notEnqueued(task:)``.
  ///
  /// - Parameter task: The new task.
  public final func produce<T: ProducerTaskProtocol>(new task: T) {
    core.produce(task, by: self)
  }
}
