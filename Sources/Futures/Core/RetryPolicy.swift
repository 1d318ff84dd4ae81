import Foundation

/// How often to try again, how soon, and after which errors.
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
/// A policy counts *attempts*: the first one included. It is asked after each attempt that
/// has failed, except the last one. A cancellation is never tried again.
///
/// A policy is a value: one may be used in many places at the same time.
public struct RetryPolicy: Sendable {
  /// How long to wait before the next attempt.
  public enum Delay: Sendable {
    /// No wait.
    case none
    /// Always the same time.
    case constant(Duration)
    /// That time once, twice, three times...
    case linear(Duration)
    /// That time, then each time the multiple by a factor, but never longer than the
    /// maximum.
    ///
    /// A factor below zero, or that is no number, counts as one.
    case exponential(Duration, factor: Double = 2, maximum: Duration = .seconds(60))
    /// What a closure says that gets the number of the attempt that has failed, beginning
    /// with one, and its error.
    case custom(@Sendable (_ attempt: Int, _ error: any Error) -> Duration)
  }

  /// What chance does to a delay, so that many clients do not try again all at once.
  public struct Jitter: Sendable {
    let random: (@Sendable () -> Double)?

    /// Nothing.
    public static let none = Jitter(random: nil)

    /// The wait is any time between none and the delay.
    public static let full = Jitter.full { .random(in: 0..<1) }

    /// The wait is a share of the delay.
    ///
    /// - Parameter random: Makes the share, a number from zero to one: for tests, and for
    ///   generators of your own.
    public static func full(random: @escaping @Sendable () -> Double) -> Jitter {
      Jitter(random: random)
    }
  }

  /// What comes after an attempt that has failed.
  public struct Decision: Sendable {
    enum Kind { case retry, retryAfter(Duration), stop }

    let kind: Kind

    /// Another attempt, after the delay of the policy.
    public static let retry = Decision(kind: .retry)

    /// No attempt any more: the error is the result.
    public static let stop = Decision(kind: .stop)

    /// Another attempt after a time that is exactly this, whatever the delay and the jitter
    /// of the policy are.
    ///
    /// - Parameter duration: How long to wait; not at all if negative.
    public static func retry(after duration: Duration) -> Decision {
      Decision(kind: .retryAfter(duration))
    }
  }

  /// How many attempts there are at most, the first one included; at least one.
  public let attempts: Int
  /// How long to wait before the next attempt.
  public let delay: Delay
  /// What chance does to the delay.
  public let jitter: Jitter
  /// The time since the first attempt began after which no further attempt begins; `nil` if
  /// there is none.
  public let deadline: Duration?
  let clock: any Clock<Duration>
  let decide: @Sendable (any Error, Int) -> Decision

  /// Makes a policy.
  ///
  /// Nothing overflows, whatever the numbers are: a negative delay is none, and no wait is
  /// longer than a century.
  ///
  /// - Parameters:
  ///   - attempts: How many attempts there are at most, the first one included. Less than
  ///     one counts as one.
  ///   - delay: How long to wait before the next attempt; not at all by default.
  ///   - jitter: What chance does to the delay; nothing by default.
  ///   - deadline: How long after the beginning of the first attempt the last one may begin.
  ///     An attempt that would have to begin later is not waited for: the error is the
  ///     result at once. An attempt that runs is not ended; give it a timeout of its own.
  ///   - clock: What measures the waits and the deadline; give tests one of their own.
  ///   - decide: Gets the error of an attempt, and the number of that attempt, beginning
  ///     with one, and says what comes next. Everything is tried again by default.
  public init(
    attempts: Int, delay: Delay = .none, jitter: Jitter = .none, deadline: Duration? = nil,
    clock: any Clock<Duration> = ContinuousClock(),
    decide: @escaping @Sendable (_ error: any Error, _ attempt: Int) -> Decision = {
      _, _ in .retry
    }
  ) {
    self.attempts = max(attempts, 1)
    self.delay = delay
    self.jitter = jitter
    self.deadline = deadline
    self.clock = clock
    self.decide = decide
  }

  /// Makes a policy that tries again after some errors only.
  ///
  /// See ``init(attempts:delay:jitter:deadline:clock:decide:)``.
  ///
  /// - Parameters:
  ///   - attempts: How many attempts there are at most, the first one included. Less than
  ///     one counts as one.
  ///   - delay: How long to wait before the next attempt; not at all by default.
  ///   - jitter: What chance does to the delay; nothing by default.
  ///   - deadline: How long after the beginning of the first attempt the last one may begin.
  ///   - clock: What measures the waits and the deadline.
  ///   - isWorthwhile: Gets the error of an attempt, and says whether another one has any
  ///     hope.
  public init(
    attempts: Int, delay: Delay = .none, jitter: Jitter = .none, deadline: Duration? = nil,
    clock: any Clock<Duration> = ContinuousClock(),
    retryIf isWorthwhile: @escaping @Sendable (_ error: any Error) -> Bool
  ) {
    self.init(
      attempts: attempts, delay: delay, jitter: jitter, deadline: deadline, clock: clock
    ) { error, _ in isWorthwhile(error) ? .retry : .stop }
  }

  /// How long to wait after an attempt that has failed; `nil` if there is no other one.
  ///
  /// - Parameters:
  ///   - error: The error of the attempt.
  ///   - attempt: Its number, beginning with one.
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
  /// The same, when some time has passed since the first attempt began.
  package func wait(
    after error: any Error, ofAttempt attempt: Int, elapsed: @autoclosure () -> Duration
  ) -> Duration? {
    guard let wait = wait(after: error, ofAttempt: attempt) else { return nil }
    guard let deadline else { return wait }
    return elapsed().clamped + wait <= deadline.clamped ? wait : nil
  }

  /// Makes a future that succeeds when it is time for the next attempt.
  ///
  /// Cancelling it releases the timer.
  package func pause(for duration: Duration) -> Future<Void> { clock.pause(for: duration) }
}

extension RetryPolicy.Delay {
  /// The wait after an attempt that has failed.
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
  /// The duration as a time to wait: neither negative nor longer than a century.
  package var clamped: Duration { min(max(self, .zero), Self.longest) }

  /// The multiple of a time to wait, which is a time to wait again.
  fileprivate func multiplied(by factor: Double) -> Duration {
    if self == .zero { return .zero }
    // (In floating point, where too long is infinite and not a trap; in attoseconds,
    // where round numbers stay round.)
    let attoseconds = Double(self.attoseconds) * factor
    return attoseconds < Double(Self.longest.attoseconds)
      ? Duration(attoseconds: Int128(attoseconds)) : Self.longest
  }
}
