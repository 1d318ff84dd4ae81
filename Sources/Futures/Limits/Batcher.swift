import Foundation

/// Gathers single elements into batches, and calls one closure for each batch.
///
/// ```swift
/// let profiles = Batcher(maxSize: 100, maxDelay: .milliseconds(5), on: .global()) { ids in
///   fetchProfiles(ids)
/// }
/// profiles.add(7).onSuccess { profile in show(profile) }
/// ```
///
/// The first element opens a batch. The batch closes when it is full, when its time is up,
/// or when ``flush(fileID:line:)`` is called. Then the closure gets the elements in the order
/// in which they were added, and returns a future of one value for each element. Several
/// batches may be under way at the same time.
///
/// If the closure fails, the futures of its batch fail with the same error. If it returns
/// more or fewer values than it got elements, they fail with a ``BatchCountMismatch``. If the
/// future that it returns waits for a ``flush(fileID:line:)`` that includes the batch, they
/// fail with ``ProperationsError/cycle(createdAt:)``. If a Swift task of the closure awaits
/// such a flush instead, the batch never ends.
public final class Batcher<Element: Sendable, Value: Sendable>: Sendable {
  private typealias Member = (element: Element, future: Future<Value>)
  private typealias Closed = (
    batch: Int, members: [Member], timer: AnyFuture?, end: Future<Void>?
  )

  private struct State {
    var line = WaitingLine<Member>()
    /// The number of the open batch; if none is open, the number of the next batch.
    var batch = 0
    var timer: AnyFuture?
    /// The ends of the batches that are closed and under way, by number.
    var ends: [Int: Future<Void>] = [:]

    /// Closes the open batch, if it has elements; returns the elements and the timer.
    mutating func close() -> Closed {
      let members = line.removeAll()
      let end = members.first.map { Future<Void>(traits: [], at: $0.future.birthplace) }
      ends[batch] = end
      defer { batch += 1 }
      return (batch, members, timer.take(), end)
    }
  }

  private let state = Lock(State())
  private let maxSize: Int
  private let maxDelay: Duration
  private let clock: any Clock<Duration>
  private let context: ContextReference
  private let work: @Sendable ([Element]) throws -> Future<[Value]>

  private init(
    _ maxSize: Int, _ maxDelay: Duration, _ clock: any Clock<Duration>,
    _ context: ContextReference,
    _ work: @escaping @Sendable ([Element]) throws -> Future<[Value]>
  ) {
    self.maxSize = max(maxSize, 1)
    self.maxDelay = maxDelay
    self.clock = clock
    self.context = context
    // Many callers share a batch, so their values do not count.
    self.work = CarriedTaskLocals.bind(work)
  }

  /// Makes a batcher.
  ///
  /// - Parameters:
  ///   - maxSize: The number of elements in a full batch. A number less than one counts as
  ///     one.
  ///   - maxDelay: The longest time that the first element of a batch waits. If it is zero
  ///     or negative, each element is a batch of its own, and more than a century counts as
  ///     a century.
  ///   - clock: Measures the time. Tests can pass a clock of their own. If its `sleep`
  ///     throws, the batch closes at once.
  ///   - context: Where the closure runs.
  ///   - work: Gets the elements of a batch, at least one. It returns a future of as many
  ///     values, in the same order.
  public convenience init(
    maxSize: Int, maxDelay: Duration, clock: any Clock<Duration> = ContinuousClock(),
    on context: some ExecutionContext,
    _ work: @escaping @Sendable (_ batch: [Element]) throws -> Future<[Value]>
  ) {
    self.init(maxSize, maxDelay, clock, ContextReference(context), work)
  }

  /// Makes a batcher whose closure runs on the main queue.
  ///
  /// See ``init(maxSize:maxDelay:clock:on:_:)``.
  ///
  /// - Parameters:
  ///   - maxSize: The number of elements in a full batch.
  ///   - maxDelay: The longest time that the first element of a batch waits.
  ///   - clock: Measures the time.
  ///   - work: Gets the elements of a batch, and returns a future of as many values.
  public convenience init(
    maxSize: Int, maxDelay: Duration, clock: any Clock<Duration> = ContinuousClock(),
    _ work: @escaping @MainActor (_ batch: [Element]) throws -> Future<[Value]>
  ) {
    self.init(maxSize, maxDelay, clock, ContextReference(.main), onMain(work))
  }

  /// The number of elements in the open batch at this moment.
  public var gatheredCount: Int { state.withLock { $0.line.count } }

  /// Adds an element to the open batch.
  ///
  /// Cancelling the future removes the element while the batch is open. After that, the
  /// future of the batch is asked to cancel when the futures of all its elements have been
  /// cancelled.
  ///
  /// - Parameter element: The element. Equal elements may be added several times.
  /// - Returns: A future of the value for this element.
  public func add(
    _ element: Element, fileID: StaticString = #fileID, line: UInt = #line
  ) -> Future<Value> {
    let future = Future<Value>(traits: [], at: Birthplace(fileID, line))
    // The waiter comes first, because any thread may close the batch once it contains the
    // element.
    let place = PlaceInLine { [self] in
      leave($0)
    } explain: { [self] in
      explain($0)
    }
    _ = future.storage.wait(for: .source(place))
    let isAlone = maxDelay <= .zero
    let (ticket, batch, closed) = state.withLock { state -> (Int, Int?, Closed?) in
      let ticket = state.line.join((element, future))
      if isAlone || state.line.count >= maxSize { return (ticket, nil, state.close()) }
      return (ticket, state.line.count == 1 ? state.batch : nil, nil)
    }
    place.ticket = ticket
    if let closed { start(closed) }
    if let batch { startTimer(for: batch) }
    return future
  }

  /// Closes the open batch, if it has elements.
  ///
  /// - Returns: A future that succeeds when all batches that are closed now have ended,
  ///   whatever their ends. Cancelling it cancels no batch.
  /// - Complexity: O(the number of batches under way).
  @discardableResult
  public func flush(fileID: StaticString = #fileID, line: UInt = #line) -> Future<Void> {
    let (closed, ends) = state.withLock { state in
      let closed = state.close()
      return (closed, Array(state.ends.values))
    }
    start(closed)
    let birthplace = Birthplace(fileID, line)
    return Promises.collectResults(ends.map { $0.passedThrough(.isShielded, at: birthplace) })
      .mapToVoid(fileID: fileID, line: line)
  }

  private func explain(_ ticket: Int) -> String? {
    let count = state.withLock { $0.line.countInFront(of: ticket) == nil ? nil : $0.line.count }
    return count.map {
      "Its batch is open and has \($0) of at most \(maxSize) elements. The batch begins when it "
        + "is full or its time is over."
    }
  }

  private func leave(_ ticket: Int) {
    let (member, timer) = state.withLock { state -> (Member?, AnyFuture?) in
      let member = state.line.leave(ticket)
      return (member, state.line.isEmpty ? state.close().timer : nil)
    }
    timer?.cancel()
    if let member { WorkLoop.current.discard(member) }
  }

  private func startTimer(for batch: Int) {
    let timer = Promises.delay(for: maxDelay, clock: clock)
    let isWanted = state.withLock { state in
      if state.batch == batch { state.timer = timer }
      return state.batch == batch
    }
    guard isWanted else { return timer.cancel() }
    timer.onCompletion(on: .inline) { [self] _ in close(batch) }
  }

  /// Closes a batch, if it is still open.
  ///
  /// A batch whose timer was cancelled is not open any more.
  private func close(_ batch: Int) {
    let closed = state.withLock { $0.batch == batch ? $0.close() : nil }
    if let closed { start(closed) }
  }

  /// Starts the work on a closed batch, if it has elements.
  private func start(_ closed: Closed) {
    closed.timer?.cancel()
    let members = closed.members
    guard let first = members.first, let end = closed.end else { return }
    let gate = Future<[Element]>(traits: [], at: first.future.birthplace)
    let work = work
    let values = gate.flattened(.actsOnSuccess, on: context, at: first.future.birthplace) {
      try work($0.get())
    }
    BatchPart.attach(members.map(\.future), to: values)
    // The end waits before the work begins, so that work that waits for its own flush finds
    // the cycle.
    let watcher = BatchEnd(end, of: values) { [self] in hasEnded(closed.batch) }
    _ = end.storage.wait(for: .source(watcher))
    if !values.watch(with: watcher) { hasEnded(closed.batch) }
    gate.settle(success: members.map(\.element), from: .upstream)
  }

  private func hasEnded(_ batch: Int) {
    let (end, emptied) = state.withLock { state in
      let end = state.ends.removeValue(forKey: batch)
      // A table keeps its size, and each walk through it would take as long.
      var emptied: [Int: Future<Void>] = [:]
      if state.ends.isEmpty, state.ends.capacity > 64 { swap(&emptied, &state.ends) }
      return (end, emptied)
    }
    withExtendedLifetime(emptied) {}
    end?.settle(success: (), from: .upstream)
  }
}

/// The error when the closure of a ``Batcher`` returns more or fewer values than it got
/// elements.
public struct BatchCountMismatch: LocalizedError, Equatable {
  /// The number of elements that the closure got.
  public let expected: Int
  /// The number of values that the closure returned.
  public let received: Int

  /// Says what happened and what to do about it, in a sentence or two.
  public var errorDescription: String? {
    "The closure of a Batcher got \(expected) elements and returned \(received) values. Return "
      + "one value for each element, in the same order."
  }
}

/// Waits for the end of a batch, whatever it is, and does not want the values.
private final class BatchEnd: InputWaiter, @unchecked Sendable {
  // Sendable: no stored property changes.
  private let target: Future<Void>
  private let hasEnded: @Sendable () -> Void

  init(_ target: Future<Void>, of batch: AnyFuture, _ hasEnded: @escaping @Sendable () -> Void) {
    self.target = target
    self.hasEnded = hasEnded
    super.init(of: batch)
  }

  override func deliver(_ source: AnyFuture) { hasEnded() }
  override var isConsumer: Bool { false }
  override var isDone: Bool { target.isSettled }
  override var downstreams: [AnyFuture] { [target] }
}

/// Waits for the values of a batch, on behalf of one element.
private final class BatchPart<Value: Sendable>: InputWaiter, @unchecked Sendable {
  // Sendable: no stored property changes.
  private let target: Future<Value>
  private let index: Int
  private let count: Int

  private init(_ target: Future<Value>, _ index: Int, of count: Int, in batch: AnyFuture) {
    self.target = target
    self.index = index
    self.count = count
    super.init(of: batch)
  }

  /// Makes futures wait for a batch whose work has not started.
  static func attach(_ futures: [Future<Value>], to batch: Future<[Value]>) {
    // While this waiter is attached, parts that leave early do not cancel the batch.
    let holder = CallbackWaiter()
    batch.attach(.callback(holder))
    for (index, future) in futures.enumerated() {
      let part = BatchPart(future, index, of: futures.count, in: batch)
      guard future.storage.wait(for: .source(part)) else { continue }
      batch.attach(.callback(part))
      if future.isSettled { batch.detach(.callback(part), cancelling: true) }
    }
    batch.detach(
      .callback(holder), cancelling: futures.allSatisfy(\.isSettled), isGivingUp: true)
  }

  override func deliver(_ source: AnyFuture) {
    switch unsafeDowncast(source, to: Future<[Value]>.self).settledResult {
    case .success(let values) where values.count == count:
      target.settle(success: values[index], from: .upstream)
    case .success(let values):
      let error = BatchCountMismatch(expected: count, received: values.count)
      target.settle(failure: error, from: .upstream)
    case .failure:
      target.settle(like: source, from: .upstream)
    }
  }

  override func withdraw(cancelling: Bool) {
    future?.detach(.callback(self), cancelling: cancelling)
  }

  override var isDone: Bool { target.isSettled }
  override var downstreams: [AnyFuture] { [target] }
}
