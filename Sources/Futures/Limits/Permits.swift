/// A number of permits, which are given out in the order in which they are asked for.
///
/// ```swift
/// let connections = Permits(4)
/// let page = connections.withPermit(on: .global()) { fetch(url) }
/// ```
///
/// A semaphore that blocks no thread: code that asks for a permit gets a future. Use it
/// where at most so many pieces of work may be under way at a time, whatever queue or task
/// they run on.
///
/// A permit comes back when it is released, or when its last reference goes. So no permit is
/// lost when code forgets it, throws, or is cancelled.
public final class Permits: Sendable {
  /// Who has a permit, and who waits for one.
  private struct State {
    var available: Int
    var line = WaitingLine<Future<Permit>>()

    /// A future asks for a permit; returns its ticket, or `nil` if it gets one now.
    mutating func request(_ future: Future<Permit>) -> Int? {
      guard available == 0 else {
        available -= 1
        return nil
      }
      return line.join(future)
    }

    /// A permit has come back; returns the future that gets it.
    mutating func release() -> Future<Permit>? {
      guard let next = line.popFirst() else {
        available += 1
        return nil
      }
      return next
    }
  }

  /// How many permits there are, those included that are given out.
  public let count: Int
  private let state: Lock<State>

  /// Makes permits.
  ///
  /// - Parameter count: How many there are. Less than one counts as one.
  public init(_ count: Int) {
    self.count = max(count, 1)
    state = Lock(State(available: self.count))
  }

  /// How many permits are not given out at this moment.
  public var availableCount: Int { state.withLock { $0.available } }

  /// How many futures wait for a permit at this moment.
  public var waitingCount: Int { state.withLock { $0.line.count } }

  /// Asks for a permit.
  ///
  /// ```swift
  /// let permit = try await connections.acquire().value(onTaskCancellation: .cancelFuture)
  /// defer { permit.release() }
  /// ```
  ///
  /// Futures get permits in the order of these calls. A future that is cancelled leaves the
  /// line. One that is released while it waits gets a permit in its turn, which comes back
  /// at once.
  ///
  /// A future keeps its value: as long as it exists, so does its permit, unless that is
  /// released by ``Permit/release()``.
  ///
  /// - Returns: A future of the permit.
  public func acquire(fileID: StaticString = #fileID, line: UInt = #line) -> Future<Permit> {
    let future = Future<Permit>(traits: [], at: Birthplace(fileID, line))
    if let ticket = state.withLock({ $0.request(future) }) {
      _ = future.storage.wait(for: .source(PlaceInLine(ticket) { [self] in leave($0) }))
    } else {
      future.settle(success: Permit(of: self), from: .upstream)
    }
    return future
  }

  private func leave(_ ticket: Int) {
    // Released after the lock.
    let future = state.withLock { $0.line.leave(ticket) }
    withExtendedLifetime(future) {}
  }

  /// A permit has come back.
  fileprivate func giveBack() {
    while let next = state.withLock({ $0.release() }) {
      let permit = Permit(of: self)
      if next.settle(success: permit, from: .upstream) { return }
      // (It was cancelled, and is about to leave the line: the next one gets the permit.)
      permit.forget()
    }
  }
}

/// The right to do something that only so many may do at a time.
///
/// ``Permits/acquire(fileID:line:)`` gives it.
public final class Permit: Sendable {
  private let permits: Permits
  private let isReleased = Atomic<Bool>(false)

  fileprivate init(of permits: Permits) { self.permits = permits }

  deinit { release() }

  /// Gives the permit back.
  ///
  /// Only the first call has an effect. The release of the last reference gives it back,
  /// too.
  public func release() { if forget() { permits.giveBack() } }

  /// Makes the permit worthless; `false` if it was so before.
  @discardableResult
  fileprivate func forget() -> Bool {
    !isReleased.exchange(true, ordering: .acquiringAndReleasing)
  }
}
