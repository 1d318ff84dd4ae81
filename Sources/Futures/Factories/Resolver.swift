/// The write end of a future, as an object of its own.
///
/// If the last reference to the resolver is released before the future has settled, the
/// future fails with ``ProperationsError/brokenPromise(createdAt:)``, even if consumers
/// hold the future. See ``Promises/withResolver(promising:fileID:line:_:)``.
public final class Resolver<Success: Sendable>: Sendable {
  private let future: Future<Success>

  init(_ future: Future<Success>) { self.future = future }

  deinit {
    if !future.isSettled { future.breakPromise() }
  }

  /// Settles the future with a result.
  ///
  /// - Parameter result: The value or the error.
  /// - Returns: Whether this was the first settlement.
  @discardableResult
  public func fulfill(with result: FutureResult<Success>) -> Bool {
    future.settle(result) || future.wasSettledAgain(with: result.failureValue)
  }

  /// Settles the future with a value.
  ///
  /// - Parameter value: The value.
  /// - Returns: Whether this was the first settlement.
  @discardableResult
  public func succeed(with value: Success) -> Bool {
    future.settle(.success(value)) || future.wasSettledAgain(with: nil)
  }

  /// Settles the future with an error.
  ///
  /// - Parameter error: The error.
  /// - Returns: Whether this was the first settlement.
  @discardableResult
  public func fail(with error: any Error) -> Bool {
    future.settle(.failure(error)) || future.wasSettledAgain(with: error)
  }

  /// Reports how far the work has come, as ``Promise/report(completed:of:)`` does.
  ///
  /// - Parameters:
  ///   - completed: The completed units. Less than zero counts as zero, and more than `total`
  ///     as `total`.
  ///   - total: The units that there are in all. Zero or less means that the total is unknown.
  public func report(completed: some BinaryInteger, of total: some BinaryInteger) {
    future.publishReport(completed: completed, of: total)
  }

  /// Whether the future has settled, by this resolver or by a cancellation.
  public var isFulfilled: Bool { future.isFulfilled }

  /// Runs a closure when the future is cancelled.
  ///
  /// If the future was cancelled before, the closure runs at once. If the future settles
  /// in another way, the closure never runs.
  ///
  /// The future keeps the closure until it settles. So do not let the closure keep the
  /// resolver, not even by way of the connection that has it in a callback: capture that
  /// weakly. Otherwise the library cannot notice a producer that forgets to settle.
  ///
  /// - Parameter handler: Stops the work.
  public func onCancellationRequest(_ handler: @escaping @Sendable () -> Void) {
    future.whenCancelled(handler)
  }
}

extension Resolver where Success == Void {
  /// Settles the future with success.
  ///
  /// - Returns: Whether this was the first settlement.
  @discardableResult
  public func succeed() -> Bool { succeed(with: ()) }
}

extension Promises {
  /// Makes a future and hands its write end to a closure.
  ///
  /// Use it instead of a promise where consumers hold the future for long. A future does
  /// not keep its resolver, so the library always notices a producer that forgets to
  /// settle it.
  ///
  /// ```swift
  /// let future = Promises.withResolver(promising: Data.self) { resolver in
  ///   connection.receive { data, error in
  ///     if let data { resolver.succeed(with: data) }
  ///     // Forgotten: the error. The future fails with `brokenPromise`.
  ///   }
  /// }
  /// ```
  ///
  /// - Parameters:
  ///   - type: The type of the value.
  ///   - body: Starts the work on the calling thread before this function returns. An
  ///     error that it throws fails the future.
  public static func withResolver<Success: Sendable>(
    promising type: Success.Type = Success.self, fileID: StaticString = #fileID,
    line: UInt = #line, _ body: (Resolver<Success>) throws -> Void
  ) -> Future<Success> {
    let (future, resolver) = makeResolver(promising: type, fileID: fileID, line: line)
    do { try body(resolver) } catch { resolver.fail(with: error) }
    return future
  }

  /// Makes a future and its write end.
  ///
  /// ```swift
  /// let (future, resolver) = Promises.makeResolver(promising: Data.self)
  /// connection.onData = { resolver.succeed(with: $0) }
  /// return future
  /// ```
  ///
  /// As with ``withResolver(promising:fileID:line:_:)``, the future does not keep the
  /// resolver. If the resolver is released before it has settled the future, the future
  /// fails with ``ProperationsError/brokenPromise(createdAt:)``.
  ///
  /// - Parameter type: The type of the value.
  public static func makeResolver<Success: Sendable>(
    promising type: Success.Type = Success.self, fileID: StaticString = #fileID,
    line: UInt = #line
  ) -> (future: Future<Success>, resolver: Resolver<Success>) {
    let future = Future<Success>(traits: [], at: Birthplace(fileID, line))
    PendingPromises.add(future)
    return (future, Resolver(future))
  }
}
