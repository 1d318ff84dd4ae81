import Foundation
import Futures

extension ProducerTask {
  /// Delays the value.
  ///
  /// Errors pass through at once. No slot is held meanwhile.
  ///
  /// - Parameter duration: The delay; a negative duration is no delay.
  public final func delay(for duration: Duration) -> ProducerTask<Output, Failure> {
    stage("delay", .success) { task, source in
      guard duration > .zero else { return task.succeed(with: source.settledValue) }
      let timer = Promises.delay(for: duration)
      timer.onSuccess(on: .inline) { [weak task] in
        task?.succeed(with: source.settledValue, from: .upstream)
      }
      if !task.watch({ _ in timer.cancel() }) { timer.cancel() }
    }
  }

  /// Delays the value; see ``delay(for:)-(Duration)``.
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
  /// and this task is asked to cancel, unless it has other consumers.
  ///
  /// - Parameter duration: The time to wait.
  public final func timeout(after duration: Duration) -> ProducerTask<Output, Failure> {
    let task: ProducerTask<Output, Failure> = stage("timeout", []) { _, _ in }
    task.core.onEnqueue { task in
      let timer = Promises.delay(for: duration)
      timer.onSuccess(on: .inline) { [weak task] in
        guard let task else { return }
        task.taskCore?.fail(task, ProducerTaskError.timedOut(after: duration))
      }
      if !task.watch({ _ in timer.cancel() }) { timer.cancel() }
    }
    return task
  }

  /// Measures the time from the beginning of this task's wait in the queue to its result.
  public final func measureInterval() -> ProducerTask<Duration, Failure> {
    let start = Lock(ContinuousClock.now)
    let clock = StartTime(start)
    let task: ProducerTask<Duration, Failure> = stage("measureInterval", .success) { task, _ in
      task.succeed(with: clock.elapsed)
    }
    task.core.onEnqueue { _ in clock.restart() }
    return task
  }
}

private final class StartTime: @unchecked Sendable {
  // Sendable: the time has a lock.
  private let start: Lock<ContinuousClock.Instant>

  init(_ start: consuming Lock<ContinuousClock.Instant>) { self.start = start }

  func restart() { start.withLock { $0 = .now } }
  var elapsed: Duration { start.withLock { $0 }.duration(to: .now) }
}
