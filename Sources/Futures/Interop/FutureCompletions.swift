/// The results of several futures, in the order in which they settle.
///
/// ``Promises/completions(of:)`` makes such a sequence. Each result is delivered once, even
/// if several tasks iterate.
public struct FutureCompletions<Success: Sendable>: AsyncSequence, Sendable {
  /// The position of a future among the futures, and its result.
  public typealias Element = (index: Int, result: FutureResult<Success>)
  /// The sequence never throws, because failures of futures are elements.
  public typealias Failure = Never

  fileprivate let channel: CompletionChannel<Success>

  /// Makes an iterator, which takes the results that no other iterator has taken.
  public func makeAsyncIterator() -> Iterator { Iterator(channel: channel) }

  /// An iterator over the results.
  public struct Iterator: AsyncIteratorProtocol {
    fileprivate let channel: CompletionChannel<Success>

    /// Returns the next result; `nil` when all were delivered, or when the calling task is
    /// cancelled.
    public mutating func next() async -> Element? { await channel.next(isolation: nil) }

    /// Returns the next result; `nil` when all were delivered, or when the calling task is
    /// cancelled.
    ///
    /// - Parameter actor: The actor on which the call runs.
    public mutating func next(isolation actor: isolated (any Actor)?) async -> Element? {
      await channel.next(isolation: actor)
    }
  }
}

extension Promises {
  /// Delivers the results of several futures in the order in which they settle.
  ///
  /// ```swift
  /// for await (index, result) in Promises.completions(of: downloads) {
  ///   table.setRow(index, to: result)
  /// }
  /// ```
  ///
  /// The sequence watches the futures from this call on, and ends when each has delivered
  /// its result. Failures and cancellations are results. No thread is blocked.
  ///
  /// Cancelling the task that iterates ends its iteration. The futures continue. They also
  /// continue when the sequence is released early, apart from those whose other consumers have
  /// all been cancelled: these are cancelled then. The sequence does not keep promises
  /// alive: a promise that is dropped delivers a failure with
  /// ``ProperationsError/brokenPromise(createdAt:)``.
  ///
  /// - Parameter futures: The futures. A future that occurs several times delivers as many
  ///   results.
  /// - Returns: The sequence.
  /// - Complexity: O(the number of futures) for the call, O(1) for each result.
  public static func completions<Futures: Sequence, Success: Sendable>(
    of futures: Futures
  ) -> FutureCompletions<Success> where Futures.Element: Future<Success> {
    let channel = CompletionChannel<Success>()
    channel.watch(futures.map { $0 as Future<Success> })
    return FutureCompletions(channel: channel)
  }
}

/// Watches the futures while the sequence or one of its iterators exists.
private final class CompletionChannel<Success: Sendable>: Sendable {
  typealias Element = FutureCompletions<Success>.Element

  private struct State {
    var queue = CompletionQueue<Element, UnsafeContinuation<Element?, Never>>()
    /// The waiters whose futures are pending.
    var inputs: [CompletionInput<Success>?] = []
  }

  private let state = Lock(State())

  deinit {
    for case let input? in state.withLock({ $0.inputs }) {
      input.future?.detach(.callback(input), cancelling: false, isGivingUp: true)
    }
  }

  func watch(_ futures: [Future<Success>]) {
    let inputs = futures.enumerated().map { CompletionInput(self, $0.offset, of: $0.element) }
    state.withLock { state in
      state.inputs = inputs
      state.queue.expect(inputs.count)
    }
    WorkLoop.current.perform { _ in
      for (input, future) in zip(inputs, futures) { future.attach(.callback(input)) }
    }
  }

  func hasSettled(_ index: Int, _ result: FutureResult<Success>) {
    // The input is released after unlocking.
    let (input, resumed) = state.withLock { state in
      (state.inputs[index].take(), state.queue.add((index, result)))
    }
    for (taker, element) in resumed { taker.resume(returning: element) }
    withExtendedLifetime(input) {}
  }

  func next(isolation: isolated (any Actor)?) async -> Element? {
    let id = state.withLock { $0.queue.makeID() }
    defer { state.withLock { $0.queue.forget(id) } }
    return await withTaskCancellationHandler {
      await withUnsafeContinuation { continuation in
        switch state.withLock({ $0.queue.take(id, continuation) }) {
        case .element(let element): continuation.resume(returning: element)
        case .end: continuation.resume(returning: nil)
        case .wait: break
        }
      }
    } onCancel: {
      state.withLock { $0.queue.cancel(id) }?.resume(returning: nil)
    }
  }
}

/// Waits for one future on behalf of a channel, which may be released earlier.
private final class CompletionInput<Success: Sendable>: InputWaiter, @unchecked Sendable {
  // Sendable: a weak reference is safe on any thread, the rest never changes.
  private weak var channel: CompletionChannel<Success>?
  private let index: Int

  init(_ channel: CompletionChannel<Success>, _ index: Int, of future: AnyFuture) {
    self.channel = channel
    self.index = index
    super.init(of: future)
  }

  override var isDone: Bool { channel == nil }

  override func deliver(_ source: AnyFuture) {
    channel?.hasSettled(index, unsafeDowncast(source, to: Future<Success>.self).settledResult)
  }
}
