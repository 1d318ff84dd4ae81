import Foundation
import Futures
import TestSupport
import TypedTasks

/// How the source of an operator ends.
enum SourceEnd: Sendable, CaseIterable {
  case success, provided, `internal`, cancelled
}

/// A task that executes until it is told to end.
final class Source: ProducerTask<Int, TestError>, @unchecked Sendable {
  // Sendable: adds a counter with a lock.
  let executions = Counter()
  override func execute() { executions.add() }

  func end(_ end: SourceEnd) {
    switch end {
    case .success: finish(with: .success(1))
    case .provided: finish(with: .failure(.provided(.first)))
    case .internal: finish(with: .failure(.internal(InnerError())))
    case .cancelled: finish(with: .failure(.internal(ProducerTaskError.cancelled)))
    }
  }
}

/// A task of any type.
struct Stage {
  let future: AnyFuture
  let kind: () -> Kind?
  let add: (TaskQueue) -> Void
  let receive: (@escaping @Sendable (Kind?) -> Void) -> Void
  let onCancel: (@escaping @Sendable () -> Void) -> Void
  let observe: (BlockObserver) -> Void
  let condition: (AnyCondition) -> Void

  init<Output: Sendable, Failure: Error>(_ task: ProducerTask<Output, Failure>) {
    future = task
    kind = { task.kind }
    add = { $0.addTask(task) }
    receive = { handler in task.receive { [unowned task] _ in handler(task.kind) } }
    onCancel = { task.onCancellationRequest($0) }
    observe = { task.addObserver($0) }
    condition = { task.addCondition($0) }
  }
}
