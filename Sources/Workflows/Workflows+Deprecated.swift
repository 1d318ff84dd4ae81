import Futures

/// The older name of `RetryPolicy`, which futures, typed tasks and workflows share.
@available(*, deprecated, renamed: "RetryPolicy")
public typealias TaskRetryPolicy = RetryPolicy

extension RetryPolicy {
  /// Makes a policy: the older spelling of
  /// `init(attempts:delay:jitter:deadline:clock:retryIf:)`.
  ///
  /// - Parameters:
  ///   - attempts: How often the work runs at most; less than one counts as one.
  ///   - delay: How long to wait before the next attempt.
  ///   - isWorthwhile: Decides from the error whether to try again.
  @available(*, deprecated, message: "Use retryIf: in the place of if:")
  @_disfavoredOverload
  public init(
    attempts: Int, delay: Delay = .none, if isWorthwhile: @escaping @Sendable (any Error) -> Bool
  ) {
    self.init(attempts: attempts, delay: delay, retryIf: isWorthwhile)
  }
}

extension RetryPolicy.Delay {
  /// Makes an exponential delay: the older spelling of `exponential(_:factor:maximum:)`.
  ///
  /// - Parameters:
  ///   - first: The first wait.
  ///   - factor: The factor by which each wait is longer than the previous one.
  ///   - cap: The longest wait.
  public static func exponential(
    from first: Duration, factor: Double = 2, cap: Duration = .seconds(60)
  ) -> Self {
    .exponential(first, factor: factor, maximum: cap)
  }
}
