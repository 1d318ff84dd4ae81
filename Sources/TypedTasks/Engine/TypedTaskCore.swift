import Foundation
import Futures

/// The core of the tasks of one type.
///
/// It calls hooks, observers, delegates and conditions with the typed task.
@usableFromInline
class TypedTaskCore<Output: Sendable, Failure: Error>: TaskCore, @unchecked Sendable {
  // Sendable: adds no state.
  typealias Typed = ProducerTask<Output, Failure>

  @inline(__always)
  final func typed(_ task: AnyFuture) -> Typed { unsafeDowncast(task, to: Typed.self) }

  override func execute(_ task: AnyFuture) { typed(task).execute() }
  override func callWillEnqueue(_ task: AnyFuture) { typed(task).willEnqueue() }

  override func callFinished(_ task: AnyFuture) {
    let task = typed(task)
    task.finished(with: task.settledProduced)
  }

  override func tellStart(_ observer: any TaskObserver, _ task: AnyFuture) {
    observer.taskDidStart(typed(task))
  }

  override func tellCancel(_ observer: any TaskObserver, _ task: AnyFuture) {
    observer.taskDidCancel(typed(task))
  }

  override func tellFinish(_ observer: any TaskObserver, _ task: AnyFuture) {
    observer.taskDidFinish(typed(task))
  }

  override func tellWillAdd(
    _ delegate: any TaskQueueDelegate, _ queue: TaskQueue, _ task: AnyFuture
  ) { delegate.taskQueue(queue, willAdd: typed(task)) }

  override func tellDidFinish(
    _ delegate: any TaskQueueDelegate, _ queue: TaskQueue, _ task: AnyFuture
  ) { delegate.taskQueue(queue, didFinish: typed(task)) }

  override func tellDidReject(
    _ delegate: any TaskQueueDelegate, _ queue: TaskQueue, _ task: AnyFuture,
    _ error: ProducerTaskError
  ) { delegate.taskQueue(queue, didReject: typed(task), error: error) }

  override func tellMemberFinished(_ owner: any TaskQueueOwner, _ task: AnyFuture) {
    owner.memberDidFinish(typed(task))
  }

  override func evaluate(
    _ condition: AnyCondition, _ task: AnyFuture,
    _ completion: @escaping @Sendable (Result<Void, any Error>) -> Void
  ) { condition.evaluate(for: typed(task), completion: completion) }

  override func dependency(of condition: AnyCondition, for task: AnyFuture) -> NonFailTask? {
    condition.dependency(for: typed(task))
  }

  @discardableResult
  override func fail(_ task: AnyFuture, _ error: any Error, from origin: SettlementOrigin) -> Bool {
    typed(task).settle(failing: .internal(error), from: origin)
  }
}

/// The core of a task class that users cannot subclass, so the hooks are never
/// overridden.
@usableFromInline
class FinalTaskCore<Output: Sendable, Failure: Error>: TypedTaskCore<Output, Failure>,
  @unchecked Sendable
{
  // Sendable: adds no state.
  override final var hasHook: Bool { false }
  override final func callWillEnqueue(_ task: AnyFuture) {}
}
