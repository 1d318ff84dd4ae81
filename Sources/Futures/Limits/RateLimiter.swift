/// Gives out a number of permits in a period of time, in the order in which they are asked for.
///
/// ```swift
/// let limiter = RateLimiter(permits: 10, per: .seconds(1))
/// let page = limiter.acquire().mapToFuture(on: .global()) { fetch(url) }
/// ```
///
/// After a pause as many permits as the *burst* can be had at once; then they come one by
/// one, evenly spread over the period. Never more come at once, even when a timer is late; a
/// rate of more than a thousand a second needs a burst to be reached. No thread is blocked: code that asks for a permit
/// gets a future. A permit is used up when its future succeeds, and does not come back.
///
/// Each key has a rate and a line of its own, and so have the calls without a key:
///
/// ```swift
/// let turn = limiter.acquire(for: url.host)
/// ```
///
/// Keys are hashed and compared while the limiter is locked: `==` and `hash(into:)` must not
/// call it.
public final class RateLimiter: Sendable {
  /// A key of any type; `nil` for calls without one.
  private struct Key: Hashable, @unchecked Sendable {
    // Sendable: `acquire(for:)` takes Sendable keys only.
    let value: AnyHashable?
  }

  private typealias Machine = RateMachine<Key, Future<Void>>

  private let machine: Lock<Machine>
  private let clock: any Clock<Duration>
  private let elapsed: @Sendable () -> Duration

  /// Makes a limiter.
  ///
  /// No number overflows or traps: a period longer than a century is a century.
  ///
  /// - Parameters:
  ///   - permits: How many permits there are in each period. Less than one counts as one.
  ///   - period: The period. If it is zero or negative, there is no limit.
  ///   - burst: How many permits can be had at once after a pause; as many as in a period by
  ///     default. Less than one counts as one.
  ///   - clock: What measures the time; give tests one of their own. A clock that is set
  ///     back counts as one that stands still.
  public init(
    permits: Int, per period: Duration, burst: Int? = nil,
    clock: any Clock<Duration> = ContinuousClock()
  ) {
    machine = Lock(
      Machine(interval: period.clamped / max(permits, 1), burst: max(burst ?? permits, 1)))
    self.clock = clock
    elapsed = clock.stopwatch()
  }

  /// How many futures wait for a permit at this moment, under all keys.
  public var waitingCount: Int { machine.withLock { $0.waitingCount } }

  /// Asks for a permit.
  ///
  /// Futures get permits in the order of these calls. A future that is cancelled leaves the
  /// line, and uses no permit.
  ///
  /// - Returns: A future that succeeds when there is a permit.
  public func acquire(fileID: StaticString = #fileID, line: UInt = #line) -> Future<Void> {
    acquire(Key(value: nil), Birthplace(fileID, line))
  }

  /// Asks for a permit of a key.
  ///
  /// See ``acquire(fileID:line:)``. A key that is not in use takes no memory.
  ///
  /// - Parameter key: What has a rate of its own: a host, a customer, a file.
  /// - Returns: A future that succeeds when there is a permit.
  public func acquire(
    for key: some Hashable & Sendable, fileID: StaticString = #fileID, line: UInt = #line
  ) -> Future<Void> {
    acquire(Key(value: AnyHashable(key)), Birthplace(fileID, line))
  }

  /// Gives out no permits for some time, whatever the key.
  ///
  /// Use it where a server asks to be left alone, as with `Retry-After`. Futures that wait
  /// keep their places. Of several pauses the one that ends last counts.
  ///
  /// - Parameter duration: How long; not at all if negative, at most a century.
  public func pause(for duration: Duration) {
    machine.withLock { $0.pause(for: duration.clamped, now: elapsed()) }
  }

  /// Gives out no permits until a point in time, whatever the key.
  ///
  /// See ``pause(for:)``; the time that is left is measured when this is called.
  ///
  /// - Parameter instant: When permits are given out again; at once if that is past.
  public func pause(until instant: ContinuousClock.Instant) {
    pause(for: ContinuousClock.now.duration(to: instant))
  }

  // MARK: Waiting

  private func acquire(_ key: Key, _ birthplace: Birthplace) -> Future<Void> {
    let future = Future<Void>(traits: [], at: birthplace)
    let now = elapsed()
    let (ticket, action) = machine.withLock { $0.request(future, key, now: now) }
    if let ticket {
      _ = future.storage.wait(for: .source(PlaceInLine(ticket) { [self] in leave($0, key) }))
    }
    perform(action, key)
    return future
  }

  private func leave(_ ticket: Int, _ key: Key) {
    let (future, timer) = machine.withLock { $0.leave(ticket, key) }
    timer?.cancel()
    withExtendedLifetime(future) {}
  }

  private func timeIsUp(_ timer: Int, _ key: Key) {
    let now = elapsed()
    perform(machine.withLock { $0.timeIsUp(timer, key, now: now) }, key)
  }

  private func perform(_ action: Machine.Action, _ key: Key) {
    var next: Machine.Action? = action
    while let action = next.take() {
      var refused = 0
      for future in action.granted where !future.settle(success: (), from: .upstream) {
        // (It was cancelled, and is about to leave the line.)
        refused += 1
      }
      if let timer = action.timer { start(timer.id, timer.delay, key) }
      if refused > 0 {
        let (count, now) = (refused, elapsed())
        next = machine.withLock { $0.giveBack(count, key, now: now) }
      }
    }
  }

  private func start(_ id: Int, _ delay: Duration, _ key: Key) {
    let timer = clock.pause(for: delay)
    let isWanted = machine.withLock { $0.hasStarted(timer, id, key) }
    guard isWanted else { return timer.cancel() }
    let body: @Sendable (AnyFuture) -> Void = { [self] source in
      if source.outcome != .cancelled { timeIsUp(id, key) }
    }
    if !timer.watch(body) { body(timer) }
  }
}
