import Foundation

/// Runs a closure once, after some time.
///
/// Cancelling the timer releases the closure.
final class Timer: CallbackWaiter, @unchecked Sendable {
  // Sendable: an alarm and a Swift task may be used from any thread.

  /// What measures the time: Dispatch, or a Swift task that sleeps on a user's clock.
  private enum Source {
    case alarm(Alarm)
    case sleep(Task<Void, Never>)
    #if PROPERATIONS_EXPLORER
      /// The explorer; the closure cancels the timer there.
      case explored(@Sendable () -> Void)
    #endif
  }

  private let source: Source

  /// Starts the timer.
  ///
  /// - Parameters:
  ///   - duration: The time to wait. A negative duration ends at once, one of more than a
  ///     century lasts a century.
  ///   - clock: The clock that measures the time.
  ///   - ring: Runs on a queue that only this timer uses, or in a Swift task if the clock is
  ///     not `ContinuousClock`. It gets a failure if the clock's `sleep` throws. The timer
  ///     keeps the closure until it has run or the timer is cancelled.
  init(
    after duration: Duration, on clock: any Clock<Duration> = ContinuousClock(),
    _ ring: @escaping @Sendable (FutureResult<Void>) -> Void
  ) {
    source = Self.start(after: duration, on: clock, ring)
    super.init()
  }

  private static func start(
    after duration: Duration, on clock: any Clock<Duration>,
    _ ring: @escaping @Sendable (FutureResult<Void>) -> Void
  ) -> Source {
    if !(clock is ContinuousClock) { return .sleep(sleep(on: clock, for: duration, ring)) }
    #if PROPERATIONS_EXPLORER
      if let cancel = SchedulingPoints.hooks.load()?.startTimer(duration, { ring(.success(())) }) {
        return .explored(cancel)
      }
    #endif
    return .alarm(Alarms.shared.set(at: duration.fromNow) { ring(.success(())) })
  }

  private static func sleep(
    on clock: some Clock<Duration>, for duration: Duration,
    _ ring: @escaping @Sendable (FutureResult<Void>) -> Void
  ) -> Task<Void, Never> {
    // The time counts from here, not from when the task begins.
    let deadline = clock.now.advanced(by: duration.clamped)
    // Detached: what rings is not part of the work that has started the timer.
    return Task.detached(priority: Task.currentPriority) {
      let result: FutureResult<Void>
      do {
        try await clock.sleep(until: deadline, tolerance: nil)
        result = .success(())
      } catch {
        result = .failure(error)
      }
      if !Task.isCancelled { ring(result) }
    }
  }

  func cancel() {
    switch source {
    case .alarm(let alarm): Alarms.shared.cancel(alarm)
    case .sleep(let task): task.cancel()
    #if PROPERATIONS_EXPLORER
      case .explored(let cancel): cancel()
    #endif
    }
  }

  override func withdraw(cancelling: Bool) {
    // Handlers of cancellation of a user's clock run when its task is cancelled.
    if case .sleep(let task) = source {
      WorkLoop.current.discard(CancellingOnRelease(task: task))
    } else {
      cancel()
    }
  }
}

/// Cancels a Swift task where objects of users are released: between the steps of the loop.
private final class CancellingOnRelease {
  private let task: Task<Void, Never>
  init(task: Task<Void, Never>) { self.task = task }
  deinit { task.cancel() }
}

extension Duration {
  /// The longest time that the library waits: a hundred years.
  static let longest = Duration.seconds(TimeArithmetic.longestSeconds)

  /// The duration as the difference of two times on a user's clock.
  ///
  /// It is never more than a thousand years in either direction, so that sums do not
  /// overflow, whatever the clock says.
  var bounded: Duration { min(max(self, .zero - Self.longest * 10), Self.longest * 10) }

  /// The difference of two times on a user's clock, bounded in the same way.
  func boundedDifference(from other: Duration) -> Duration {
    let (difference, isTooLong) = attoseconds.subtractingReportingOverflow(other.attoseconds)
    let longest = Self.longest * 10
    if isTooLong { return self < other ? .zero - longest : longest }
    return Duration(attoseconds: difference).bounded
  }

  /// The duration in nanoseconds, from zero to a hundred years.
  var clampedNanoseconds: UInt64 {
    // The components of a duration of more than 64-bit seconds would trap.
    let (seconds, attoseconds) = clamped.components
    return TimeArithmetic.nanoseconds(seconds: seconds, attoseconds: attoseconds)
  }

  /// The moment at which a duration that begins now ends.
  package var fromNow: DispatchTime {
    DispatchTime(
      uptimeNanoseconds: TimeArithmetic.time(
        clampedNanoseconds, after: DispatchTime.now().uptimeNanoseconds))
  }

  /// Converts an interval of Dispatch, for the methods that take only a `Duration`.
  ///
  /// - Parameter interval: The interval; `never` becomes a century.
  public init(_ interval: DispatchTimeInterval) {
    switch interval {
    case .seconds(let n): self = .seconds(n)
    case .milliseconds(let n): self = .milliseconds(n)
    case .microseconds(let n): self = .microseconds(n)
    case .nanoseconds(let n): self = .nanoseconds(n)
    case .never: self = Self.longest
    @unknown default: self = Self.longest
    }
  }
}
