import Futures

/// A rate limiter is a condition: each task waits for a permit before it runs.
///
/// ```swift
/// let limiter = RateLimiter(permits: 10, per: .seconds(1))
/// for page in pages { queue.addTask(fetch(page).addCondition(limiter)) }
/// for page in pages { queue.addTask(check(page).addCondition(.rate(limiter, for: page.host))) }
/// ```
///
/// Permits are given in the order in which the tasks become ready. A task that waits for a
/// permit holds no slot. A task that is cancelled meanwhile leaves the line and uses no
/// permit. The permit is used up when the condition is met, also if another condition of the
/// task is not.
extension RateLimiter: TaskCondition, ConditionOfTheLibrary {
  // Asked in place, so that tasks get permits in the order in which they become ready.

  /// Answers that the condition is met when the task gets a permit.
  ///
  /// The condition is not met if the clock of the limiter throws; its error is the reason.
  public func evaluate<T: ProducerTaskProtocol>(
    for task: T, completion: @escaping @Sendable (Result<Void, any Error>) -> Void
  ) { acquire().answer(for: task, completion) }
}

extension Conditions {
  /// Makes the task wait for a permit of a rate limiter under a key.
  ///
  /// `RateLimiter` itself is the condition for permits without a key.
  public struct Rate<Key: Hashable & Sendable>: TaskCondition, ConditionOfTheLibrary {
    private let limiter: RateLimiter
    private let key: Key

    /// Makes the condition.
    ///
    /// - Parameters:
    ///   - limiter: Gives out the permits.
    ///   - key: Names what the rate belongs to, for example a host.
    public init(_ limiter: RateLimiter, for key: Key) {
      self.limiter = limiter
      self.key = key
    }

    /// Answers that the condition is met when the task gets a permit.
    public func evaluate<T: ProducerTaskProtocol>(
      for task: T, completion: @escaping @Sendable (Result<Void, any Error>) -> Void
    ) { limiter.acquire(for: key).answer(for: task, completion) }
  }
}

extension TaskCondition {
  /// Makes the task wait for a permit of a rate limiter under a key; see
  /// ``Conditions/Rate``.
  ///
  /// - Parameters:
  ///   - limiter: Gives out the permits.
  ///   - key: Names what the rate belongs to.
  public static func rate<Key>(_ limiter: RateLimiter, for key: Key) -> Self
  where Self == Conditions.Rate<Key> { Self(limiter, for: key) }
}
