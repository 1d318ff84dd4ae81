import Foundation
import Futures

// Names from the first Properations system that have other names here. Each does what it
// did there.

/// The old name of ``BlockingPromise``, from the first Properations system.
@available(*, deprecated, renamed: "BlockingPromise")
public typealias BlockingPromiseOperation<Success: Sendable> = BlockingPromise<Success>

extension BlockingPromise {
  /// Makes a promise whose closure runs in the slot that the promise occupies.
  ///
  /// - Parameter executionBlock: Starts the work that settles the promise.
  @available(*, deprecated, renamed: "init(on:_:)")
  @_disfavoredOverload
  public convenience init(
    fileID: StaticString = #fileID, line: UInt = #line,
    executionBlock: @escaping @Sendable (Promise<Success>) -> Void
  ) {
    self.init(on: .inline, fileID: fileID, line: line, executionBlock)
  }
}

extension Promises {
  /// Makes a blocking promise and puts it in a queue; use
  /// ``makeBlocking(in:promising:on:fileID:line:_:)``.
  ///
  /// - Parameters:
  ///   - queue: The queue that the promise occupies; not the main queue.
  ///   - type: The type of the value.
  ///   - executionQueue: Where the closure runs.
  ///   - executionTask: Starts the work that settles the promise. Without this closure, the
  ///     promise occupies the queue until other code settles it.
  @available(*, deprecated, renamed: "makeBlocking(in:promising:on:_:)")
  public static func makeBlocking<Success: Sendable>(
    on queue: OperationQueue, promising type: Success.Type, executionQueue: OperationQueue,
    fileID: StaticString = #fileID, line: UInt = #line,
    executionTask: @escaping @Sendable (Promise<Success>) -> Void = { _ in }
  ) -> Promise<Success> {
    makeBlocking(
      in: queue, promising: type, on: executionQueue, fileID: fileID, line: line,
      executionTask)
  }

  /// Makes a blocking promise whose closure runs on the main queue, and puts it in a queue;
  /// use ``makeBlocking(in:promising:fileID:line:_:)``.
  ///
  /// - Parameters:
  ///   - queue: The queue that the promise occupies; not the main queue.
  ///   - type: The type of the value.
  ///   - executionTask: Starts the work that settles the promise. Without this closure, the
  ///     promise occupies the queue until other code settles it.
  @available(*, deprecated, renamed: "makeBlocking(in:promising:_:)")
  @_disfavoredOverload
  public static func makeBlocking<Success: Sendable>(
    on queue: OperationQueue, promising type: Success.Type,
    fileID: StaticString = #fileID, line: UInt = #line,
    executionTask: @escaping @MainActor (Promise<Success>) -> Void = { _ in }
  ) -> Promise<Success> {
    makeBlocking(in: queue, promising: type, fileID: fileID, line: line, executionTask)
  }

  /// Makes a future of the outcome of an operation; use
  /// ``make(awaitingCompletionOf:on:fileID:line:_:)``.
  ///
  /// The closure runs when the operation has finished, even if the operation was cancelled.
  /// The future keeps the operation until then.
  ///
  /// - Parameters:
  ///   - queue: The queue that the future belongs to.
  ///   - operation: The operation. It may be in a queue, or have finished.
  ///   - executionQueue: Where the closure runs; the main queue by default.
  ///   - completionHandler: Takes the value from the finished operation, or throws an
  ///     error.
  @available(*, deprecated, renamed: "make(awaitingCompletionOf:on:_:)")
  @_disfavoredOverload
  public static func make<Work: Operation, Success: Sendable>(
    on queue: OperationQueue? = nil, awaitingCompletionOf operation: Work,
    executionQueue: OperationQueue = .main, fileID: StaticString = #fileID, line: UInt = #line,
    completionHandler: @escaping @Sendable (Work) throws -> Success
  ) -> Future<Success> {
    let future = Future.awaiting(operation, fileID: fileID, line: line).mapResult(
      on: executionQueue, fileID: fileID, line: line
    ) { _ in Result { try completionHandler(operation) } }
    if let queue { future.joinUnlessShutDown(queue) }
    return future
  }

  /// Makes a future of the value that a closure returns after several operations have
  /// finished.
  ///
  /// The operations may have finished with or without success. In the first Properations
  /// system, `combine` and `collect` were built on this call. Cancelling the future does
  /// not cancel the operations.
  ///
  /// - Parameters:
  ///   - dependencies: The operations. Futures are operations too.
  ///   - handler: Makes the value, or throws an error. It runs on
  ///     `Promises.defaultOperationQueue`.
  @available(
    *, deprecated, message: "Use combine(_:), collect(_:) or collectResults(_:) and mapToValue."
  )
  public static func makeFuture<Success: Sendable>(
    byCombining dependencies: [Operation], fileID: StaticString = #fileID, line: UInt = #line,
    using handler: @escaping @Sendable () throws -> Success
  ) -> Future<Success> {
    let ends = dependencies.map { Future.awaiting($0, fileID: fileID, line: line) }
    return collectResults(ends, fileID: fileID, line: line)
      .mapToValue(on: defaultOperationQueue, fileID: fileID, line: line) { _ in try handler() }
  }
}

extension Promise {
  /// Makes a blocking promise and puts it in a queue; use
  /// ``Promises/makeBlocking(in:promising:on:fileID:line:_:)``.
  ///
  /// - Parameters:
  ///   - queue: The queue that the promise occupies; not the main queue.
  ///   - executionQueue: Where the closure runs; the main queue by default.
  ///   - executionTask: Starts the work that settles the promise. Without this closure, the
  ///     promise occupies the queue until other code settles it.
  @available(*, deprecated, message: "Use Promises.makeBlocking(in:promising:on:).")
  public static func makeBlocking(
    on queue: OperationQueue, executionQueue: OperationQueue = .main,
    fileID: StaticString = #fileID, line: UInt = #line,
    executionTask: @escaping @Sendable (Promise<Success>) -> Void = { _ in }
  ) -> Promise<Success> {
    Promises.makeBlocking(
      in: queue, on: executionQueue, fileID: fileID, line: line, executionTask)
  }

  /// Makes a future of the outcome of an operation; use
  /// `Promises.make(awaitingCompletionOf:on:_:)`.
  ///
  /// The closure runs when the operation has finished, even if the operation was cancelled.
  /// The future keeps the operation until then.
  ///
  /// - Parameters:
  ///   - queue: The queue that the future belongs to.
  ///   - operation: The operation. It may be in a queue, or have finished.
  ///   - executionQueue: Where the closure runs; the main queue by default.
  ///   - completionHandler: Takes the value from the finished operation, or throws an
  ///     error.
  @available(*, deprecated, message: "Use Promises.make(awaitingCompletionOf:on:_:).")
  @_disfavoredOverload
  public static func make<Work: Operation>(
    on queue: OperationQueue? = nil, awaitingCompletionOf operation: Work,
    executionQueue: OperationQueue = .main, fileID: StaticString = #fileID, line: UInt = #line,
    completionHandler: @escaping @Sendable (Work) throws -> Success
  ) -> Future<Success> {
    Promises.make(
      on: queue, awaitingCompletionOf: operation, executionQueue: executionQueue, fileID: fileID,
      line: line, completionHandler: completionHandler)
  }
}
