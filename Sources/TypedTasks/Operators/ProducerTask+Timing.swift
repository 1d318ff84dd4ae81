import Foundation
import Futures

extension ProducerTask {
  /// Delays the value.
  ///
  /// Errors pass through at once. No slot is held meanwhile.
  ///
  /// - Parameters:
  ///   - duration: The delay; a negative duration is no delay.
  ///   - clock: The clock that measures the time; a `ManualClock` in tests. If its `sleep`
  ///     throws, the operator fails with that error.
  public final func delay(
    for duration: Duration, clock: any Clock<Duration> = ContinuousClock()
  ) -> ProducerTask<Output, Failure> {
    stage("delay", .success) { task, source in
      guard duration > .zero else { return task.succeed(with: source.settledValue) }
      Promises.delay(for: duration, clock: clock).answer(for: task) { [weak task] result in
        guard let task else { return }
        if let error = result.failureValue {
          task.taskCore?.fail(task, error, from: .upstream)
        } else {
          task.succeed(with: source.settledValue, from: .upstream)
        }
      }
    }
  }

  /// Delays the value; see ``delay(for:clock:)``.
  ///
  /// - Parameter interval: The delay.
  @_disfavoredOverload
  public final func delay(for interval: DispatchTimeInterval) -> ProducerTask<Output, Failure> {
    delay(for: Duration(interval))
  }

  /// Fails if there is no result in time.
  ///
  /// The clock starts when the operator is put in a queue together with its upstreams.
  /// When the time is up, the operator fails with ``ProducerTaskError/timedOut(after:)``,
  /// and this task is asked to cancel, unless it has other consumers or you have added it to a
  /// queue yourself.
  ///
  /// - Parameters:
  ///   - duration: The time to wait.
  ///   - clock: The clock that measures the time; a `ManualClock` in tests. If its `sleep`
  ///     throws, the operator fails with that error.
  public final func timeout(
    after duration: Duration, clock: any Clock<Duration> = ContinuousClock()
  ) -> ProducerTask<Output, Failure> {
    let task: ProducerTask<Output, Failure> = stage("timeout", []) { _, _ in }
    task.core.onEnqueue { task in
      Promises.delay(for: duration, clock: clock).answer(for: task) { [weak task] result in
        guard let task else { return }
        let error = result.failureValue ?? ProducerTaskError.timedOut(after: duration)
        task.taskCore?.fail(task, error)
      }
    }
    return task
  }

  /// Fails if there is no result in time; see ``timeout(after:clock:)``.
  ///
  /// - Parameter interval: The time to wait.
  @_disfavoredOverload
  public final func timeout(
    after interval: DispatchTimeInterval
  ) -> ProducerTask<Output, Failure> {
    timeout(after: Duration(interval))
  }

  /// Measures the time from the beginning of this task's wait in the queue to its result.
  ///
  /// If this task was added to a queue before the operator, the time counts from when the
  /// operator is added.
  ///
  /// - Parameter clock: The clock that measures the time; a `ManualClock` in tests.
  public final func measureInterval(
    clock: any Clock<Duration> = ContinuousClock()
  ) -> ProducerTask<Duration, Failure> {
    let start = Stopwatch(clock)
    let task: ProducerTask<Duration, Failure> = stage("measureInterval", .success) { task, _ in
      task.succeed(with: start.elapsed)
    }
    task.core.onEnqueue { task in
      start.restart()
      // The operator may wait for a slot after that.
      if task.upstreamFuture?.watch({ _ in start.stop() }) == false { start.stop() }
    }
    return task
  }
}

/// Measures the time from its last start until it is stopped.
private final class Stopwatch: Sendable {
  private let clock: any Clock<Duration>
  private let time: Lock<@Sendable () -> Duration>

  init(_ clock: any Clock<Duration>) {
    self.clock = clock
    time = Lock(clock.stopwatch())
  }

  func restart() { time.replace(with: clock.stopwatch()) }
  var elapsed: Duration { time.withLock { $0 }() }

  func stop() {
    let elapsed = elapsed
    time.replace(with: { elapsed })
  }
}
