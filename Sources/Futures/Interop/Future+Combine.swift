// A Combine publisher of a future, and a future of a Combine publisher.
//
// Combine has a `Future` too, so this file writes `Futures.Future`. A file of an application
// that imports both modules does the same.
//
// `Examples/Interoperation` compiles this file for OpenCombine, and tests it on Linux.

#if canImport(Combine) || PROPERATIONS_OPENCOMBINE
  #if PROPERATIONS_OPENCOMBINE
    import OpenCombine
    import Properations
  #else
    import Combine
  #endif
  import Synchronization

  /// Publishes the value of a future once, and finishes.
  ///
  /// See `publisher` of `Future`.
  public struct FuturePublisher<Output: Sendable>: Publisher, Sendable {
    /// The error with which the future fails.
    public typealias Failure = any Error

    fileprivate let future: Futures.Future<Output>

    /// Attaches a subscriber, which is a consumer of the future from now on.
    public func receive<Downstream: Subscriber>(subscriber: Downstream)
    where Downstream.Input == Output, Downstream.Failure == any Error {
      let subscription = FutureSubscription(subscriber)
      subscriber.receive(subscription: subscription)
      subscription.start(future)
    }
  }

  extension Futures.Future {
    /// A Combine publisher of the future's value.
    ///
    /// It publishes the value as soon as the future has succeeded and the subscriber demands it,
    /// and then finishes. A failure is delivered without a demand; that of a cancelled future is
    /// `ProperationsError.cancelled`. Both come on the thread that settles the future or demands
    /// the value; use `receive(on:)` for another one.
    ///
    /// A subscription is a consumer: a lazy future starts with the first one, and the future is
    /// asked to cancel when its last consumer has been cancelled.
    ///
    /// - Complexity: O(1).
    public var publisher: FuturePublisher<Success> { FuturePublisher(future: self) }
  }

  /// Receives the result of a future.
  ///
  /// A class of its own, because a closure that crosses threads must not capture the type of a
  /// subscriber.
  private class ResultReceiver<Value: Sendable>: @unchecked Sendable {
    // Sendable: has no state.
    init() {}

    func receive(_ result: FutureResult<Value>) {}

    final func receiveResult(of future: Futures.Future<Value>) {
      future.onCompletion(on: .inline) { [self] result in receive(result) }
    }
  }

  /// Delivers the result of a future to one subscriber.
  ///
  ///   waiting ── settled, and demanded if it is a value ──▶ delivering ──▶ over
  ///      └────── cancel ────────────────────────────────────────┴──────▶ over
  private final class FutureSubscription<Downstream: Subscriber>:
    ResultReceiver<Downstream.Input>, Subscription, @unchecked Sendable
  where Downstream.Input: Sendable, Downstream.Failure == any Error {
    // Sendable: everything mutable is in `state`, under its lock.
    private struct State: @unchecked Sendable {
      // Sendable: subscribers may be called on any thread, one call at a time.
      var downstream: Downstream?
      var isDemanded = false
      var isDelivering = false
      var result: FutureResult<Downstream.Input>?
      /// The consumer of the future, which `cancel()` cancels.
      var link: Futures.Future<Downstream.Input>?
    }

    private let state: Mutex<State>

    init(_ downstream: Downstream) {
      state = Mutex(State(downstream: downstream))
      super.init()
    }

    func start(_ future: Futures.Future<Downstream.Input>) {
      // A consumer of its own.
      let link = future.mapToValue(on: .inline) { $0 }
      let isOver = state.withLock { state in
        if state.downstream != nil { state.link = link }
        return state.downstream == nil
      }
      // Cancelled while the subscriber received the subscription.
      if isOver { return link.cancel() }
      receiveResult(of: link)
    }

    override func receive(_ result: FutureResult<Downstream.Input>) {
      state.withLock { $0.result = result }
      deliver()
    }

    func request(_ demand: Subscribers.Demand) {
      guard demand > .none else { return }
      state.withLock { $0.isDemanded = true }
      deliver()
    }

    func cancel() {
      // Released after unlocking.
      let last = takeState()
      last.link?.cancel()
    }

    private func deliver() {
      let next: State? = state.withLock { state in
        guard state.downstream != nil, let result = state.result, !state.isDelivering else {
          return nil
        }
        if case .success = result, !state.isDemanded { return nil }
        state.isDelivering = true
        return state
      }
      guard let downstream = next?.downstream, let result = next?.result else { return }
      var completion = Subscribers.Completion<any Error>.finished
      switch result {
      case .success(let value): _ = downstream.receive(value)
      case .failure(let error): completion = .failure(error)
      }
      // The subscriber may have cancelled when it received the value.
      takeState().downstream?.receive(completion: completion)
    }

    private func takeState() -> State {
      state.withLock { state in
        let last = state
        state = State()
        return last
      }
    }
  }

  extension Publisher where Output: Sendable {
    /// Makes a future of the first value.
    ///
    /// The publisher is subscribed to with this call, with a demand of one value. The
    /// subscription is cancelled after the first value, and when the future is cancelled. It does
    /// not depend on who holds the future. `AsyncSequence` has the same call.
    ///
    /// - Returns: A future of the first value; of `nil` if the publisher finishes without a
    ///   value. The future fails with the publisher's failure. It fails with
    ///   `ProperationsError.brokenPromise` if the publisher drops the subscription without
    ///   completing it.
    public func firstFuture(
      fileID: StaticString = #fileID, line: UInt = #line
    ) -> Futures.Future<Output?> {
      let (future, resolver) = Promises.makeResolver(
        promising: Output?.self, fileID: fileID, line: line)
      let subscriber = FirstValueSubscriber<Output, Failure>(resolver)
      resolver.onCancellationRequest { [weak subscriber] in subscriber?.leave() }
      subscribe(subscriber)
      return future
    }
  }

  /// Takes one value from a publisher.
  ///
  /// Its publisher keeps it, and it keeps the resolver.
  private final class FirstValueSubscriber<Input: Sendable, Failure: Error>: Subscriber, Sendable {
    private struct State: @unchecked Sendable {
      // Sendable: a subscription may be cancelled on any thread.
      var subscription: (any Subscription)?
      var resolver: Resolver<Input?>?
    }

    private let state: Mutex<State>

    init(_ resolver: Resolver<Input?>) { state = Mutex(State(resolver: resolver)) }

    func receive(subscription: any Subscription) {
      let received = State(subscription: subscription)
      let isWanted = state.withLock { state in
        guard state.subscription == nil, state.resolver != nil else { return false }
        state.subscription = received.subscription
        return true
      }
      if isWanted { subscription.request(.max(1)) } else { subscription.cancel() }
    }

    func receive(_ input: Input) -> Subscribers.Demand {
      let last = takeState()
      last.resolver?.succeed(with: input)
      last.subscription?.cancel()
      return .none
    }

    func receive(completion: Subscribers.Completion<Failure>) {
      let resolver = takeState().resolver
      switch completion {
      case .finished: resolver?.succeed(with: nil)
      case .failure(let error): resolver?.fail(with: error)
      }
    }

    func leave() { takeState().subscription?.cancel() }

    private func takeState() -> State {
      state.withLock { state in
        let last = state
        state = State()
        return last
      }
    }
  }
#endif
