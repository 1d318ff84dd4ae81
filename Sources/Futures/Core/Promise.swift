import Foundation

/// A future that you settle by hand: the write end of an asynchronous result.
///
/// Make one, start the work, return it as a ``Future``, and settle it from
/// whatever thread the work ends on:
///
/// ```swift
/// func answer() -> Future<Int> {
///   let promise = Promises.make(promising: Int.self)
///   DispatchQueue.global().async { promise.succeed(with: 42) }
///   return promise
/// }
/// ```
///
/// The first settlement wins; later ones return `false` and change nothing.
/// If the last reference to a promise goes before it is settled, the futures that
/// wait for it fail with ``ProperationsError/brokenPromise(createdAt:)``. A
/// consumer that holds the promise itself (as a `Future`) keeps it from being
/// released; hand out the future of
/// ``Promises/withResolver(promising:fileID:line:_:)`` where that matters.
open class Promise<Success: Sendable>: Future<Success>, @unchecked Sendable {
  // Sendable: adds no state.

  /// Makes a promise that sits in no queue.
  ///
  /// - Parameters:
  ///   - name: A name for people.
  ///   - fileID: The file to name in errors; leave it out.
  ///   - line: The line to name in errors; leave it out.
  public init(name: String? = nil, fileID: StaticString = #fileID, line: UInt = #line) {
    super.init(at: Birthplace(fileID, line))
    if let name { self.name = name }
  }

  /// For promises of other modules that do their work in a slot of their queue:
  /// ready as soon as they are enqueued, executing until they are settled.
  package init(
    occupyingQueueFor context: ContextReference, name: String?, at birthplace: Birthplace
  ) {
    super.init(
      traits: [.mayBeReleasedPending, .occupiesQueue], context: context, upstream: .none,
      at: birthplace, work: Work { _, _ in })
    if let name { self.name = name }
  }

  /// The work that settles the promise has been started: it does not need its
  /// context any more.
  package final func workHasStarted() { _ = storage.takeWork() }

  // MARK: Settling

  /// Settles the promise with a result.
  ///
  /// - Parameter result: The value or the error.
  /// - Returns: Whether this was the first settlement.
  @discardableResult
  public final func fulfill(with result: FutureResult<Success>) -> Bool { settle(result) }

  /// Settles the promise with a value.
  ///
  /// - Parameter value: The value.
  /// - Returns: Whether this was the first settlement.
  @discardableResult
  @inlinable
  public final func succeed(with value: Success) -> Bool { settle(success: value) }

  /// Settles the promise with an error.
  ///
  /// - Parameter error: The error. ``ProperationsError/cancelled`` is the same
  ///   as cancelling.
  /// - Returns: Whether this was the first settlement.
  @discardableResult
  public final func fail(with error: any Error) -> Bool { settle(.failure(error)) }

  /// Settles the promise like another future, as soon as that one settles.
  ///
  /// The promise may still be settled otherwise before that; then the other
  /// future is asked to cancel, if it has no other consumer. Linking a
  /// million promises in a row takes no stack, and no memory for those that
  /// are dropped. If the other future waits for this very promise, the promise
  /// fails with ``ProperationsError/cycle(createdAt:)``.
  ///
  /// - Parameter future: The future to settle like.
  /// - Returns: `false` if the promise had been settled before.
  @discardableResult
  public final func fulfill(from future: Future<Success>) -> Bool {
    guard !isSettled else { return false }
    if future.isSettled { return settle(like: future, from: .outside) }
    ForwardingWaiter.link(self, to: future)
    return true
  }

  // MARK: Learning of cancellation

  /// Runs a closure when the promise is cancelled.
  ///
  /// That is directly, or because its last consumer was cancelled. The closure
  /// runs once, where the cancellation happens; at once if it has happened already;
  /// never if the promise was settled otherwise, and is then released.
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
