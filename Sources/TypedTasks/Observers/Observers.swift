import Foundation
import Futures

extension Observers {
  /// An observer that does nothing.
  public struct Empty: TaskObserver {
    /// Makes the observer.
    public init() {}
  }

  /// Ends a task that executes for too long.
  ///
  /// The clock starts when the task does. When the time is up the task is asked
  /// to cancel; then it is finished with
  /// ``ProducerTaskError/timedOut(after:)``, unless the work has answered the
  /// request with a result of its own. The clock is released as soon as the
  /// task finishes.
  public final class Timeout: TaskObserver {
    private let duration: Duration
    private let endsTask: Bool
    private let timers = Lock<[ObjectIdentifier: Future<Void>]>([:])

    /// Makes the observer.
    ///
    /// - Parameters:
    ///   - timeout: How long the task may execute, in seconds.
    ///   - endsTask: `false` to leave it at the request to cancel, so that work
    ///     that does not answer goes on.
    public convenience init(timeout: TimeInterval, endsTask: Bool = true) {
      let seconds = timeout.isNaN ? 0 : min(max(timeout, 0), 3_000_000_000)
      self.init(.nanoseconds(Int64(seconds * 1e9)), endsTask: endsTask)
    }

    /// Makes the observer.
    ///
    /// - Parameters:
    ///   - duration: How long the task may execute.
    ///   - endsTask: `false` to leave it at the request to cancel, so that work
    ///     that does not answer goes on.
    public init(_ duration: Duration, endsTask: Bool = true) {
      self.duration = duration
      self.endsTask = endsTask
    }

    /// Starts the clock.
    public func taskDidStart<T: ProducerTaskProtocol>(_ task: T) {
      let (duration, endsTask) = (duration, endsTask)
      let timer = Promises.makeSucceeded(with: ()).delay(for: duration)
      timers.withLock { $0[ObjectIdentifier(task)] = timer }
      timer.onSuccess(on: .inline) { [weak task] in
        guard let task, !task.isFinished else { return }
        task.cancel()
        // (Not by `finish(with:)`: a group would wait for its members.)
        if endsTask { task.taskCore?.fail(task, ProducerTaskError.timedOut(after: duration)) }
      }
    }

    /// Releases the clock.
    public func taskDidFinish<T: ProducerTaskProtocol>(_ task: T) {
      timers.withLock { $0.removeValue(forKey: ObjectIdentifier(task)) }?.cancel()
    }
  }

  /// Counts in a Foundation `Progress` how many tasks have finished.
  ///
  /// One observer may be added to many tasks: each counts as one unit.
  public final class Progress: TaskObserver, @unchecked Sendable {
    // Sendable: `Progress` may be used from any thread, and nothing else is
    // here.

    /// The progress that is kept up to date.
    public let progress: Foundation.Progress

    /// Makes the observer.
    ///
    /// - Parameters:
    ///   - totalUnitCount: How many tasks it will be added to.
    ///   - onChange: Called when a task has finished, where it finished, with
    ///     the number of tasks that have, and the total.
    public init(
      totalUnitCount: Int64, onChange: (@Sendable (Int64, Int64) -> Void)? = nil
    ) {
      progress = Foundation.Progress(totalUnitCount: totalUnitCount)
      count = Lock(0)
      self.onChange = onChange
    }

    private let count: Lock<Int64>
    private let onChange: (@Sendable (Int64, Int64) -> Void)?

    /// Counts.
    public func taskDidFinish<T: ProducerTaskProtocol>(_ task: T) {
      let done = count.withLock { count -> Int64 in
        count += 1
        return count
      }
      // The last to come sets the highest, whoever overtakes whom.
      var current = done
      repeat {
        progress.completedUnitCount = current
        let latest = count.withLock { $0 }
        if latest == current { break }
        current = latest
      } while true
      onChange?(done, progress.totalUnitCount)
    }
  }
}
