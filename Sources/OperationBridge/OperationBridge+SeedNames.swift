import Foundation
import Futures

// Names of Properations, the first system, that have others here. They do what they did
// there.

/// The name in Properations of the class ``BlockingPromise``.
@available(*, deprecated, renamed: "BlockingPromise")
public typealias BlockingPromiseOperation<Success: Sendable> = BlockingPromise<Success>

extension BlockingPromise {
  /// Makes a promise whose closure runs in the slot that it occupies, as in Properations.
  ///
  /// - Parameter executionBlock: Starts the work that settles the promise.
  @available(*, deprecated, renamed: "init(executionContext:_:)")
  @_disfavoredOverload
  public convenience init(
    fileID: StaticString = #fileID, line: UInt = #line,
    executionBlock: @escaping @Sendable (Promise<Success>) -> Void
  ) {
    self.init(executionContext: .inline, fileID: fileID, line: line, executionBlock)
  }
}

extension Promises {
  /// Makes a blocking promise and puts it in a queue:
  /// ``makeBlocking(in:promising:executionContext:fileID:line:_:)`` with the labels of
  /// Properations.
  ///
  /// - Parameters:
  ///   - queue: The queue that it occupies; not the main queue.
  ///   - type: The type of the value.
  ///   - executionQueue: Where the closure runs.
  ///   - executionTask: Starts the work that settles the promise. Without one the promise
  ///     occupies the queue until other code settles it.
  @available(*, deprecated, renamed: "makeBlocking(in:promising:executionContext:_:)")
  public static func makeBlocking<Success: Sendable>(
    on queue: OperationQueue, promising type: Success.Type, executionQueue: OperationQueue,
    fileID: StaticString = #fileID, line: UInt = #line,
    executionTask: @escaping @Sendable (Promise<Success>) -> Void = { _ in }
  ) -> Promise<Success> {
    makeBlocking(
      in: queue, promising: type, executionContext: executionQueue, fileID: fileID, line: line,
      executionTask)
  }

  /// Makes a blocking promise whose closure runs on the main queue, and puts it in a queue:
  /// ``makeBlocking(in:promising:fileID:line:_:)`` with the labels of Properations.
  ///
  /// - Parameters:
  ///   - queue: The queue that it occupies; not the main queue.
  ///   - type: The type of the value.
  ///   - executionTask: Starts the work that settles the promise. Without one the promise
  ///     occupies the queue until other code settles it.
  @available(*, deprecated, renamed: "makeBlocking(in:promising:_:)")
  @_disfavoredOverload
  public static func makeBlocking<Success: Sendable>(
    on queue: OperationQueue, promising type: Success.Type,
    fileID: StaticString = #fileID, line: UInt = #line,
    executionTask: @escaping @MainActor (Promise<Success>) -> Void = { _ in }
  ) -> Promise<Success> {
    makeBlocking(in: queue, promising: type, fileID: fileID, line: line, executionTask)
  }

  /// Makes a future of the outcome of an operation:
  /// ``make(awaitingCompletionOf:on:fileID:line:_:)`` with the labels of Properations.
  ///
  /// As there, the closure runs when the operation has finished, even if it was cancelled,
  /// and the future keeps the operation until then.
  ///
  /// - Parameters:
  ///   - queue: A queue that the future belongs to.
  ///   - operation: The operation; it may be in a queue, or have finished.
  ///   - executionQueue: Where the closure runs; the main queue by default.
  ///   - completionHandler: Takes the value from the finished operation, or throws.
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
    if let queue { _ = future.join(queue) }
    return future
  }

  /// Makes a future of what a closure makes of several operations, once all have finished,
  /// whether with success or not.
  ///
  /// In Properations it was what `combine` and `collect` were built of. Cancelling the
  /// future leaves the operations alone.
  ///
  /// - Parameters:
  ///   - dependencies: The operations; futures are operations, too.
  ///   - handler: Makes the value, or throws; it runs on
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
  /// Makes a blocking promise and puts it in a queue:
  /// ``makeBlocking(in:executionContext:fileID:line:_:)`` with the labels of Properations.
  ///
  /// - Parameters:
  ///   - queue: The queue that it occupies; not the main queue.
  ///   - executionQueue: Where the closure runs; the main queue by default.
  ///   - executionTask: Starts the work that settles the promise. Without one the promise
  ///     occupies the queue until other code settles it.
  @available(*, deprecated, renamed: "makeBlocking(in:executionContext:_:)")
  public static func makeBlocking(
    on queue: OperationQueue, executionQueue: OperationQueue = .main,
    fileID: StaticString = #fileID, line: UInt = #line,
    executionTask: @escaping @Sendable (Promise<Success>) -> Void = { _ in }
  ) -> Promise<Success> {
    makeBlocking(
      in: queue, executionContext: executionQueue, fileID: fileID, line: line, executionTask)
  }

  /// Makes a future of the outcome of an operation:
  /// `Promises.make(awaitingCompletionOf:on:_:)` with the type on the left and the labels of
  /// Properations.
  ///
  /// As there, the closure runs when the operation has finished, even if it was cancelled,
  /// and the future keeps the operation until then.
  ///
  /// - Parameters:
  ///   - queue: A queue that the future belongs to.
  ///   - operation: The operation; it may be in a queue, or have finished.
  ///   - executionQueue: Where the closure runs; the main queue by default.
  ///   - completionHandler: Takes the value from the finished operation, or throws.
  @available(*, deprecated, message: "Use Promises.make(awaitingCompletionOf:on:_:).")
  @_disfavoredOverload
  public static func make<Work: Operation>(
    on queue: OperationQueue? = nil, awaitingCompletionOf operation: Work,
    executionQueue: OperationQueue = .main, fileID: StaticString = #fileID, line: UInt = #line,
    completionHandler: @escaping @Sendable (Work) throws -> Success
  ) -> Future<Success> {
    let future = Future<FinishedOperation>.awaiting(operation, fileID: fileID, line: line)
      .mapResult(on: executionQueue, fileID: fileID, line: line) { _ in
        Result { try completionHandler(operation) }
      }
    if let queue { _ = future.join(queue) }
    return future
  }
}
