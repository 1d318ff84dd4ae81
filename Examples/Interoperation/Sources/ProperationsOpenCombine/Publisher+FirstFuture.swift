import OpenCombine
import Properations
import Synchronization

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
