import Foundation
import Futures

/// The settings of a task, made when the first one differs from its default.
final class TaskSettings: Sendable {
  struct Values {
    var name: String?
    var delegate: TaskDelegateCaller?
    /// The calls of hooks that wait for their context, if the hooks have one.
    var hookCalls: SerialCalls?
    var context: ContextReference?
    var priority: Operation.QueuePriority = .normal
    var retryPolicy: RetryPolicy?
    var timeout: Duration?
    var weight: Int64 = 1
    var limitName: String?
    var journaling: (any JournaledResult)?
    /// How many times a setting has changed.
    var changes = 0
  }

  private let values = Lock(Values())
  /// Returns the time since the task's first attempt began, if its retry policy has a
  /// deadline.
  private let stopwatch = Lock<(@Sendable () -> Duration)?>(nil)

  func get<Value>(_ path: (Values) -> Value) -> Value { values.withLock { path($0) } }

  /// The present settings.
  var current: Values { values.withLock { $0 } }

  /// Tells the retry policy that the task's first attempt begins.
  func beginAttempts(_ policy: RetryPolicy) { stopwatch.replace(with: policy.begin()) }

  /// The time since the first attempt began, if it was told to a policy with a deadline.
  var timeSinceFirstAttempt: Duration? { stopwatch.withLock { $0 }?() }

  /// Drops the retry policy of a task that will never run again.
  ///
  /// The closures of the policy may hold the task.
  func dropPolicy() {
    set { $0.retryPolicy = nil }
    stopwatch.replace(with: nil)
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
