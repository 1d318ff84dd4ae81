import Foundation

/// A failed attempt of a task that is followed by another one.
///
/// ``AnyWorkflowTask/retryPolicy`` decides whether another attempt follows. The work
/// reads the previous error from ``TaskWork/previousError``. Observers receive each
/// failed attempt with ``WorkflowEvent/taskAttemptDidFail(_:_:)``, and ``Workflow/trace``
/// shows it.
public struct TaskAttempt: Sendable {
  /// The number of the attempt; the first is one.
  public let number: Int
  /// The error of the attempt.
  public let error: any Error
  /// When the attempt began and ended (monotonic clock).
  let began: UInt64
  let ended: UInt64

  /// How long the attempt took.
  public var duration: Duration {
    .nanoseconds(Int64(clamping: ended > began ? ended - began : 0))
  }
}

extension TaskAttempt: Hashable {
  /// Compares the numbers, and the errors by domain and code.
  public static func == (lhs: Self, rhs: Self) -> Bool {
    lhs.number == rhs.number && areSame(lhs.error, rhs.error)
  }

  /// Hashes the number.
  public func hash(into hasher: inout Hasher) { hasher.combine(number) }
}

/// Whether two errors have the same domain and the same code.
func areSame(_ first: any Error, _ second: any Error) -> Bool {
  let (first, second) = (first as NSError, second as NSError)
  return first.domain == second.domain && first.code == second.code
}

/// The attempts of a task since its last reset or manual retry.
struct TaskAttempts {
  /// How many failed attempts are kept.
  private static let limit = 100

  /// The run that was the first attempt.
  ///
  /// Each further attempt is the next run.
  let firstRun: UInt32
  /// When the first attempt began (monotonic clock).
  let began: UInt64
  /// How many attempts have failed and were followed by another.
  private(set) var count = 0
  /// How long the failed attempts took that are no longer kept, in nanoseconds.
  private(set) var droppedWork: UInt64 = 0
  /// The latest failed attempts.
  private(set) var failed: [TaskAttempt] = []

  init(firstRun: UInt32, began: UInt64) { (self.firstRun, self.began) = (firstRun, began) }

  /// - Returns: The failed attempt, and an attempt that is no longer kept, which must be
  ///   released after unlock.
  mutating func add(
    _ error: any Error, from began: UInt64, to ended: UInt64
  ) -> (new: TaskAttempt, dropped: TaskAttempt?) {
    count += 1
    let new = TaskAttempt(number: count, error: error, began: began, ended: ended)
    failed.append(new)
    guard failed.count > Self.limit else { return (new, nil) }
    let dropped = failed.removeFirst()
    droppedWork &+= dropped.ended &- dropped.began
    return (new, dropped)
  }
}

extension AnyWorkflowTask {
  /// The failed attempts that were followed by another, oldest first.
  ///
  /// They count since the last reset or manual retry of the task; only the latest hundred
  /// are kept. The error of the last attempt, after which the task has failed, is
  /// ``error``.
  public final var failedAttempts: [TaskAttempt] {
    core?.read { $0.attempts[index]?.failed } ?? []
  }
}
