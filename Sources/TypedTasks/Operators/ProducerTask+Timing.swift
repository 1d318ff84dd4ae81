import Foundation
import Futures

extension ProducerTask {
  /// Keeps a value back for some time.
  ///
  /// Errors pass at once. No slot is held meanwhile.
  ///
  /// - Parameter duration: How long; not at all if negative.
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

  /// Keeps a value back for some time; see ``delay(for:)-(Duration)``.
  ///
  /// - Parameter interval: How long.
  @_disfavoredOverload
  public final func delay(for interval: DispatchTimeInterval) -> ProducerTask<Output, Failure> {
    delay(for: Duration(interval))
  }

  /// Fails if there is no result in time.
  ///
  /// The clock starts when the stage is put in a queue, with what is above it.
  /// When the time is up the stage fails with
  /// ``ProducerTaskError/timedOut(after:)``, and the task above is asked to
  /// cancel, unless others want its value.
  ///
  /// - Parameter duration: How long to wait.
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

  /// How long the task above took, from the beginning of its wait in the queue
  /// to its result.
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
