import Foundation
import Futures

/// A promise that occupies its operation queue until it is settled.
///
/// An ordinary promise costs its queue nothing while it is pending. A blocking
/// one starts when the queue gives it a slot, runs its closure, and holds the
/// slot until it is settled: on a queue with
/// `maxConcurrentOperationCount = 1` the asynchronous work of several runs one
/// after the other.
///
/// ```swift
/// let queue = OperationQueue()
/// queue.maxConcurrentOperationCount = 1
/// let status = Promises.makeBlocking(in: queue, promising: Int32.self) { promise in
///   process.terminationHandler = { promise.succeed(with: $0.terminationStatus) }
///   try process.run()
/// }
/// ```
///
/// The closure runs once, when the queue starts the promise; never if it was
/// cancelled or settled first. It gets this very promise. Any code that holds the
/// promise may settle it, inside the closure or outside. If the last reference goes
/// before it is settled, its consumers fail with
/// `ProperationsError.brokenPromise`, and the queue goes on: a queue owns the
/// promise only until it has started it. (A queue that got the promise by a plain
/// `addOperation(_:)` owns it until it has finished; use `addFuture(_:)`.)
///
/// Cancelling settles it and frees the queue, queued or running. On the main
/// queue it fails with `ProperationsError.blockingOnMainQueue` instead of
/// blocking it.
public final class BlockingPromise<Success: Sendable>: Promise<Success>, @unchecked Sendable {
  // Sendable: `work` has a lock, the rest never changes.
  private struct Work {
    var body: (@Sendable (Promise<Success>) throws -> Void)?
    /// Where the closure runs; `nil` once the promise has settled.
    var context: (any ExecutionContext)?
    /// Whether `start()` was called: a second queue may call it again.
    var isStarted = false
  }

  private let work: Lock<Work>
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
    work = Lock(Work(body: body, context: executionContext))
    site = (fileID, line)
    super.init(
      occupyingQueueFor: ContextReference(executionContext), name: name,
      at: Birthplace(fileID, line))
    // A closure that will not run is released as soon as that is known.
    _ = watch { [weak self] _ in
      // Released here, outside the lock.
      let last = self?.work.withLock { ($0.body.take(), $0.context.take()) }
      withExtendedLifetime(last) {}
    }
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

  /// Takes the slot and starts the work.
  ///
  /// Queues call this; do not call it yourself.
  public override func start() {
    super.start()
    guard isExecuting else { return }
    let first = work.withLock { work in
      defer { work.isStarted = true }
      return work.isStarted ? nil : work.context
    }
    guard let context = first else { return }
    if OperationQueue.current === OperationQueue.main {
      fail(with: ProperationsError.blockingOnMainQueue)
      return
    }
    if let queue = context as? OperationQueue, queue === OperationQueue.current {
      // The slot that the closure would wait for is this one.
      return run()
    }
    let hop = Promises.run(on: context, fileID: site.fileID, line: site.line) {
      self.run()
    }
    // The hop fails only if the context has dropped the closure.
    let isWatching = hop.watch { [weak self] hop in
      if let error = hop.anyError { self?.fail(with: error) }
    }
    if !isWatching, let error = hop.anyError { fail(with: error) }
  }

  private func run() {
    guard let body = work.withLock({ $0.body.take() }), !isFulfilled else { return }
    do { try body(self) } catch { fail(with: error) }
    workHasStarted()
  }
}

extension Promises {
  /// Makes a blocking promise and puts it in a queue.
  ///
  /// - Parameters:
  ///   - queue: The queue that it occupies; not the main queue, there the
  ///     promise fails with `ProperationsError.blockingOnMainQueue`.
  ///   - type: The type of the value.
  ///   - executionContext: Where the closure runs.
  ///   - fileID: The file to name in errors; leave it out.
  ///   - line: The line to name in errors; leave it out.
  ///   - body: Starts the work that settles the promise. What it throws fails
  ///     the promise.
  public static func makeBlocking<Success: Sendable>(
    in queue: OperationQueue, promising type: Success.Type = Success.self,
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
  ///     promise fails with `ProperationsError.blockingOnMainQueue`.
  ///   - type: The type of the value.
  ///   - fileID: The file to name in errors; leave it out.
  ///   - line: The line to name in errors; leave it out.
  ///   - body: Starts the work that settles the promise. What it throws fails
  ///     the promise.
  public static func makeBlocking<Success: Sendable>(
    in queue: OperationQueue, promising type: Success.Type = Success.self,
    fileID: StaticString = #fileID, line: UInt = #line,
    _ body: @escaping @MainActor (Promise<Success>) throws -> Void
  ) -> BlockingPromise<Success> {
    makeBlocking(
      in: queue, promising: type, executionContext: .main, fileID: fileID, line: line
    ) { promise in
      try MainActor.assumeIsolated { try body(promise) }
    }
  }

}

extension Promise {
  /// Makes a blocking promise and puts it in a queue:
  /// ``Promises/makeBlocking(in:promising:executionContext:fileID:line:_:)`` with the type
  /// on the left.
  ///
  /// - Parameters:
  ///   - queue: The queue that it occupies.
  ///   - executionContext: Where the closure runs.
  ///   - fileID: The file to name in errors; leave it out.
  ///   - line: The line to name in errors; leave it out.
  ///   - body: Starts the work that settles the promise. What it throws fails
  ///     the promise.
  public static func makeBlocking(
    in queue: OperationQueue, executionContext: some ExecutionContext,
    fileID: StaticString = #fileID, line: UInt = #line,
    _ body: @escaping @Sendable (Promise<Success>) throws -> Void
  ) -> BlockingPromise<Success> {
    Promises.makeBlocking(
      in: queue, executionContext: executionContext, fileID: fileID, line: line, body)
  }

  /// Makes a blocking promise whose closure runs on the main queue, and puts it in a queue:
  /// ``Promises/makeBlocking(in:promising:fileID:line:_:)`` with the type on the left.
  ///
  /// - Parameters:
  ///   - queue: The queue that it occupies.
  ///   - fileID: The file to name in errors; leave it out.
  ///   - line: The line to name in errors; leave it out.
  ///   - body: Starts the work that settles the promise. What it throws fails
  ///     the promise.
  public static func makeBlocking(
    in queue: OperationQueue, fileID: StaticString = #fileID, line: UInt = #line,
    _ body: @escaping @MainActor (Promise<Success>) throws -> Void
  ) -> BlockingPromise<Success> {
    Promises.makeBlocking(in: queue, fileID: fileID, line: line, body)
  }
}
