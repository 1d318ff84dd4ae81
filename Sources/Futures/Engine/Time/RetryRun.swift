/// The attempts of one piece of work under a retry policy.
///
/// One attempt runs at a time. The library holds no lock when it calls the closures of
/// the policy.
package final class RetryRun: Sendable {
  private struct State {
    var history = RetryHistory()
    var hasBegun = false
    /// Returns the time since the beginning of the first attempt.
    var elapsed: (@Sendable () -> Duration)?
  }

  private let policy: RetryPolicy
  private let state = Lock(State())

  package init(_ policy: RetryPolicy) { self.policy = policy }

  package var history: RetryHistory { state.withLock { $0.history } }

  /// The number of the attempt that runs or comes next.
  package var attempt: Int { history.count + 1 }

  /// Starts the clock of the first attempt, and counts the work.
  ///
  /// Only the first call counts.
  package func begin() {
    guard policy.needsBeginning else { return }
    let isFirst = state.withLock { state in
      defer { state.hasBegun = true }
      return !state.hasBegun
    }
    guard isFirst, let elapsed = policy.begin() else { return }
    state.withLock { $0.elapsed = elapsed }
  }

  /// Records that an attempt has failed.
  ///
  /// - Returns: The time to wait before the next attempt, or `nil` if there is none.
  package func wait(after error: any Error) -> Duration? {
    // An error that leaves the history is released after unlock.
    let (attempt, elapsed, forgotten) = state.withLock { state in
      let forgotten = state.history.add(error)
      return (state.history.count, state.elapsed, forgotten)
    }
    withExtendedLifetime(forgotten) {}
    return policy.wait(after: error, ofAttempt: attempt, elapsed: elapsed?() ?? .zero)
  }

  /// Records that an attempt has failed for a reason that no further attempt can change.
  package func stop(after error: any Error) {
    let forgotten = state.withLock { $0.history.add(error) }
    withExtendedLifetime(forgotten) {}
  }

  /// Suspends until it is time for the next attempt.
  func sleep(for duration: Duration) async throws {
    if duration > .zero { try await policy.clock.sleep(for: duration) }
  }

  /// Makes a future that succeeds when it is time for the next attempt.
  package func pause(
    for duration: Duration, at birthplace: Birthplace = Birthplace(#fileID, #line)
  ) -> Future<Void> {
    policy.pause(for: duration, at: birthplace)
  }
}
