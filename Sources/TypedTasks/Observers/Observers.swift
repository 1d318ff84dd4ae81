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
  /// A task that is ended so keeps its slot and its categories until its work has
  /// returned: until `execute()` has, and until the `finish` of a block is called or
  /// released, an async closure has returned, the members of a group have ended. Work
  /// of a subclass that goes on elsewhere is not known to the library: for it they are
  /// free at once.
  ///
  /// The clock starts when the task does. When the time is up the task is asked
  /// to cancel; then it is finished with
  /// ``ProducerTaskError/timedOut(after:)``, unless the work has answered the
  /// request with a result of its own. Work that just returns when it is asked
  /// to cancel has none. The clock is released as soon as the task finishes.
  public final class Timeout: TaskObserver, CancellingObserver {
    private enum Clock {
      case running(Future<Void>)
      case expired
    }

    /// How long a task may execute.
    public let duration: Duration
    private let endsTask: Bool
    private let clocks = Lock<[ObjectIdentifier: Clock]>([:])

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

    /// How long a task may execute, in seconds.
    public var timeout: TimeInterval { duration / .seconds(1) }

    /// Starts the clock.
    public func taskDidStart<T: ProducerTaskProtocol>(_ task: T) {
      let (duration, endsTask) = (duration, endsTask)
      let timer = Promises.delay(for: duration)
      clocks.withLock { $0[ObjectIdentifier(task)] = .running(timer) }
      // On another thread: this one is about to do the task's work, and what is
      // inline would wait until that is done.
      timer.onSuccess(on: DispatchQueue(label: "timeout of \(task.taskName)")) { [weak task] in
        guard let task, self.expire(task) else { return }
        task.cancel()
        // (Not by `finish(with:)`: a group would wait for its members.)
        if endsTask { task.taskCore?.fail(task, ProducerTaskError.timedOut(after: duration)) }
      }
    }

    /// Releases the clock.
    public func taskDidFinish<T: ProducerTaskProtocol>(_ task: T) {
      let clock = clocks.withLock { $0.removeValue(forKey: ObjectIdentifier(task)) }
      if case .running(let timer) = clock { timer.cancel() }
    }

    /// The time is up; `false` if the task was faster.
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
  /// One observer may be added to many tasks: each counts as one unit. Where it is not known
  /// at first how many there will be, say so as they come:
  ///
  /// ```swift
  /// let progress = Observers.Progress { done, total in print("\(done) of \(total)") }
  /// for link in links {
  ///   progress.expect(1)
  ///   queue.addTask(load(link).addObserver(progress))
  /// }
  /// ```
  public final class Progress: TaskObserver, @unchecked Sendable {
    // Sendable: `Progress` may be used from any thread, and nothing else is
    // here.

    /// The progress that is kept up to date.
    public let progress: Foundation.Progress

    /// Makes the observer.
    ///
    /// - Parameters:
    ///   - totalUnitCount: How many tasks it will be added to; see ``expect(_:)``.
    ///   - onChange: Called when a task has finished, with the number of tasks that
    ///     have, and the total: one call at a time, in the order of the numbers, where
    ///     this task or another one that is just finishing has finished.
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
      /// How much of it has been told.
      var told: Int64 = 0
      var isTelling = false
    }

    private let state: Lock<State>
    private let onChange: (@Sendable (Int64, Int64) -> Void)?

    /// Adds to the number of tasks that the observer will be added to.
    ///
    /// Any thread. The new total is in ``progress``, and with the closure, when the next task
    /// finishes.
    ///
    /// - Parameter count: How many more tasks there are.
    public func expect(_ count: Int64) { state.withLock { $0.total += count } }

    /// Counts.
    public func taskDidFinish<T: ProducerTaskProtocol>(_ task: T) {
      // One thread tells at a time, also of what others count meanwhile: the numbers
      // come in their order.
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

/// An observer that cancels tasks, and so can say why one was cancelled.
protocol CancellingObserver: TaskObserver {
  /// `nil` if it was not this observer who cancelled the task.
  func reasonOfCancellation(of task: AnyFuture) -> ProducerTaskError?
}

extension TaskCore {
  /// What a task fails with that ends because it was asked to cancel.
  final func errorOfCancellation(of task: AnyFuture) -> ProducerTaskError {
    for case let observer as any CancellingObserver in observers {
      if let reason = observer.reasonOfCancellation(of: task) { return reason }
    }
    return .cancelled
  }
}
