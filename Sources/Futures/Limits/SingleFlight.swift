/// Loads the value of a key once for all callers that request it at the same time.
///
/// ```swift
/// let profiles = SingleFlight<Int, Profile>(timeToLive: .seconds(60), maxCount: 1_000)
///
/// func profile(_ id: Int) -> Future<Profile> {
///   profiles.load(id, on: .global()) { fetchProfile(id) }
/// }
/// ```
///
/// At most one load of a key is under way at a time, apart from those that ``removeValue(for:)``
/// or ``removeAll()`` has made obsolete. Each caller gets a future of its own. Cancelling it does
/// not affect the other callers; the load is cancelled when its last caller has left. The next
/// caller then begins a new load.
///
/// Values are kept if you say so, for a limited time and up to a limited number. Failures
/// are not kept: the next caller tries again.
///
/// Keys are hashed and compared while the object is locked. So `==` and `hash(into:)` must
/// not call the object.
///
/// A load may request other keys. The future for a load that requests its own key, without
/// having removed it, fails with ``ProperationsError/cycle(createdAt:)``, also if the request
/// comes from a Swift task that the load has started, through at most 16 loads (but not by way
/// of a closure on an actor or a task executor). An inline closure that such a task runs,
/// because it settles a future, counts as part of the load. Several loads that need each other
/// fail in the same way if each returns a future that waits for the next. If Swift tasks await
/// these futures instead, the loads wait forever, unless each of them has begun the next.
public final class SingleFlight<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  private let machine: Lock<FlightMachine<Key, Value>>
  private let time: SteadyClock

  /// Makes an object without values and loads.
  ///
  /// - Parameters:
  ///   - timeToLive: How long a value is kept after it was loaded; at most a century. By
  ///     default, or if negative, it is not kept.
  ///   - maxCount: The largest number of values that are kept. The least recently used
  ///     value goes first. No value is kept if the number is zero or negative. Loads that
  ///     are under way do not count.
  ///   - clock: Measures the time. Tests can pass a clock of their own. If the clock is set
  ///     back, all values are dropped.
  public init(
    timeToLive: Duration = .zero, maxCount: Int = .max,
    clock: any Clock<Duration> = ContinuousClock()
  ) {
    machine = Lock(
      FlightMachine(kept: KeptValues(limit: maxCount, timeToLive: timeToLive.clamped)))
    time = SteadyClock(clock)
  }

  /// The number of values that are kept at this moment, including those whose time is up.
  public var keptCount: Int { machine.withLock { $0.kept.count } }

  /// The number of loads that are under way at this moment.
  public var loadingCount: Int { machine.withLock { $0.loadingCount } }

  /// Gets the value of a key: a kept value, or the value of a load.
  ///
  /// - Parameters:
  ///   - key: The key.
  ///   - forceRefresh: Whether to discard a kept value and load a new one. If the key is
  ///     being loaded, the caller waits for that load.
  ///   - context: Where the closure runs.
  ///   - load: Starts the load if none is under way. If it throws, the futures of all
  ///     callers fail with that error.
  /// - Returns: A future of the value, for this caller only.
  public func load(
    _ key: Key, forceRefresh: Bool = false, on context: some ExecutionContext,
    fileID: StaticString = #fileID, line: UInt = #line,
    _ load: @escaping @Sendable () throws -> Future<Value>
  ) -> Future<Value> {
    self.load(
      key, forceRefresh, ContextReference(context), Birthplace(fileID, line), load)
  }

  /// Gets the value of a key: a kept value, or the value of a load.
  ///
  /// The closure runs on the main queue. See ``load(_:forceRefresh:on:fileID:line:_:)``.
  ///
  /// - Parameters:
  ///   - key: The key.
  ///   - forceRefresh: Whether to discard a kept value and load a new one.
  ///   - load: Starts the load if none is under way.
  /// - Returns: A future of the value, for this caller only.
  public func load(
    _ key: Key, forceRefresh: Bool = false, fileID: StaticString = #fileID, line: UInt = #line,
    _ load: @escaping @MainActor () throws -> Future<Value>
  ) -> Future<Value> {
    self.load(key, forceRefresh, ContextReference(.main), Birthplace(fileID, line)) {
      try MainActor.assumeIsolated(load)
    }
  }

  /// Forgets the value of a key.
  ///
  /// If the key is being loaded, the callers so far still get that value, but it is not
  /// kept, and the next caller begins a new load.
  ///
  /// - Parameter key: The key.
  public func removeValue(for key: Key) {
    let removed = machine.withLock { $0.forget(key) }
    withExtendedLifetime(removed) {}
  }

  /// Forgets all values.
  ///
  /// Values that are being loaded now are not kept either, and no later caller gets them.
  public func removeAll() {
    let removed = machine.withLock { $0.forgetAll() }
    withExtendedLifetime(removed) {}
  }

  // MARK: Loading

  private func load(
    _ key: Key, _ isForced: Bool, _ context: ContextReference, _ birthplace: Birthplace,
    _ load: @escaping @Sendable () throws -> Future<Value>
  ) -> Future<Value> {
    let (now, setBacks) = time.read()
    let (known, removed) = machine.withLock {
      $0.look(key, isForced: isForced, now: now, setBacks: setBacks)
    }
    withExtendedLifetime(removed) {}
    if let known { return answer(known, key, birthplace) }
    let future = Future<Value>(traits: [], at: birthplace)
    let (begun, old) = machine.withLock { $0.begin(future, key, now: now) }
    withExtendedLifetime(old) {}
    guard case .flight(let number, let shared) = begun else {
      return answer(begun, key, birthplace)
    }
    if shared === future {
      // This is the first waiter of the load. So when a caller gets the value, the machine
      // knows that the load is over.
      _ = future.watch { [self] source in
        hasLoaded(key, number, unsafeDowncast(source, to: Future<Value>.self))
      }
    }
    // The caller waits before the load begins, so that a load that requests its own key
    // finds the cycle.
    let caller = wait(for: shared, key, number, birthplace)
    if shared === future {
      let path = FlightPath(to: future)
      let started = Future.started(on: context, at: birthplace) { try path.run(load) }
      ForwardingWaiter.link(future, to: started)
    }
    return caller
  }

  private func answer(
    _ known: FlightMachine<Key, Value>.Known, _ key: Key, _ birthplace: Birthplace
  ) -> Future<Value> {
    switch known {
    case .value(let value):
      let caller = Future<Value>(traits: [], at: birthplace)
      caller.settle(success: value, from: .upstream)
      return caller
    case .flight(let number, let load): return wait(for: load, key, number, birthplace)
    }
  }

  /// Makes the future of a caller that the machine has counted.
  private func wait(
    for load: Future<Value>, _ key: Key, _ number: Int, _ birthplace: Birthplace
  ) -> Future<Value> {
    let caller = Future<Value>(traits: [], at: birthplace)
    if FlightPath.current.leads(through: load) {
      caller.settle(failure: ProperationsError.cycle(createdAt: caller.createdAt), from: .upstream)
      leave(key, number)
      return caller
    }
    let place = FlightCaller(caller, of: load) { [self] in leave(key, number) }
    _ = caller.storage.wait(for: .source(place))
    load.attach(.callback(place))
    return caller
  }

  private func leave(_ key: Key, _ number: Int) {
    if let load = machine.withLock({ $0.leave(key, number) }) { WorkLoop.current.cancel(load) }
  }

  private func hasLoaded(_ key: Key, _ number: Int, _ load: Future<Value>) {
    let value = load.settledResult.successValue
    let (now, setBacks) = time.read()
    let removed = machine.withLock {
      $0.loaded(value, key, number, now: now, setBacks: setBacks)
    }
    WorkLoop.current.discard(removed)
  }
}

/// Waits for a load, on behalf of one caller.
///
/// The machine counts the callers, not the load's list of waiters. So if the last caller
/// leaves while a new caller comes, the new caller never joins a load that is being
/// cancelled.
private final class FlightCaller<Value: Sendable>: InputWaiter, @unchecked Sendable {
  // Sendable: no stored property changes.
  private let caller: Future<Value>
  private let leave: @Sendable () -> Void

  init(_ caller: Future<Value>, of load: AnyFuture, _ leave: @escaping @Sendable () -> Void) {
    self.caller = caller
    self.leave = leave
    super.init(of: load)
  }

  override func deliver(_ source: AnyFuture) { caller.settle(like: source, from: .upstream) }

  override func withdraw(cancelling: Bool) {
    future?.detach(.callback(self), cancelling: false)
    leave()
  }

  override var isDone: Bool { caller.isSettled }
  override var downstreams: [AnyFuture] { [caller] }
}
