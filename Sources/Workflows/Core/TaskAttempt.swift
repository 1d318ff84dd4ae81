import Foundation

/// An attempt of a task that failed and is followed by another, as its
/// ``AnyWorkflowTask/retryPolicy`` wants it.
///
/// The work reads what went wrong before from ``TaskWork/previousError``; observers
/// get each failed attempt with ``WorkflowEvent/taskAttemptDidFail(_:_:)``, and
/// ``Workflow/trace`` shows it.
public struct TaskAttempt: Sendable {
  /// Which attempt it was, the first being one.
  public let number: Int
  /// Why it failed.
  public let error: any Error
  /// When it began and ended, by the clock of traces.
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

/// The attempts of a task since it was last reset or retried by hand.
struct TaskAttempts {
  /// How many failed attempts are kept.
  private static let limit = 100

  /// The run that was the first attempt; each further one is the next run.
  let firstRun: UInt32
  /// When it began, by the clock of traces.
  let began: UInt64
  /// How many have failed and were followed by another.
  private(set) var count = 0
  /// The latest of them.
  private(set) var failed: [TaskAttempt] = []

  init(firstRun: UInt32, began: UInt64) { (self.firstRun, self.began) = (firstRun, began) }

  /// - Returns: What has failed; and an attempt that is no longer kept, which must
  ///   not be released under the lock.
  mutating func add(
    _ error: any Error, from began: UInt64, to ended: UInt64
  ) -> (new: TaskAttempt, dropped: TaskAttempt?) {
    count += 1
    let new = TaskAttempt(number: count, error: error, began: began, ended: ended)
    failed.append(new)
    return (new, failed.count > Self.limit ? failed.removeFirst() : nil)
  }
}

extension AnyWorkflowTask {
  /// The attempts that have failed and were followed by another, oldest first, since
  /// the task was last reset or retried by hand; of many the latest hundred.
  ///
  /// The error of the last attempt, after which the task has failed, is
  /// ``error``.
  public final var failedAttempts: [TaskAttempt] {
    core?.read { $0.attempts[index]?.failed } ?? []
  }
}
