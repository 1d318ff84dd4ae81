import Foundation

/// A rule that says how often, how soon, and after which errors work is tried again.
///
/// ```swift
/// let policy = RetryPolicy(
///   attempts: 5, delay: .exponential(.milliseconds(200), maximum: .seconds(10)), jitter: .full
/// ) { error, attempt in
///   if let busy = error as? ServerIsBusy { return .retry(after: busy.wait) }
///   return error is URLError ? .retry : .stop
/// }
/// ```
///
/// A policy counts *attempts*, including the first one. The library asks it after each
/// failed attempt, except the last one. A cancelled attempt is never tried again.
///
/// A policy is a value. Several pieces of work may use one policy at the same time.
public struct RetryPolicy: Sendable {
  /// The time to wait before the next attempt.
  public enum Delay: Sendable {
    /// No wait.
    case none
    /// The same time before every attempt.
    case constant(Duration)
    /// The given time once, twice, three times...
    case linear(Duration)
    /// The given time first, then multiplied by a factor each time, but never longer than
    /// the maximum.
    ///
    /// A factor that is negative or not a number counts as one.
    case exponential(Duration, factor: Double = 2, maximum: Duration = .seconds(60))
    /// The time that a closure returns. The closure gets the number of the failed
    /// attempt, beginning with one, and its error.
    case custom(@Sendable (_ attempt: Int, _ error: any Error) -> Duration)
  }

  /// A random change of the delay.
  ///
  /// It prevents many clients from trying again at once.
  public struct Jitter: Sendable {
    let random: (@Sendable () -> Double)?

    /// The delay is not changed.
    public static let none = Jitter(random: nil)

    /// The wait is a random time between zero and the delay.
    public static let full = Jitter.full { .random(in: 0..<1) }

    /// The wait is a share of the delay.
    ///
    /// - Parameter random: Returns the share, a number from zero to one. Use it in tests,
    ///   or with your own random generator. Less than zero and NaN count as zero, more than
    ///   one as one.
    public static func full(random: @escaping @Sendable () -> Double) -> Jitter {
      Jitter(random: random)
    }
  }

  /// What the library does after a failed attempt.
  public struct Decision: Sendable {
    enum Kind { case retry, retryAfter(Duration), stop }

    let kind: Kind

    /// Makes another attempt, after the delay of the policy.
    public static let retry = Decision(kind: .retry)

    /// Makes no further attempt: the error is the result.
    public static let stop = Decision(kind: .stop)

    /// Makes another attempt after exactly the given time, whatever the delay and the
    /// jitter of the policy are.
    ///
    /// - Parameter duration: The time to wait; a negative duration counts as zero.
    public static func retry(after duration: Duration) -> Decision {
      Decision(kind: .retryAfter(duration))
    }

    /// Makes another attempt after exactly the given time.
    ///
    /// See ``retry(after:)-(Duration)``.
    ///
    /// - Parameter interval: The time to wait.
    @_disfavoredOverload
    public static func retry(after interval: DispatchTimeInterval) -> Decision {
      retry(after: Duration(interval))
    }
  }

  /// The greatest number of attempts, including the first one; at least one.
  public let attempts: Int
  /// The time to wait before the next attempt.
  public let delay: Delay
  /// The random change of the delay.
  public let jitter: Jitter
  /// The latest time for an attempt to begin, counted from the beginning of the first
  /// one; for futures, from the call that makes the future.
  ///
  /// `nil` means no deadline.
  public let deadline: Duration?
  /// The limit that this work shares with other work; `nil` means none.
  public let budget: RetryBudget?
  let clock: any Clock<Duration>
  let decide: @Sendable (any Error, Int) -> Decision

  /// Makes a policy.
  ///
  /// No numbers overflow: a negative delay counts as zero, and no wait is longer than a
  /// century.
  ///
  /// - Parameters:
  ///   - attempts: The greatest number of attempts, including the first one. Less than
  ///     one counts as one.
  ///   - delay: The time to wait before the next attempt. None by default.
  ///   - jitter: The random change of the delay. None by default.
  ///   - deadline: The latest time for an attempt to begin, counted from the beginning of
  ///     the first one; less than zero counts as zero. If the next attempt would begin later,
  ///     the error is the result at once. A running attempt does not end at the deadline; give
  ///     it a timeout of its own.
  ///   - budget: A limit that this work shares with other work. It is asked last: what the
  ///     closure or the deadline stops takes nothing from it.
  ///   - clock: The clock that measures the waits and the deadline. Tests can pass their
  ///     own. If its `sleep` throws, that error is the result; only a task of a workflow begins
  ///     its next attempt at once.
  ///   - decide: Called with the error and the number of a failed attempt, beginning with
  ///     one. Returns what happens next. By default every error is tried again.
  public init(
    attempts: Int, delay: Delay = .none, jitter: Jitter = .none, deadline: Duration? = nil,
    budget: RetryBudget? = nil, clock: any Clock<Duration> = ContinuousClock(),
    decide: @escaping @Sendable (_ error: any Error, _ attempt: Int) -> Decision = {
      _, _ in .retry
    }
  ) {
    self.attempts = max(attempts, 1)
    self.delay = delay
    self.jitter = jitter
    self.deadline = deadline
    self.budget = budget
    self.clock = clock
    self.decide = decide
  }

  /// Makes a policy that tries again only after some errors.
  ///
  /// See ``init(attempts:delay:jitter:deadline:budget:clock:decide:)``.
  ///
  /// - Parameters:
  ///   - attempts: The greatest number of attempts, including the first one. Less than
  ///     one counts as one.
  ///   - delay: The time to wait before the next attempt. None by default.
  ///   - jitter: The random change of the delay. None by default.
  ///   - deadline: The latest time for an attempt to begin, counted from the beginning of
  ///     the first one.
  ///   - budget: A limit that this work shares with other work.
  ///   - clock: The clock that measures the waits and the deadline.
  ///   - isWorthwhile: Called with the error of an attempt. Returns whether another
  ///     attempt may succeed.
  public init(
    attempts: Int, delay: Delay = .none, jitter: Jitter = .none, deadline: Duration? = nil,
    budget: RetryBudget? = nil, clock: any Clock<Duration> = ContinuousClock(),
    retryIf isWorthwhile: @escaping @Sendable (_ error: any Error) -> Bool
  ) {
    self.init(
      attempts: attempts, delay: delay, jitter: jitter, deadline: deadline, budget: budget,
      clock: clock
    ) { error, _ in isWorthwhile(error) ? .retry : .stop }
  }

  /// Returns the time to wait after a failed attempt, or `nil` if there is no further
  /// attempt.
  ///
  /// - Parameters:
  ///   - error: The error of the attempt.
  ///   - attempt: The number of the attempt, beginning with one.
  func wait(after error: any Error, ofAttempt attempt: Int) -> Duration? {
    guard attempt < attempts else { return nil }
    switch decide(error, attempt).kind {
    case .stop: return nil
    case .retryAfter(let duration): return duration.clamped
    case .retry: break
    }
    let duration = delay.duration(after: attempt, error)
    guard let random = jitter.random else { return duration }
    let share = random()
    return share >= 0 ? duration.multiplied(by: min(share, 1)) : .zero
  }
}

extension RetryPolicy {
  /// Whether the library has to know when the first attempt begins.
  package var needsBeginning: Bool { deadline != nil || budget != nil }

  /// Counts the work that begins its first attempt.
  ///
  /// - Returns: A function that returns the time since then, if the policy has a deadline.
  package func begin() -> (@Sendable () -> Duration)? {
    budget?.addWork()
    return deadline == nil ? nil : clock.stopwatch()
  }

  /// Returns the wait if the next attempt can begin before the deadline and is in the
  /// budget, otherwise `nil`.
  package func wait(
    after error: any Error, ofAttempt attempt: Int, elapsed: @autoclosure () -> Duration
  ) -> Duration? {
    guard let wait = wait(after: error, ofAttempt: attempt) else { return nil }
    if let deadline, elapsed().clamped + wait > deadline.clamped { return nil }
    if let budget, !budget.takeAttempt() { return nil }
    return wait
  }

  /// Makes a future that succeeds when it is time for the next attempt.
  ///
  /// Cancelling the future releases the timer.
  package func pause(
    for duration: Duration, at birthplace: Birthplace = Birthplace(#fileID, #line)
  ) -> Future<Void> {
    Promises.delay(
      for: duration, clock: clock, fileID: birthplace.fileID, line: UInt(birthplace.line))
  }
}

extension RetryPolicy.Delay {
  /// Returns the wait after a failed attempt.
  func duration(after attempt: Int, _ error: any Error) -> Duration {
    switch self {
    case .none: return .zero
    case .constant(let duration): return duration.clamped
    case .linear(let duration): return duration.clamped.multiplied(by: Double(attempt))
    case .exponential(let duration, let factor, let maximum):
      let factor = factor >= 0 ? factor : 1
      return min(
        duration.clamped.multiplied(by: pow(factor, Double(attempt - 1))), maximum.clamped)
    case .custom(let delay): return delay(attempt, error).clamped
    }
  }
}

extension Duration {
  /// The duration as a time to wait: not negative, and not longer than a century.
  package var clamped: Duration { min(max(self, .zero), Self.longest) }

  /// The multiple of a time to wait.
  ///
  /// The result is a valid time to wait again.
  fileprivate func multiplied(by factor: Double) -> Duration {
    if self == .zero { return .zero }
    // In floating point, where a too long time is infinite and does not trap. In
    // attoseconds, where round numbers stay round.
    let attoseconds = Double(self.attoseconds) * factor
    return attoseconds < Double(Self.longest.attoseconds)
      ? Duration(attoseconds: Int128(attoseconds)) : Self.longest
  }
}
