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
  /// The clock starts when the task executes. When the time is up, the observer asks the
  /// task to cancel. Then it ends the task with ``ProducerTaskError/timedOut(after:)``,
  /// unless the work has answered the request with a result of its own. Work that only
  /// returns when it is asked to cancel has no result of its own. The clock is released
  /// as soon as the task finishes.
  ///
  /// A task that a timeout ends keeps its slot and its categories until its work has
  /// returned. This means that `execute()` has returned, and also that the `finish` of a
  /// block is called or released, an async closure has returned, or the members of a
  /// group have ended, apart from members that were added to another queue. The library
  /// does not know of work that a subclass continues elsewhere: such a task frees its
  /// slot and its categories at once.
  public final class Timeout: TaskObserver {
    private enum Clock {
      case running(Future<Void>)
      case expired
    }

    /// How long a task may execute.
    public let duration: Duration
    private let endsTask: Bool
    private let clock: any Swift.Clock<Duration>
    private let clocks = Lock<[ObjectIdentifier: Clock]>([:])

    /// Makes the observer.
    ///
    /// - Parameters:
    ///   - duration: How long the task may execute.
    ///   - endsTask: `false` to ask the task to cancel, and not to end it. Work that does
    ///     not react then continues.
    ///   - clock: The clock that measures the time; a `ManualClock` in tests. If its `sleep`
    ///     throws, there is no limit.
    public init(
      _ duration: Duration, endsTask: Bool = true,
      clock: any Swift.Clock<Duration> = ContinuousClock()
    ) {
      self.duration = duration
      self.endsTask = endsTask
      self.clock = clock
    }

    /// Makes the observer.
    ///
    /// - Parameters:
    ///   - interval: How long the task may execute.
    ///   - endsTask: `false` to ask the task to cancel, and not to end it.
    @_disfavoredOverload
    public convenience init(_ interval: DispatchTimeInterval, endsTask: Bool = true) {
      self.init(Duration(interval), endsTask: endsTask)
    }

    /// Starts the clock.
    public func taskDidStart<T: ProducerTaskProtocol>(_ task: T) {
      let (duration, endsTask) = (duration, endsTask)
      // The observer was added twice: the clock of the task runs, or has rung.
      if clocks.withLock({ $0[ObjectIdentifier(task)] != nil }) { return }
      let timer = Promises.delay(for: duration, clock: clock)
      clocks.withLock { $0[ObjectIdentifier(task)] = .running(timer) }
      // On another thread: this thread is about to do the task's work, and an inline
      // closure would wait until the work is done.
      timer.onSuccess(on: OwnThread()) { [weak task] in
        guard let task, self.expire(task) else { return }
        task.cancel()
        // Not with `finish(with:)`: a group would wait for its members.
        if endsTask { task.taskCore?.fail(task, ProducerTaskError.timedOut(after: duration)) }
      }
      // An earlier observer, or another thread, may have ended the task before.
      if task.isSettled { taskDidFinish(task) }
    }

    /// Releases the clock.
    public func taskDidFinish<T: ProducerTaskProtocol>(_ task: T) {
      let clock = clocks.withLock { $0.removeValue(forKey: ObjectIdentifier(task)) }
      if case .running(let timer) = clock { timer.cancel() }
    }

    /// Notes that the time is up; `false` if the task has finished before.
    private func expire(_ task: AnyFuture) -> Bool {
      let last: Clock? = clocks.withLock { clocks in
        guard let clock = clocks[ObjectIdentifier(task)] else { return nil }
        clocks[ObjectIdentifier(task)] = .expired
        return clock
      }
      return last != nil
    }

    func reasonOfCancellation(of task: AnyFuture) -> ProducerTaskError? {
      guard endsTask else { return nil }
      let isExpired = clocks.withLock { clocks in
        if case .expired = clocks[ObjectIdentifier(task)] { true } else { false }
      }
      return isExpired ? .timedOut(after: duration) : nil
    }
  }

  /// Counts in a Foundation `Progress` how many tasks have finished.
  ///
  /// One observer may be added to many tasks; each task counts as one unit. If the number
  /// of tasks is not known at first, add to it as the tasks come:
  ///
  /// ```swift
  /// let progress = Observers.Progress { done, total in print("\(done) of \(total)") }
  /// for link in links {
  ///   progress.expect(1)
  ///   queue.addTask(load(link).addObserver(progress))
  /// }
  /// ```
  public final class Progress: TaskObserver, @unchecked Sendable {
    // Sendable: `Progress` may be used from any thread, `state` has a lock, and the rest
    // never changes.

    /// The progress that the observer updates.
    public let progress: Foundation.Progress

    /// Makes the observer.
    ///
    /// - Parameters:
    ///   - totalUnitCount: The number of tasks that the observer will be added to; see
    ///     ``expect(_:)``.
    ///   - onChange: Called when a task has finished, with the number of finished tasks
    ///     and the total. The calls come one at a time, in the order of the numbers, on
    ///     the thread where this task or another task finishes.
    public init(
      totalUnitCount: Int64 = 0, onChange: (@Sendable (Int64, Int64) -> Void)? = nil
    ) {
      progress = Foundation.Progress(totalUnitCount: totalUnitCount)
      state = Lock(State(total: totalUnitCount))
      self.onChange = onChange
    }

    private struct State {
      var total: Int64
      var done: Int64 = 0
      /// How many finished tasks have been reported.
      var told: Int64 = 0
      var isTelling = false
    }

    private let state: Lock<State>
    private let onChange: (@Sendable (Int64, Int64) -> Void)?

    /// Adds to the number of tasks that the observer will be added to.
    ///
    /// It can be called on any thread. ``progress`` and the closure get the new total
    /// when the next task finishes.
    ///
    /// - Parameter count: The number of additional tasks.
    public func expect(_ count: Int64) { state.withLock { $0.total += count } }

    /// Counts the task.
    public func taskDidFinish<T: ProducerTaskProtocol>(_ task: T) {
      // One thread reports at a time, and also reports what other threads count
      // meanwhile. So the numbers come in order.
      let tells = state.withLock { state in
        state.done += 1
        defer { state.isTelling = true }
        return !state.isTelling
      }
      guard tells else { return }
      while let (number, total) = next() {
        if progress.totalUnitCount != total { progress.totalUnitCount = total }
        progress.completedUnitCount = number
        onChange?(number, total)
      }
    }

    private func next() -> (done: Int64, total: Int64)? {
      state.withLock { state in
        guard state.told < state.done else {
          state.isTelling = false
          return nil
        }
        state.told += 1
        return (state.told, state.total)
      }
    }
  }
}

extension TaskCore {
  /// The error of a task that ends because it was asked to cancel.
  final func errorOfCancellation(of task: AnyFuture) -> ProducerTaskError {
    for case let timeout as Observers.Timeout in observers {
      if let reason = timeout.reasonOfCancellation(of: task) { return reason }
    }
    return .cancelled
  }
}

/// A queue for each operation, so that no other work delays it.
///
/// The queue is made only when there is an operation: most timeouts never ring.
private struct OwnThread: ExecutionContext {
  func execute(_ operation: Operation) {
    DispatchQueue(label: "Properations.Timeout").async { operation.start() }
  }
}
