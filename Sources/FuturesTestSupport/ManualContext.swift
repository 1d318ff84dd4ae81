import Foundation
import Futures

/// A context whose closures run when a test says so.
///
/// The closures wait in the context until the test runs one or all of them. They run on the
/// thread of the call:
///
/// ```swift
/// let context = ManualContext()
/// let doubled = Promises.makeSucceeded(with: 21).mapToValue(on: context) { $0 * 2 }
/// #expect(!doubled.isFulfilled)
/// context.runAll()
/// #expect(doubled.result?.successValue == 42)
/// ```
///
/// One element of the context is one call of `execute(_:)`.
/// Closures of a chain that all name this context may run in one such call.
public final class ManualContext: ExecutionContext {
  private struct State {
    var waiting = OperationLine()
    var executeCount = 0
  }

  private let state = Lock(State())

  /// Makes a context in which nothing waits.
  public init() {}

  /// Adds an operation; ``runNext()`` or ``runAll(limit:)`` starts it.
  ///
  /// - Parameter operation: The operation that runs closures of futures.
  public func execute(_ operation: Operation) {
    state.withLock { state in
      state.waiting.append(operation)
      state.executeCount += 1
    }
  }

  /// The number of operations that wait to be started.
  public var count: Int { state.withLock { $0.waiting.count } }

  /// How often the context was asked to start an operation.
  package var executeCount: Int { state.withLock { $0.executeCount } }

  /// The waiting operations; reading them starts none.
  package var waiting: [Operation] { state.withLock { $0.waiting }.all }

  /// Starts the operation that has waited longest.
  ///
  /// - Returns: `false` if none waits.
  @discardableResult
  public func runNext() -> Bool {
    guard let operation = take() else { return false }
    operation.start()
    return true
  }

  /// Starts the same operation, which has waited longest, several times.
  package func runNext(times: Int) {
    guard let operation = take() else { return }
    for _ in 0..<times { operation.start() }
  }

  /// Starts operations in order until none is left, including operations that come
  /// meanwhile.
  ///
  /// - Parameter limit: The greatest number of operations to start. Set it for code that
  ///   may add operations for ever. Zero or less starts none.
  /// - Returns: How many operations it started.
  @discardableResult
  public func runAll(limit: Int = .max) -> Int {
    var count = 0
    while count < limit, runNext() { count += 1 }
    return count
  }

  /// Starts operations until none is left; a generator picks the next operation.
  ///
  /// - Parameter generator: The source of random numbers. The same numbers give the same
  ///   order.
  /// - Returns: How many operations it started.
  @discardableResult
  public func runAll(using generator: inout some RandomNumberGenerator) -> Int {
    var count = 0
    while runOne(using: &generator) { count += 1 }
    return count
  }

  /// Starts one operation that a generator picks.
  ///
  /// - Parameter generator: The source of random numbers.
  /// - Returns: `false` if no operation waits.
  @discardableResult
  public func runOne(using generator: inout some RandomNumberGenerator) -> Bool {
    while case let size = count, size > 0 {
      // Another thread may have taken some meanwhile.
      if let operation = take(at: Int.random(in: 0..<size, using: &generator)) {
        operation.start()
        return true
      }
    }
    return false
  }

  /// Releases all waiting operations without starting them, including operations that come
  /// meanwhile.
  ///
  /// Futures whose closures are released fail with
  /// `ProperationsError.brokenPromise(createdAt:)`. A retry without end asks for another
  /// operation each time: after a thousand times, operations that come are cancelled as well,
  /// which ends it. Code that asks for an operation even then leaves one in the context after
  /// another thousand times.
  ///
  /// - Returns: How many operations there were.
  @discardableResult
  public func dropAll() -> Int {
    let mostRounds = 1_000
    var count = 0
    for round in 0..<2 * mostRounds {
      // The release runs code of futures, so it happens outside the lock. A future that fails
      // may ask the context to start the closure of another future.
      let dropped = state.withLock { state in
        defer { state.waiting = OperationLine() }
        return state.waiting
      }
      if dropped.count == 0 { return count }
      count += dropped.count
      if round >= mostRounds { for operation in dropped.all { operation.cancel() } }
    }
    return count
  }

  private func take(at index: Int = 0) -> Operation? {
    state.withLock { $0.waiting.take(at: index) }
  }
}
