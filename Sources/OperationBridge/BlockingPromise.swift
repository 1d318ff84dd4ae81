import Foundation
import Futures

/// A promise that occupies its operation queue until it is settled.
///
/// An ordinary promise costs its queue nothing while it is pending. A blocking
/// one starts when the queue gives it a slot, runs its closure, and holds the
/// slot until somebody settles it: on a queue with
/// `maxConcurrentOperationCount = 1` the asynchronous work of several runs one
/// after the other.
///
/// ```swift
/// let queue = OperationQueue()
/// queue.maxConcurrentOperationCount = 1
/// let status = Promises.makeBlocking(on: queue, promising: Int32.self) { promise in
///   process.terminationHandler = { promise.succeed(with: $0.terminationStatus) }
///   try process.run()
/// }
/// ```
///
/// The closure runs once, when the queue starts the promise; never if it was
/// cancelled first. The promise that the closure gets is the write end: if the
/// closure loses it unsettled, the blocking promise fails with
/// ``ProperationsError/brokenPromise(createdAt:)`` and the queue goes on.
/// Cancelling settles it and frees the queue, queued or running. On the main
/// queue it fails with ``ProperationsError/blockingOnMainQueue`` instead of
/// blocking it.
public final class BlockingPromise<Success: Sendable>: Promise<Success>, @unchecked Sendable {
  // Sendable: `body` has a lock, the rest never changes.
  private let body: Lock<(@Sendable (Promise<Success>) throws -> Void)?>
  private let executionContext: any ExecutionContext
  private let site: (fileID: StaticString, line: UInt)

  /// Makes a promise to be put in a queue by hand, with `addFuture(_:)` or
  /// `addOperation(_:)`.
  ///
  /// - Parameters:
  ///   - name: A name for people.
  ///   - executionContext: Where the closure runs.
  ///   - fileID: The file to name in errors; leave it out.
  ///   - line: The line to name in errors; leave it out.
  ///   - body: Starts the work that settles the promise. What it throws fails
  ///     the promise.
  public init(
    name: String? = nil, executionContext: some ExecutionContext,
    fileID: StaticString = #fileID, line: UInt = #line,
    _ body: @escaping @Sendable (Promise<Success>) throws -> Void
  ) {
    self.body = Lock(body)
    self.executionContext = executionContext
    site = (fileID, line)
    super.init(
      occupyingQueueFor: ContextReference(executionContext), name: name,
      at: Birthplace(fileID, line))
    // A closure that will not run is released as soon as that is known.
    _ = watch { [weak self] _ in self?.body.withLock { $0 = nil } }
  }

  /// Makes a promise whose closure runs on the main queue, to be put in
  /// another queue by hand.
  ///
  /// - Parameters:
  ///   - name: A name for people.
  ///   - fileID: The file to name in errors; leave it out.
  ///   - line: The line to name in errors; leave it out.
  ///   - body: Starts the work that settles the promise. What it throws fails
  ///     the promise.
  public convenience init(
    name: String? = nil, fileID: StaticString = #fileID, line: UInt = #line,
    _ body: @escaping @MainActor (Promise<Success>) throws -> Void
  ) {
    self.init(name: name, executionContext: .main, fileID: fileID, line: line) { promise in
      try MainActor.assumeIsolated { try body(promise) }
    }
  }

  /// Takes the slot and starts the work. Queues call this; there is no reason
  /// to call it yourself.
  public override func start() {
    super.start()
    guard !isFulfilled, let body = body.withLock({ $0.take() }) else { return }
    if OperationQueue.current === OperationQueue.main {
      fail(with: ProperationsError.blockingOnMainQueue)
      return
    }
    // The closure's promise is not this one: the queue holds this one, so
    // nobody would notice if the closure lost it.
    let promise = Promise<Success>(name: name, fileID: site.fileID, line: site.line)
    fulfill(from: promise)
    Promises.run(on: executionContext, fileID: site.fileID, line: site.line) {
      guard !promise.isFulfilled else { return }
      do { try body(promise) } catch { promise.fail(with: error) }
    }
  }
}

extension Promises {
  /// Makes a blocking promise and puts it in a queue.
  ///
  /// - Parameters:
  ///   - queue: The queue that it occupies; not the main queue, there the
  ///     promise fails with ``ProperationsError/blockingOnMainQueue``.
  ///   - type: The type of the value.
  ///   - executionContext: Where the closure runs.
  ///   - fileID: The file to name in errors; leave it out.
  ///   - line: The line to name in errors; leave it out.
  ///   - body: Starts the work that settles the promise. What it throws fails
  ///     the promise.
  public static func makeBlocking<Success: Sendable>(
    on queue: OperationQueue, promising type: Success.Type,
    executionContext: some ExecutionContext, fileID: StaticString = #fileID, line: UInt = #line,
    _ body: @escaping @Sendable (Promise<Success>) throws -> Void
  ) -> BlockingPromise<Success> {
    let promise = BlockingPromise<Success>(
      executionContext: executionContext, fileID: fileID, line: line, body)
    if queue === OperationQueue.main {
      promise.fail(with: ProperationsError.blockingOnMainQueue)
    } else {
      _ = promise.join(queue)
    }
    return promise
  }

  /// Makes a blocking promise whose closure runs on the main queue, and puts it
  /// in a queue.
  ///
  /// - Parameters:
  ///   - queue: The queue that it occupies; not the main queue, there the
  ///     promise fails with ``ProperationsError/blockingOnMainQueue``.
  ///   - type: The type of the value.
  ///   - fileID: The file to name in errors; leave it out.
  ///   - line: The line to name in errors; leave it out.
  ///   - body: Starts the work that settles the promise. What it throws fails
  ///     the promise.
  public static func makeBlocking<Success: Sendable>(
    on queue: OperationQueue, promising type: Success.Type,
    fileID: StaticString = #fileID, line: UInt = #line,
    _ body: @escaping @MainActor (Promise<Success>) throws -> Void
  ) -> BlockingPromise<Success> {
    makeBlocking(
      on: queue, promising: type, executionContext: .main, fileID: fileID, line: line
    ) { promise in
      try MainActor.assumeIsolated { try body(promise) }
    }
  }
}
