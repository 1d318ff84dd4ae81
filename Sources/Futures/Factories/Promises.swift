import Foundation

/// The functions that make futures and promises.
///
/// `Promises` is a namespace, because a factory of a generic type needs the type on the
/// left: `Promises.make(promising: Int.self)` reads better than `Promise<Int>.make()`.
///
/// Parameters `fileID` and `line` record the place in the source; leave them out.
public enum Promises {
  /// The queue on which the library does background work of its own.
  ///
  /// You may use it for your own work.
  public static let defaultOperationQueue = OperationQueue(ofLibrary: "Properations")

  // MARK: Promises

  /// Makes a promise.
  ///
  /// - Parameters:
  ///   - type: The type of the value.
  ///   - queue: A queue that the promise belongs to. The promise occupies no slot of the
  ///     queue while it is pending. Cancelling the queue's operations cancels the
  ///     promise, and waiting for them waits for the promise. Any number of pending
  ///     promises costs the queue nothing: beyond the first few, one operation stands for
  ///     all of them. So a barrier of a queue with very many pending promises may also
  ///     wait for some that were made after it. If the queue is shut down, the promise
  ///     fails with ``ProperationsError/queueIsShutDown(queue:)``.
  public static func make<Success: Sendable>(
    promising type: Success.Type, in queue: OperationQueue? = nil,
    fileID: StaticString = #fileID, line: UInt = #line
  ) -> Promise<Success> {
    let promise = Promise<Success>(fileID: fileID, line: line)
    if let queue { promise.joinUnlessShutDown(queue) }
    return promise
  }

  // MARK: Settled futures

  /// Makes a future that has settled with a result.
  ///
  /// - Parameter result: The value or the error.
  public static func makeFulfilled<Success: Sendable>(
    with result: FutureResult<Success>, fileID: StaticString = #fileID, line: UInt = #line
  ) -> Future<Success> {
    let future = Future<Success>(traits: [], at: Birthplace(fileID, line))
    future.settle(result)
    return future
  }

  /// Makes a future that has succeeded with a value.
  ///
  /// - Parameter value: The value.
  public static func makeSucceeded<Success: Sendable>(
    with value: Success, fileID: StaticString = #fileID, line: UInt = #line
  ) -> Future<Success> {
    makeFulfilled(with: .success(value), fileID: fileID, line: line)
  }

  /// Makes a `Void` future that has succeeded.
  public static func makeSucceeded(
    fileID: StaticString = #fileID, line: UInt = #line
  ) -> Future<Void> {
    makeFulfilled(with: .success, fileID: fileID, line: line)
  }

  /// Makes a future that has failed with an error.
  ///
  /// - Parameters:
  ///   - error: The error.
  ///   - type: The type of the value that the future does not have.
  public static func makeFailed<Success: Sendable>(
    with error: any Error, promising type: Success.Type = Success.self,
    fileID: StaticString = #fileID, line: UInt = #line
  ) -> Future<Success> {
    makeFulfilled(with: .failure(error), fileID: fileID, line: line)
  }

  // MARK: Work

  /// Runs a closure in a context, and makes a future of its value or error.
  ///
  /// If the future is cancelled before the closure starts, the closure does not run. If
  /// the closure throws `CancellationError`, the future is cancelled. If the closure
  /// returns a future itself, call ``Future/flatten(fileID:line:)`` on the new one, which
  /// does not wait for the inner one.
  ///
  /// - Parameters:
  ///   - context: Where the closure runs.
  ///   - body: The work.
  public static func run<Success: Sendable>(
    on context: some ExecutionContext, fileID: StaticString = #fileID, line: UInt = #line,
    _ body: @escaping @Sendable () throws -> Success
  ) -> Future<Success> {
    let future = Future<Success>(
      traits: .actsAlways, context: ContextReference(context), upstream: .none,
      at: Birthplace(fileID, line),
      work: Work { future, _ in
        do {
          unsafeDowncast(future, to: Future<Success>.self)
            .settle(success: try body(), from: .closure)
        } catch {
          future.settle(failure: error, from: .closure)
        }
      })
    future.scheduleFirst()
    return future
  }

  /// Runs a closure on the main queue, and makes a future of its value or error.
  ///
  /// - Parameter body: The work.
  public static func run<Success: Sendable>(
    fileID: StaticString = #fileID, line: UInt = #line,
    _ body: @escaping @MainActor () throws -> Success
  ) -> Future<Success> {
    run(on: .main, fileID: fileID, line: line) { try MainActor.assumeIsolated { try body() } }
  }
}

extension OperationQueue {
  /// Makes a queue for a user who did not choose one.
  ///
  /// It has the default quality of service. Apple documents that a new queue has
  /// `.background`, which may delay work for minutes.
  package convenience init(ofLibrary name: String?) {
    self.init()
    self.name = name
    qualityOfService = .default
  }
}
