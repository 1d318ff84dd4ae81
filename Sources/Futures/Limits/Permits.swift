/// Gives out a fixed number of permits, in the order in which they are requested.
///
/// ```swift
/// let connections = Permits(4)
/// let page = connections.withPermit(on: .global()) { fetch(url) }
/// ```
///
/// This is a semaphore that blocks no thread: a caller that requests a permit gets a
/// future. Use it to limit how many pieces of work are under way at the same time, on any
/// queues or tasks.
///
/// A permit comes back when the holder releases it, or when its last reference goes away.
/// So no permit is lost when code drops it, throws or is cancelled.
public final class Permits: Sendable {
  /// The permits that are free, and the futures that wait for one.
  private struct State {
    var available: Int
    var line = WaitingLine<Future<Permit>>()

    /// A future requests a permit; returns its ticket, or `nil` if it gets a permit now.
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

  /// The number of permits, including those that are given out.
  public let count: Int
  private let state: Lock<State>

  /// Makes permits.
  ///
  /// - Parameter count: The number of permits. A number less than one counts as one.
  public init(_ count: Int) {
    self.count = max(count, 1)
    state = Lock(State(available: self.count))
  }

  /// The number of permits that are free at this moment.
  public var availableCount: Int { state.withLock { $0.available } }

  /// The number of futures that wait for a permit at this moment.
  public var waitingCount: Int { state.withLock { $0.line.count } }

  /// Requests a permit.
  ///
  /// ```swift
  /// let permit = try await connections.acquire().value(onTaskCancellation: .cancelFuture)
  /// defer { permit.release() }
  /// ```
  ///
  /// Futures get permits in the order of these calls. A future that is cancelled leaves the
  /// line. A future that is released while it waits keeps its place; its permit comes back
  /// as soon as it is given out.
  ///
  /// A future keeps its value. So a permit stays in use as long as its future exists,
  /// unless the holder calls ``Permit/release()``.
  ///
  /// - Returns: A future of the permit.
  public func acquire(fileID: StaticString = #fileID, line: UInt = #line) -> Future<Permit> {
    let future = Future<Permit>(traits: [], at: Birthplace(fileID, line))
    if let ticket = state.withLock({ $0.request(future) }) {
      let place = PlaceInLine(ticket) { [self] in
        leave($0)
      } explain: { [self] in
        explain($0)
      }
      _ = future.storage.wait(for: .source(place))
    } else {
      future.settle(success: Permit(of: self), from: .upstream)
    }
    return future
  }

  private func explain(_ ticket: Int) -> String? {
    state.withLock { $0.line.countInFront(of: ticket) }.map { countInFront in
      "It waits for a permit of \(count), which are all in use. \(countInFront) other "
        + "\(countInFront == 1 ? "request is" : "requests are") in front of it."
    }
  }

  private func leave(_ ticket: Int) {
    // Released after unlocking.
    let future = state.withLock { $0.line.leave(ticket) }
    withExtendedLifetime(future) {}
  }

  /// A permit has come back.
  fileprivate func giveBack() {
    // If no other object holds the future, the permit comes back with the release of the
    // future. The work loop releases it, so that a line of such futures needs no stack.
    WorkLoop.current.perform { _ in
      while let next = state.withLock({ $0.release() }) {
        let permit = Permit(of: self)
        if next.settle(success: permit, from: .upstream) { return }
        // The future was cancelled and is about to leave the line. The next future gets
        // the permit.
        permit.forget()
      }
    }
  }
}

/// The right to do something that only a limited number of holders may do at the same time.
///
/// Call ``Permits/acquire(fileID:line:)`` to get one.
public final class Permit: Sendable {
  private let permits: Permits
  private let isReleased = Atomic<Bool>(false)

  fileprivate init(of permits: Permits) { self.permits = permits }

  deinit { release() }

  /// Gives the permit back.
  ///
  /// Only the first call has an effect. If no code calls it, the permit comes back with the
  /// release of its last reference.
  public func release() { if forget() { permits.giveBack() } }

  /// Marks the permit as released; `false` if it was released before.
  @discardableResult
  fileprivate func forget() -> Bool {
    !isReleased.exchange(true, ordering: .acquiringAndReleasing)
  }
}
