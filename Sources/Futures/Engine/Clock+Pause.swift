extension Clock where Duration == Swift.Duration {
  /// Makes a future that succeeds when some time has passed on the clock.
  ///
  /// Cancelling the future releases the timer. A negative duration ends at once.
  package func pause(for duration: Duration) -> Future<Void> {
    if self is ContinuousClock { return Promises.delay(for: duration) }
    return Promises.async { try await sleep(for: duration.clamped) }
  }

  /// Makes a function that returns the time since this call.
  ///
  /// The time is negative while the clock is set back.
  package func stopwatch() -> @Sendable () -> Duration {
    let start = now
    return { start.duration(to: now) }
  }
}
