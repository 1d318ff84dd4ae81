import Foundation

/// Where futures and promises come from.
///
/// A namespace, because the factories of a generic type would have to be
/// written with the type on the left: `Promises.make(promising: Int.self)`
/// reads better than `Promise<Int>.make()`, which exists too.
public enum Promises {
  /// The queue on which the library does its own background work, where some is
  /// needed.
  ///
  /// You may use it for yours.
  public static let defaultOperationQueue: OperationQueue = {
    let queue = OperationQueue()
    queue.name = "Properations"
    return queue
  }()

  // MARK: Promises

  /// Makes a promise.
  ///
  /// - Parameters:
  ///   - type: The type of the value.
  ///   - queue: A queue that the promise belongs to. It occupies no slot of
  ///     it, however long it is pending; cancelling the queue's operations
  ///     cancels it, waiting for them waits for it. Pending promises cost their
  ///     queue nothing, however many they are: beyond the first few,
  ///     one operation stands for all of them. (So where very many are pending,
  ///     a barrier of the queue may wait for some that were made after it.)
  ///   - fileID: The file to name in errors; leave it out.
  ///   - line: The line to name in errors; leave it out.
  public static func make<Success: Sendable>(
    promising type: Success.Type, in queue: OperationQueue? = nil,
    fileID: StaticString = #fileID, line: UInt = #line
  ) -> Promise<Success> {
    let promise = Promise<Success>(fileID: fileID, line: line)
    if let queue { _ = promise.join(queue) }
    return promise
  }

  // MARK: Settled futures

  /// Makes a future that has settled with a result.
  ///
  /// - Parameters:
  ///   - result: The value or the error.
  ///   - fileID: The file to name in errors; leave it out.
  ///   - line: The line to name in errors; leave it out.
  public static func makeFulfilled<Success: Sendable>(
    with result: FutureResult<Success>, fileID: StaticString = #fileID, line: UInt = #line
  ) -> Future<Success> {
    let future = Future<Success>(traits: [], at: Birthplace(fileID, line))
    future.settle(result)
    return future
  }

  /// Makes a future that has succeeded with a value.
  ///
  /// - Parameters:
  ///   - value: The value.
  ///   - fileID: The file to name in errors; leave it out.
  ///   - line: The line to name in errors; leave it out.
  public static func makeSucceeded<Success: Sendable>(
    with value: Success, fileID: StaticString = #fileID, line: UInt = #line
  ) -> Future<Success> {
    makeFulfilled(with: .success(value), fileID: fileID, line: line)
  }

  /// Makes a future that has succeeded and has no value.
  ///
  /// - Parameters:
  ///   - fileID: The file to name in errors; leave it out.
  ///   - line: The line to name in errors; leave it out.
  public static func makeSucceeded(
    fileID: StaticString = #fileID, line: UInt = #line
  ) -> Future<Void> {
    makeFulfilled(with: .success, fileID: fileID, line: line)
  }

  /// Makes a future that has failed with an error.
  ///
  /// - Parameters:
  ///   - error: The error.
  ///   - type: The type of the value it would have had.
  ///   - fileID: The file to name in errors; leave it out.
  ///   - line: The line to name in errors; leave it out.
  public static func makeFailed<Success: Sendable>(
    with error: any Error, promising type: Success.Type = Success.self,
    fileID: StaticString = #fileID, line: UInt = #line
  ) -> Future<Success> {
    makeFulfilled(with: .failure(error), fileID: fileID, line: line)
  }

  // MARK: Work

  /// Runs a closure in a context; its value, or what it throws, is the result.
  ///
  /// Cancelling the future before the closure starts keeps it from starting. If
  /// the closure throws `CancellationError`, the future is cancelled.
  ///
  /// - Parameters:
  ///   - context: Where the closure runs.
  ///   - fileID: The file to name in errors; leave it out.
  ///   - line: The line to name in errors; leave it out.
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

  /// Runs a closure on the main queue; its value, or what it throws, is the
  /// result.
  ///
  /// - Parameters:
  ///   - fileID: The file to name in errors; leave it out.
  ///   - line: The line to name in errors; leave it out.
  ///   - body: The work.
  public static func run<Success: Sendable>(
    fileID: StaticString = #fileID, line: UInt = #line,
    _ body: @escaping @MainActor () throws -> Success
  ) -> Future<Success> {
    run(on: .main, fileID: fileID, line: line) { try MainActor.assumeIsolated { try body() } }
  }
}

extension Promise {
  /// Makes a promise: ``Promises/make(promising:in:fileID:line:)`` with the type on the
  /// left.
  ///
  /// - Parameters:
  ///   - queue: A queue that the promise belongs to.
  ///   - fileID: The file to name in errors; leave it out.
  ///   - line: The line to name in errors; leave it out.
  public static func make(
    in queue: OperationQueue? = nil, fileID: StaticString = #fileID, line: UInt = #line
  ) -> Promise<Success> {
    Promises.make(promising: Success.self, in: queue, fileID: fileID, line: line)
  }
}
