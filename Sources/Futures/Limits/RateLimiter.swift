import Foundation

/// Limits the rate of work: gives out a number of permits per period, in the order of the
/// requests.
///
/// ```swift
/// let limiter = RateLimiter(permits: 10, per: .seconds(1))
/// let page = limiter.acquire().mapToFuture(on: .global()) { fetch(url) }
/// ```
///
/// After a pause, as many permits as the *burst* are available at once. Further permits
/// come one by one, evenly spread over the period. The limiter never gives out more than
/// the burst at once, even when a timer is late. So only a limiter with a burst reaches a
/// rate of more than a thousand permits a second.
///
/// No thread is blocked: a caller that requests a permit gets a future. The permit is used
/// up when its future succeeds, and does not come back.
///
/// Each key has a rate and a line of its own. The calls without a key share one more:
///
/// ```swift
/// let turn = limiter.acquire(for: url.host)
/// ```
///
/// Keys are hashed and compared while the limiter is locked. So `==` and `hash(into:)` must
/// not call the limiter.
public final class RateLimiter: Sendable {
  /// A key of any type; `nil` for calls without a key.
  private struct Key: Hashable, @unchecked Sendable {
    // Sendable: `acquire(for:)` accepts only keys that are Sendable.
    let value: AnyHashable?
  }

  private typealias Machine = RateMachine<Key, Future<Void>>

  private let machine: Lock<Machine>
  private let clock: any Clock<Duration>
  private let time: SteadyClock

  /// Makes a limiter.
  ///
  /// No argument overflows or traps: a period longer than a century counts as a century.
  ///
  /// - Parameters:
  ///   - permits: The number of permits in each period, on average. A number less than one
  ///     counts as one. After a pause, up to `burst` more may be given within one period: for
  ///     a strict limit, pass a `burst` of 1.
  ///   - period: The period. If it is zero or negative, there is no limit.
  ///   - burst: The number of permits that are available at once after a pause; as many as
  ///     in a period by default. A number less than one counts as one.
  ///   - clock: Measures the time. Tests can pass a clock of their own. A clock that is set
  ///     back counts as a clock that stands still for requests that come afterwards. Requests
  ///     that are waiting at that moment wait until the clock has made up for it. If its
  ///     `sleep` throws, the futures that wait under that key fail with that error.
  public init(
    permits: Int, per period: Duration, burst: Int? = nil,
    clock: any Clock<Duration> = ContinuousClock()
  ) {
    machine = Lock(
      Machine(interval: period.clamped / max(permits, 1), burst: max(burst ?? permits, 1)))
    self.clock = clock
    time = SteadyClock(clock)
  }

  /// The number of futures that wait for a permit at this moment, under all keys.
  ///
  /// - Complexity: O(the number of keys).
  public var waitingCount: Int { machine.withLock { $0.waitingCount } }

  /// Requests a permit.
  ///
  /// Futures get permits in the order of these calls. A future that is cancelled leaves the
  /// line and uses no permit.
  ///
  /// - Returns: A future that succeeds when it gets a permit.
  public func acquire(fileID: StaticString = #fileID, line: UInt = #line) -> Future<Void> {
    acquire(Key(value: nil), Birthplace(fileID, line))
  }

  /// Requests a permit under a key.
  ///
  /// See ``acquire(fileID:line:)``. Keys that are not in use are dropped each time that the
  /// number of keys has doubled.
  ///
  /// - Parameter key: Names what the rate belongs to, for example a host, a customer or a
  ///   file.
  /// - Returns: A future that succeeds when it gets a permit.
  public func acquire(
    for key: some Hashable & Sendable, fileID: StaticString = #fileID, line: UInt = #line
  ) -> Future<Void> {
    acquire(Key(value: AnyHashable(key)), Birthplace(fileID, line))
  }

  /// Gives out no permits for some time, under any key.
  ///
  /// Use it when a server asks for a pause, as with `Retry-After`. Futures that wait keep
  /// their places. If several pauses overlap, the one that ends last counts.
  ///
  /// - Parameter duration: The length of the pause, at most a century. A negative duration
  ///   has no effect.
  public func pause(for duration: Duration) {
    let now = time.now
    machine.withLock { $0.pause(for: duration.clamped, now: now) }
  }

  /// Gives out no permits for some time, under any key.
  ///
  /// See ``pause(for:)-(Duration)``.
  ///
  /// - Parameter interval: The length of the pause.
  @_disfavoredOverload
  public func pause(for interval: DispatchTimeInterval) { pause(for: Duration(interval)) }

  /// Gives out no permits until a point in time, under any key.
  ///
  /// See ``pause(for:)-(Duration)``. The remaining time is measured when this method is called.
  ///
  /// - Parameter instant: The end of the pause. An instant in the past has no effect.
  public func pause(until instant: ContinuousClock.Instant) {
    pause(for: ContinuousClock.now.duration(to: instant))
  }

  // MARK: Waiting

  private func acquire(_ key: Key, _ birthplace: Birthplace) -> Future<Void> {
    let future = Future<Void>(traits: [], at: birthplace)
    let now = time.now
    let (ticket, action) = machine.withLock { $0.request(future, key, now: now) }
    if let ticket {
      let place = PlaceInLine(ticket) { [self] in
        leave($0, key)
      } explain: { [self] in
        explain($0, key)
      }
      _ = future.storage.wait(for: .source(place))
    }
    perform(action, key)
    return future
  }

  private func explain(_ ticket: Int, _ key: Key) -> String? {
    let now = time.now
    let (count, pause) = machine.withLock {
      ($0.countInFront(of: ticket, key), $0.remainingPause(now: now))
    }
    return count.map { countInFront in
      "It waits for a permit of a rate limiter. \(countInFront) other "
        + "\(countInFront == 1 ? "request is" : "requests are") in front of it under the same key."
        + (pause > .zero ? " The limiter is paused for another \(pause)." : "")
    }
  }

  private func leave(_ ticket: Int, _ key: Key) {
    let (future, timer) = machine.withLock { $0.leave(ticket, key) }
    timer?.cancel()
    withExtendedLifetime(future) {}
  }

  private func timeIsUp(_ timer: Int, _ key: Key) {
    let now = time.now
    perform(machine.withLock { $0.timeIsUp(timer, key, now: now) }, key)
  }

  private func perform(_ action: Machine.Action, _ key: Key) {
    var next: Machine.Action? = action
    while let action = next.take() {
      var refused = 0
      for future in action.granted where !future.settle(success: (), from: .upstream) {
        // The future was cancelled and is about to leave the line.
        refused += 1
      }
      action.oldTimer?.cancel()
      if let timer = action.timer { start(timer.id, timer.delay, key) }
      if refused > 0 {
        let (count, now) = (refused, time.now)
        next = machine.withLock { $0.giveBack(count, key, now: now) }
      }
    }
  }

  private func start(_ id: Int, _ delay: Duration, _ key: Key) {
    let timer = Promises.delay(for: delay, clock: clock)
    let isWanted = machine.withLock { $0.hasStarted(timer, id, key) }
    guard isWanted else { return timer.cancel() }
    timer.onCompletion(on: .inline) { [self] result in
      guard let error = result.failureValue else { return timeIsUp(id, key) }
      // Without a clock the line would wait forever. If this limiter has cancelled the
      // timer, the timer is out of date.
      let waiting = machine.withLock { $0.timerHasFailed(id, key) }
      for future in waiting { future.settle(failure: error, from: .upstream) }
    }
  }
}
