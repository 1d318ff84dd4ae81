import Foundation

/// How often a task tries again by itself when it fails, and how soon.
///
/// ```swift
/// upload.retryPolicy = TaskRetryPolicy(attempts: 3, delay: .exponential(from: .seconds(1)))
/// ```
///
/// An attempt that fails and is followed by another does not make the task
/// fail: nobody is told of a failure, but ``AnyWorkflowTask/didRetry()`` and
/// the retry notification and event are sent, and
/// ``WorkflowEvent/taskAttemptDidFail(_:_:)`` with the error. The work finds the
/// number of its attempt and the error of the one before in ``TaskWork``. Cancelling
/// or resetting the task ends the wait between two attempts.
public struct TaskRetryPolicy: Sendable {
  /// How long to wait before an attempt.
  public enum Delay: Sendable {
    /// No wait.
    case none
    /// Always the same time; a negative one is no wait.
    case constant(Duration)
    /// That time once, twice, three times...; a negative one is no wait.
    case linear(Duration)
    /// That time, then each time the multiple by a factor, but never longer
    /// than the cap; a factor below zero, or that is no number, counts as one.
    case exponential(from: Duration, factor: Double = 2, cap: Duration = .seconds(60))

    /// The wait after so many failed attempts, at least one.
    func duration(after failures: Int) -> Duration {
      switch self {
      case .none: return .zero
      case .constant(let duration): return duration
      case .linear(let duration):
        // (Beyond what a duration can be, the longest one.)
        let longest = Duration.seconds(Int64.max)
        let (attoseconds, isTooLong) = duration.attoseconds.multipliedReportingOverflow(
          by: Int128(max(failures, 1)))
        if duration <= .zero { return .zero }
        return isTooLong ? longest : min(Duration(attoseconds: attoseconds), longest)
      case .exponential(let first, let factor, let cap):
        // In floating point, where too long is infinite, not a trap.
        let (limit, factor) = (cap / .seconds(1), factor >= 0 ? factor : 1)
        let seconds = first / .seconds(1) * pow(factor, Double(max(failures, 1) - 1))
        return seconds < limit ? .seconds(max(seconds, 0)) : cap
      }
    }
  }

  /// How often the work runs at most before the task fails; at least once.
  public let attempts: Int
  /// How long to wait before the next attempt.
  public let delay: Delay
  /// Whether an error is worth another attempt.
  public let isWorthwhile: @Sendable (any Error) -> Bool

  /// Describes how to try again.
  ///
  /// - Parameters:
  ///   - attempts: How often the work runs at most; less than one counts as one.
  ///   - delay: How long to wait before the next attempt.
  ///   - isWorthwhile: Looks at the error; every error by default.
  public init(
    attempts: Int, delay: Delay = .none,
    if isWorthwhile: @escaping @Sendable (any Error) -> Bool = { _ in true }
  ) {
    self.attempts = max(attempts, 1)
    self.delay = delay
    self.isWorthwhile = isWorthwhile
  }
}
