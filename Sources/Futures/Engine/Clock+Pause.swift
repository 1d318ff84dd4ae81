extension Clock where Duration == Swift.Duration {
  /// Makes a future that succeeds when some time has passed on the clock.
  ///
  /// Cancelling it releases the timer. A negative duration is over at once.
  package func pause(for duration: Duration) -> Future<Void> {
    if self is ContinuousClock { return Promises.delay(for: duration) }
    return Promises.async { try await sleep(for: duration.clamped) }
  }

  /// Makes a function that tells how much time has passed since this call.
  ///
  /// The time is negative while the clock has been set back.
  package func stopwatch() -> @Sendable () -> Duration {
    let start = now
    return { start.duration(to: now) }
  }
}
