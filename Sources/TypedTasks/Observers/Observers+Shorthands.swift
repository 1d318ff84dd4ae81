import Foundation

// Short names for observers: `task.addObserver(.timeout(.seconds(5)))`.

extension TaskObserver where Self == Observers.Timeout {
  /// Ends a task that executes for too long; see ``Observers/Timeout``.
  ///
  /// - Parameters:
  ///   - duration: How long the task may execute.
  ///   - endsTask: `false` to ask the task to cancel, and not to end it.
  ///   - clock: The clock that measures the time.
  public static func timeout(
    _ duration: Duration, endsTask: Bool = true,
    clock: any Clock<Duration> = ContinuousClock()
  ) -> Self {
    Self(duration, endsTask: endsTask, clock: clock)
  }

  /// Ends a task that executes for too long; see ``Observers/Timeout``.
  ///
  /// - Parameters:
  ///   - interval: How long the task may execute.
  ///   - endsTask: `false` to ask the task to cancel, and not to end it.
  @_disfavoredOverload
  public static func timeout(_ interval: DispatchTimeInterval, endsTask: Bool = true) -> Self {
    Self(Duration(interval), endsTask: endsTask)
  }
}
