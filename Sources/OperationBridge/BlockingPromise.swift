import Foundation
import Futures

/// A promise that occupies its operation queue until it has settled.
///
/// An ordinary promise costs its queue nothing while it is pending. A blocking promise
/// starts when the queue gives it a slot, runs its closure, and holds the slot until it
/// has settled. So on a queue with `maxConcurrentOperationCount = 1` the asynchronous
/// work of several blocking promises runs one after the other.
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
/// The closure runs once, with this promise, when the queue starts the promise. It does
/// not run if the promise was cancelled or settled first. Any code that holds the promise
/// may settle it, inside the closure or outside. If the last reference is released before
/// the promise has settled, its consumers fail with `ProperationsError.brokenPromise`,
/// and the queue goes on: a queue owns the promise only until it has started it. A queue
/// that got the promise by a plain `addOperation(_:)` owns it until it has finished; use
/// `addFuture(_:)`.
///
/// Cancelling a waiting or running promise settles it and frees its slot. On the main
/// queue a blocking promise fails with `ProperationsError.blockingOnMainQueue` instead of
/// blocking the queue.
///
/// Parameters `fileID` and `line` record the place in the source; leave them out.
public final class BlockingPromise<Success: Sendable>: Promise<Success>, @unchecked Sendable {
  // Sendable: `work` has a lock, the rest never changes.
  private struct Closure {
    var body: (@Sendable (Promise<Success>) throws -> Void)?
    /// Where the closure runs; `nil` after the promise has settled.
    var context: (any ExecutionContext)?
    /// Whether `start()` was called.
    ///
    /// A second queue may call it again.
    var isStarted = false
  }

  private let work: Lock<Closure>
  private let site: (fileID: StaticString, line: UInt)

  /// Makes a promise that you put in a queue with `addFuture(_:)` or `addOperation(_:)`.
  ///
  /// - Parameters:
  ///   - name: A name for people.
  ///   - context: Where the closure runs.
  ///   - body: Starts the work that settles the promise. An error that it throws fails
  ///     the promise.
  public init(
    name: String? = nil, on context: some ExecutionContext,
    fileID: StaticString = #fileID, line: UInt = #line,
    _ body: @escaping @Sendable (Promise<Success>) throws -> Void
  ) {
    work = Lock(Closure(body: CarriedTaskLocals.bind(body), context: context))
    site = (fileID, line)
    super.init(
      occupyingQueueFor: ContextReference(context), name: name,
      at: Birthplace(fileID, line))
    // A closure that will not run is released as soon as the promise has settled.
    _ = watch { [weak self] _ in
      // Released after unlock.
      let last = self?.work.withLock { ($0.body.take(), $0.context.take()) }
      withExtendedLifetime(last) {}
    }
  }

  /// Makes a promise whose closure runs on the main queue, and that you put in another
  /// queue.
  ///
  /// - Parameters:
  ///   - name: A name for people.
  ///   - body: Starts the work that settles the promise. An error that it throws fails
  ///     the promise.
  public convenience init(
    name: String? = nil, fileID: StaticString = #fileID, line: UInt = #line,
    _ body: @escaping @MainActor (Promise<Success>) throws -> Void
  ) {
    self.init(name: name, on: .main, fileID: fileID, line: line) { promise in
      try MainActor.assumeIsolated { try body(promise) }
    }
  }

  /// Takes the slot and starts the work.
  ///
  /// Queues call this method; do not call it yourself.
  public override func start() {
    super.start()
    guard isExecuting else { return }
    let context = work.withLock { work in
      defer { work.isStarted = true }
      return work.isStarted ? nil : work.context
    }
    guard let context else { return }
    if OperationQueue.current === OperationQueue.main {
      fail(with: ProperationsError.blockingOnMainQueue)
      return
    }
    if let queue = context as? OperationQueue, queue === OperationQueue.current {
      // The closure would wait for the slot that this promise holds.
      let time = ClosureTime()
      run()
      time?.end(closureOf: self, on: .operationQueue(queue))
      return
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
    // The thread knows then that it works for this promise. The closure runs at once, so that
    // its time counts as that of the closure that has brought it here.
    WorkLoop.current.runNow(
      .handler(
        of: self, reading: self,
        Work { promise, _ in
          let promise = unsafeDowncast(promise, to: BlockingPromise.self)
          do { try body(promise) } catch { promise.fail(with: error) }
        }))
    workHasStarted()
  }
}

extension Promises {
  /// Makes a blocking promise and puts it in a queue.
  ///
  /// - Parameters:
  ///   - queue: The queue that the promise occupies. On the main queue the promise fails
  ///     with `ProperationsError.blockingOnMainQueue`.
  ///   - type: The type of the value.
  ///   - context: Where the closure runs.
  ///   - body: Starts the work that settles the promise. An error that it throws fails
  ///     the promise.
  public static func makeBlocking<Success: Sendable>(
    in queue: OperationQueue, promising type: Success.Type = Success.self,
    on context: some ExecutionContext, fileID: StaticString = #fileID, line: UInt = #line,
    _ body: @escaping @Sendable (Promise<Success>) throws -> Void
  ) -> BlockingPromise<Success> {
    let promise = BlockingPromise<Success>(on: context, fileID: fileID, line: line, body)
    if queue === OperationQueue.main {
      promise.fail(with: ProperationsError.blockingOnMainQueue)
    } else {
      promise.joinUnlessShutDown(queue)
    }
    return promise
  }

  /// Makes a blocking promise whose closure runs on the main queue, and puts it
  /// in a queue.
  ///
  /// - Parameters:
  ///   - queue: The queue that the promise occupies. On the main queue the promise fails
  ///     with `ProperationsError.blockingOnMainQueue`.
  ///   - type: The type of the value.
  ///   - body: Starts the work that settles the promise. An error that it throws fails
  ///     the promise.
  public static func makeBlocking<Success: Sendable>(
    in queue: OperationQueue, promising type: Success.Type = Success.self,
    fileID: StaticString = #fileID, line: UInt = #line,
    _ body: @escaping @MainActor (Promise<Success>) throws -> Void
  ) -> BlockingPromise<Success> {
    makeBlocking(in: queue, promising: type, on: .main, fileID: fileID, line: line) { promise in
      try MainActor.assumeIsolated { try body(promise) }
    }
  }
}
