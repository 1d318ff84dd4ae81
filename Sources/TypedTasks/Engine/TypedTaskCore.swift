import Foundation
import Futures

/// The core of the tasks of one type.
///
/// It calls the hooks of subclasses, and knows the types of the task.
@usableFromInline
class TypedTaskCore<Output: Sendable, Failure: Error>: TaskCore, @unchecked Sendable {
  // Sendable: adds no state.
  typealias Typed = ProducerTask<Output, Failure>

  @inline(__always)
  final func typed(_ task: AnyFuture) -> Typed { unsafeDowncast(task, to: Typed.self) }

  override func execute(_ task: AnyFuture) { typed(task).execute() }
  override func callWillEnqueue(_ task: AnyFuture) {
    WorkLoop.current.holdUp(endOf: task) { typed(task).willEnqueue() }
  }

  override func callFinished(_ task: AnyFuture) {
    let task = typed(task)
    task.finished(with: task.settledProduced)
  }

  override func asTask(_ task: AnyFuture) -> any ProducerTaskProtocol { typed(task) }

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
