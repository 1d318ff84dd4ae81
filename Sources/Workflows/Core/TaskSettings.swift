import Foundation
import Futures

/// What is unusual about a task; only made for tasks that are.
final class TaskSettings: Sendable {
  struct Values {
    var name: String?
    var delegate: WeakTaskDelegate?
    var context: ContextReference?
    var priority: Operation.QueuePriority = .normal
    var retryPolicy: RetryPolicy?
    var timeout: Duration?
    var weight: Int64 = 1
    var limitName: String?
    var journaling: (any JournaledResult)?
    /// How often a setting was changed.
    var changes = 0
  }

  /// What the workflow has to know of the settings.
  struct Scheduling {
    let context: ContextReference?
    let priority: Operation.QueuePriority
    let limitName: String?
    let changes: Int
  }

  private let values = Lock(Values())

  func get<Value>(_ path: (Values) -> Value) -> Value { values.withLock { path($0) } }

  var scheduling: Scheduling {
    let current = values.withLock { $0 }
    return Scheduling(
      context: current.context, priority: current.priority, limitName: current.limitName,
      changes: current.changes)
  }

  /// Changes a setting; the old values are released outside the lock.
  func set(_ change: (inout Values) -> Void) {
    let old = values.withLock { values in
      let old = values
      change(&values)
      values.changes += 1
      return old
    }
    withExtendedLifetime(old) {}
  }
}

/// A delegate that is not kept alive.
///
/// A box, so that the reference itself is written once and never races.
final class WeakTaskDelegate: @unchecked Sendable {
  // Sendable: never changes, except that `given` becomes nil, which is atomic.

  /// The object that was made the delegate.
  private(set) weak var given: (any WorkflowTaskDelegate)?
  private let forwarder: TaskDelegateForwarder?

  /// - Parameter calls: Where the delegate is told; where the news are if `nil`.
  init(_ delegate: any WorkflowTaskDelegate, _ calls: SerialCalls? = nil) {
    given = delegate
    forwarder = calls.map { TaskDelegateForwarder(to: delegate, $0) }
  }

  /// The object to tell.
  var value: (any WorkflowTaskDelegate)? { forwarder ?? given }
}

/// A delegate that is not kept alive.
final class WeakWorkflowDelegate: @unchecked Sendable {
  // Sendable: never changes, except that `given` becomes nil, which is atomic.

  /// The object that was made the delegate.
  private(set) weak var given: (any WorkflowDelegate)?
  private let forwarder: WorkflowDelegateForwarder?

  /// - Parameter calls: Where the delegate is told; where the news are if `nil`.
  init(_ delegate: any WorkflowDelegate, _ calls: SerialCalls? = nil) {
    given = delegate
    forwarder = calls.map { WorkflowDelegateForwarder(to: delegate, $0) }
  }

  /// The object to tell.
  var value: (any WorkflowDelegate)? { forwarder ?? given }
}
