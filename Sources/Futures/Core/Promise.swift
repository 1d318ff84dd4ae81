import Foundation

/// A future that you settle by hand: the write end of an asynchronous result.
///
/// Make a promise, start the work, return the promise as a ``Future``, and settle it from
/// the thread on which the work ends:
///
/// ```swift
/// func answer() -> Future<Int> {
///   let promise = Promises.make(promising: Int.self)
///   DispatchQueue.global().async { promise.succeed(with: 42) }
///   return promise
/// }
/// ```
///
/// The first settlement wins; later ones return `false` and change nothing. If the last
/// reference to a promise is released before it settles, the futures that wait for it
/// fail with ``ProperationsError/brokenPromise(createdAt:)``. A consumer that holds the
/// promise itself (as a `Future`) prevents its release. Where that matters, hand out the
/// future of ``Promises/withResolver(promising:fileID:line:_:)``.
open class Promise<Success: Sendable>: Future<Success>, @unchecked Sendable {
  // Sendable: adds no state.

  /// Makes a promise that is in no queue.
  ///
  /// - Parameter name: A name for people.
  public init(name: String? = nil, fileID: StaticString = #fileID, line: UInt = #line) {
    super.init(at: Birthplace(fileID, line))
    if let name { self.name = name }
    PendingPromises.add(self)
  }

  /// Makes a promise of a kind that another module defines, which does its work in a slot
  /// of its queue.
  ///
  /// It is ready as soon as it is enqueued, and executes until it has settled.
  ///
  /// - Parameters:
  ///   - isKeptByWork: Whether the work keeps the promise while it runs.
  ///   - runsOnMain: Whether the work is an async closure that needs the main thread.
  package init(
    occupyingQueueFor context: ContextReference, isKeptByWork: Bool = false,
    runsOnMain: Bool = false, name: String?, at birthplace: Birthplace
  ) {
    var traits: Traits = [.mayBeReleasedPending, .occupiesQueue]
    if isKeptByWork { traits.insert(.isKeptByWork) }
    if runsOnMain { traits.insert(.runsOnMain) }
    super.init(
      traits: traits, context: context, upstream: .none, at: birthplace, work: Work { _, _ in })
    if let name { self.name = name }
    PendingPromises.add(self)
  }

  /// Records that the work that settles the promise has started, and no longer needs its
  /// context.
  package final func workHasStarted() { _ = storage.takeWork() }

  /// Records that an async closure makes the result.
  ///
  /// As an operation, the promise does not finish before the closure has returned.
  package final func closureBegins() { _ = storage.run() }

  /// Records that the async closure has returned.
  package final func closureEnds() { closureHasReturned() }

  // MARK: Settling

  /// Settles the promise with a result.
  ///
  /// - Parameter result: The value or the error.
  /// - Returns: Whether this was the first settlement.
  @discardableResult
  public final func fulfill(with result: FutureResult<Success>) -> Bool {
    settle(result) || wasSettledAgain(with: result.failureValue)
  }

  /// Settles the promise with a value.
  ///
  /// - Parameter value: The value.
  /// - Returns: Whether this was the first settlement.
  @discardableResult
  @inlinable
  public final func succeed(with value: Success) -> Bool {
    settle(success: value) || wasSettledAgain(with: nil)
  }

  /// Settles the promise with an error.
  ///
  /// - Parameter error: The error. ``ProperationsError/cancelled`` cancels the promise.
  /// - Returns: Whether this was the first settlement.
  @discardableResult
  public final func fail(with error: any Error) -> Bool {
    settle(.failure(error)) || wasSettledAgain(with: error)
  }

  /// Settles the promise like another future, as soon as that one settles.
  ///
  /// If the promise is settled in another way after this call and before that, the other
  /// future is asked to cancel, unless it has another consumer. A million promises linked in a
  /// row need no stack, and the dropped ones need no memory. If the other future waits for this
  /// promise, the promise fails with ``ProperationsError/cycle(createdAt:)``.
  ///
  /// - Parameter future: The future whose result the promise takes.
  /// - Returns: `false` if the promise had been settled before.
  @discardableResult
  public final func fulfill(from future: Future<Success>) -> Bool {
    guard !isSettled else { return wasSettledAgain(with: future.unseenError) }
    if future.isSettled {
      return settle(like: future, from: .outside) || wasSettledAgain(with: future.unseenError)
    }
    ForwardingWaiter.link(self, to: future)
    return true
  }

  // MARK: Learning of cancellation

  /// Runs a closure when the promise is cancelled.
  ///
  /// The promise is cancelled directly, or because its last consumer was cancelled. The closure
  /// runs once, where the cancellation happens, or at once if it has happened already. If a
  /// closure that the library runs cancels the promise, the handler runs when that closure has
  /// returned, as inline closures do. If the promise settles in another way, the closure is
  /// released without running.
  ///
  /// - Parameter handler: Stops the work.
  public final func onCancellationRequest(_ handler: @escaping @Sendable () -> Void) {
    whenCancelled(handler)
  }
}

extension Promise where Success == Void {
  /// Settles the promise with success.
  ///
  /// - Returns: Whether this was the first settlement.
  @discardableResult
  public final func succeed() -> Bool { succeed(with: ()) }
}
