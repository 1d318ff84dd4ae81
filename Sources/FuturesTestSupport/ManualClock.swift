import Futures

/// A clock that stands still until a test moves it.
///
/// Give it to the code under test in place of `ContinuousClock`. The test waits until that
/// code sleeps, and moves the clock:
///
/// ```swift
/// let clock = ManualClock()
/// let reminder = Promises.async { try await remind(after: .seconds(60), clock: clock) }
///
/// let sleep = try await clock.nextSleep()
/// #expect(sleep.duration == .seconds(60))
/// clock.advance(by: sleep.duration)
/// let text = try await reminder.value
/// ```
///
/// The clock neither sleeps nor yields: only the test decides how much time has passed. A
/// sleeper that is cancelled wakes at once with `CancellationError`.
///
/// The idea of a clock that a test moves comes from the test schedulers of Rx.
public final class ManualClock: Clock, Sendable {
  private enum Sleeper {
    /// The task has asked for a sleep, and does not wait yet.
    case arriving
    /// The task was cancelled before it waited.
    case cancelled
    /// The task waits.
    ///
    /// The ticket is that of the sleep in `unseen`, if no call has returned the sleep.
    case asleep(Sleep, CheckedContinuation<Void, any Error>, ticket: Int?)
  }

  /// A call of `nextSleep()`.
  private enum Observer {
    /// The call does not wait yet.
    case arriving
    /// The task was cancelled before the call waited.
    case cancelled
    /// The call waits in `observers`.
    case waiting(ticket: Int)
  }

  private struct State {
    var now = Instant(offset: .zero)
    var nextID = 0
    var sleepers: [Int: Sleeper] = [:]
    /// The sleeps that no call of `nextSleep()` has returned, in order.
    var unseen = WaitingLine<Sleep>()
    /// The calls of `nextSleep()` that wait, in order.
    var observers = WaitingLine<(id: Int, continuation: CheckedContinuation<Sleep, any Error>)>()
    /// The calls of `nextSleep()` that have not got a sleep.
    var calls: [Int: Observer] = [:]
    var sleeps: [Duration] = []

    mutating func makeID() -> Int {
      nextID += 1
      return nextID
    }

    /// Removes a sleeper and returns its continuation, if it waits.
    mutating func wake(_ id: Int) -> CheckedContinuation<Void, any Error>? {
      guard case .asleep(_, let continuation, let ticket) = sleepers.removeValue(forKey: id)
      else { return nil }
      if let ticket { unseen.leave(ticket) }
      return continuation
    }

    /// Removes a call of `nextSleep()` that is cancelled; returns its continuation, if it
    /// waits.
    mutating func cancel(call id: Int) -> CheckedContinuation<Sleep, any Error>? {
      switch calls[id] {
      case .arriving: calls[id] = .cancelled
      case .waiting(let ticket):
        calls[id] = nil
        return observers.leave(ticket)?.continuation
      case .cancelled, nil: break
      }
      return nil
    }
  }

  // No continuation is resumed under the lock.
  private let state = Lock(State())

  /// Makes a clock that stands at zero.
  public init() {}

  /// The time at which the clock stands.
  public var now: Instant { state.withLock { $0.now } }

  /// One nanosecond.
  public var minimumResolution: Duration { .nanoseconds(1) }

  /// The number of tasks that sleep now.
  public var sleeping: Int {
    state.withLock { state in
      state.sleepers.values.count { if case .asleep = $0 { true } else { false } }
    }
  }

  /// The duration of each sleep, in order, including sleeps that have ended.
  package var sleeps: [Duration] { state.withLock { $0.sleeps } }

  /// Suspends the task until the clock reaches a point in time.
  ///
  /// The call returns at once if the clock has reached that point.
  ///
  /// - Parameters:
  ///   - deadline: The point in time.
  ///   - tolerance: Ignored; the clock is exact.
  /// - Throws: `CancellationError` if the task is cancelled before the sleep ends.
  public func sleep(until deadline: Instant, tolerance: Duration? = nil) async throws {
    let id = state.withLock { state in
      let id = state.makeID()
      state.sleepers[id] = .arriving
      state.sleeps.append(state.now.duration(to: deadline))
      return id
    }
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        fallAsleep(id, until: deadline, continuation)
      }
    } onCancel: {
      let continuation = state.withLock { state in
        if case .arriving = state.sleepers[id] { state.sleepers[id] = .cancelled }
        if case .asleep = state.sleepers[id] { return state.wake(id) }
        return nil
      }
      continuation?.resume(throwing: CancellationError())
    }
  }

  private func fallAsleep(
    _ id: Int, until deadline: Instant, _ continuation: CheckedContinuation<Void, any Error>
  ) {
    enum Next {
      case over(Result<Void, any Error>)
      case waits(Sleep, observer: CheckedContinuation<Sleep, any Error>?)
    }
    let next: Next = state.withLock { state in
      if case .cancelled = state.sleepers[id] {
        state.sleepers[id] = nil
        return .over(.failure(CancellationError()))
      }
      if deadline <= state.now {
        state.sleepers[id] = nil
        return .over(.success(()))
      }
      let sleep = Sleep(duration: state.now.duration(to: deadline), deadline: deadline)
      let observer = state.observers.popFirst()
      if let observer { state.calls[observer.id] = nil }
      let ticket = observer == nil ? state.unseen.join(sleep) : nil
      state.sleepers[id] = .asleep(sleep, continuation, ticket: ticket)
      return .waits(sleep, observer: observer?.continuation)
    }
    switch next {
    case .over(let result): continuation.resume(with: result)
    case .waits(let sleep, let observer): observer?.resume(returning: sleep)
    }
  }

  /// Waits until a task sleeps, and tells for how long.
  ///
  /// The call returns at once if a task sleeps that no earlier call has told about. Each
  /// sleep is told once, in the order in which the sleeps begin. A sleep that has ended is
  /// not told any more, and a sleep until a past time never is. Several calls that wait get
  /// one sleep each, in the order of the calls.
  ///
  /// The call waits for ever if nothing sleeps: give the test a time limit.
  ///
  /// - Returns: The duration and the deadline of the sleep.
  /// - Throws: `CancellationError` if the task is cancelled while it waits.
  public func nextSleep() async throws -> Sleep {
    let id = state.withLock { state in
      let id = state.makeID()
      state.calls[id] = .arriving
      return id
    }
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let result: Result<Sleep, any Error>? = state.withLock { state in
          if case .cancelled = state.calls.removeValue(forKey: id) {
            return .failure(CancellationError())
          }
          if let sleep = state.unseen.popFirst() { return .success(sleep) }
          state.calls[id] = .waiting(ticket: state.observers.join((id, continuation)))
          return nil
        }
        if let result { continuation.resume(with: result) }
      }
    } onCancel: {
      let observer = state.withLock { $0.cancel(call: id) }
      observer?.resume(throwing: CancellationError())
    }
  }

  /// Moves the clock, and wakes the tasks whose sleep is over.
  ///
  /// The tasks are woken in the order of their deadlines, and of their calls if the
  /// deadlines are the same. Swift decides when a woken task continues. A task that
  /// sleeps again sleeps from the new time on: to play a repeated sleep, wait for each with
  /// ``nextSleep()``.
  ///
  /// - Parameter duration: The time to add. A negative duration sets the clock back and
  ///   wakes no task. A time beyond the range of the clock becomes its end.
  /// - Complexity: O(*n* log *n*) in the number of sleeping tasks.
  public func advance(by duration: Duration) {
    let due = state.withLock { state in
      state.now = state.now.advanced(by: duration)
      var due: [(deadline: Instant, id: Int)] = []
      for case (let id, .asleep(let sleep, _, _)) in state.sleepers
      where sleep.deadline <= state.now {
        due.append((sleep.deadline, id))
      }
      due.sort { ($0.deadline, $0.id) < ($1.deadline, $1.id) }
      return due.compactMap { state.wake($0.id) }
    }
    for continuation in due { continuation.resume() }
  }
}
