extension Clock where Duration == Swift.Duration {
  /// Makes a function that returns the time since this call.
  ///
  /// The time is negative while the clock is set back.
  package func stopwatch() -> @Sendable () -> Duration {
    let start = now
    return { start.duration(to: now) }
  }
}
