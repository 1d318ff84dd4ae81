import Foundation
import Futures

// Old names that have been replaced by better ones. Each still does what it did.

extension Promises {
  /// Makes a blocking promise and puts it in a queue; use
  /// ``makeBlocking(in:promising:on:fileID:line:_:)``.
  ///
  /// - Parameters:
  ///   - queue: The queue that the promise occupies.
  ///   - type: The type of the value.
  ///   - executionContext: Where the closure runs.
  ///   - body: Starts the work that settles the promise.
  @available(*, deprecated, renamed: "makeBlocking(in:promising:on:_:)")
  public static func makeBlocking<Success: Sendable>(
    on queue: OperationQueue, promising type: Success.Type,
    executionContext: some ExecutionContext, fileID: StaticString = #fileID, line: UInt = #line,
    _ body: @escaping @Sendable (Promise<Success>) throws -> Void
  ) -> BlockingPromise<Success> {
    makeBlocking(
      in: queue, promising: type, on: executionContext, fileID: fileID, line: line, body)
  }

  /// Makes a blocking promise whose closure runs on the main queue, and puts it in a queue;
  /// use ``makeBlocking(in:promising:fileID:line:_:)``.
  ///
  /// - Parameters:
  ///   - queue: The queue that the promise occupies.
  ///   - type: The type of the value.
  ///   - body: Starts the work that settles the promise.
  @available(*, deprecated, renamed: "makeBlocking(in:promising:_:)")
  public static func makeBlocking<Success: Sendable>(
    on queue: OperationQueue, promising type: Success.Type,
    fileID: StaticString = #fileID, line: UInt = #line,
    _ body: @escaping @MainActor (Promise<Success>) throws -> Void
  ) -> BlockingPromise<Success> {
    makeBlocking(in: queue, promising: type, fileID: fileID, line: line, body)
  }

  /// Makes a blocking promise and puts it in a queue; use
  /// ``makeBlocking(in:promising:on:fileID:line:_:)``.
  ///
  /// - Parameters:
  ///   - queue: The queue that the promise occupies.
  ///   - type: The type of the value.
  ///   - executionContext: Where the closure runs.
  ///   - body: Starts the work that settles the promise.
  @available(*, deprecated, renamed: "makeBlocking(in:promising:on:_:)")
  public static func makeBlocking<Success: Sendable>(
    in queue: OperationQueue, promising type: Success.Type = Success.self,
    executionContext: some ExecutionContext, fileID: StaticString = #fileID, line: UInt = #line,
    _ body: @escaping @Sendable (Promise<Success>) throws -> Void
  ) -> BlockingPromise<Success> {
    makeBlocking(
      in: queue, promising: type, on: executionContext, fileID: fileID, line: line, body)
  }
}

extension BlockingPromise {
  /// Makes a promise that you put in a queue; use ``init(name:on:fileID:line:_:)``.
  ///
  /// - Parameters:
  ///   - name: A name for people.
  ///   - executionContext: Where the closure runs.
  ///   - body: Starts the work that settles the promise.
  @available(*, deprecated, renamed: "init(name:on:_:)")
  public convenience init(
    name: String? = nil, executionContext: some ExecutionContext,
    fileID: StaticString = #fileID, line: UInt = #line,
    _ body: @escaping @Sendable (Promise<Success>) throws -> Void
  ) {
    self.init(name: name, on: executionContext, fileID: fileID, line: line, body)
  }
}

extension Promise {
  /// Makes a blocking promise and puts it in a queue; use
  /// ``Promises/makeBlocking(in:promising:on:fileID:line:_:)``.
  ///
  /// - Parameters:
  ///   - queue: The queue that the promise occupies.
  ///   - executionContext: Where the closure runs.
  ///   - body: Starts the work that settles the promise.
  @available(*, deprecated, message: "Use Promises.makeBlocking(in:promising:on:).")
  public static func makeBlocking(
    in queue: OperationQueue, executionContext: some ExecutionContext,
    fileID: StaticString = #fileID, line: UInt = #line,
    _ body: @escaping @Sendable (Promise<Success>) throws -> Void
  ) -> BlockingPromise<Success> {
    Promises.makeBlocking(in: queue, on: executionContext, fileID: fileID, line: line, body)
  }

  /// Makes a blocking promise whose closure runs on the main queue, and puts it in a queue;
  /// use ``Promises/makeBlocking(in:promising:fileID:line:_:)``.
  ///
  /// - Parameters:
  ///   - queue: The queue that the promise occupies.
  ///   - body: Starts the work that settles the promise.
  @available(*, deprecated, message: "Use Promises.makeBlocking(in:promising:).")
  public static func makeBlocking(
    in queue: OperationQueue, fileID: StaticString = #fileID, line: UInt = #line,
    _ body: @escaping @MainActor (Promise<Success>) throws -> Void
  ) -> BlockingPromise<Success> {
    Promises.makeBlocking(in: queue, fileID: fileID, line: line, body)
  }
}

extension OperationQueue {
  /// Puts a future in the queue; use ``addFuture(_:)``.
  ///
  /// - Parameter future: A future that was never in a queue.
  /// - Throws: `ProperationsError.alreadyEnqueued` if the future is, or was, in a queue.
  @available(*, deprecated, renamed: "addFuture(_:)")
  public func enqueue(_ future: AnyFuture) throws(ProperationsError) { try addFuture(future) }
}

extension AnyFuture {
  /// Puts the future in a queue; use `queue.addFuture(_:)`.
  ///
  /// - Parameter queue: The queue.
  /// - Returns: This future.
  /// - Throws: `ProperationsError.alreadyEnqueued` if the future is, or was, in a queue.
  @available(*, deprecated, message: "Use queue.addFuture(future).")
  @discardableResult
  public func enqueue(on queue: OperationQueue) throws(ProperationsError) -> Self {
    try queue.addFuture(self)
    return self
  }
}

#if os(macOS) || os(Linux) || os(Windows) || os(FreeBSD) || os(OpenBSD)
  extension Process {
    /// Starts the process in a slot of a queue; use ``runAsFuture(in:fileID:line:)``.
    ///
    /// - Parameter queue: The queue in which the process holds a slot.
    @available(*, deprecated, renamed: "runAsFuture(in:)")
    public func runAsFuture(
      on queue: OperationQueue?, fileID: StaticString = #fileID, line: UInt = #line
    ) -> Future<Int32> {
      runAsFuture(in: queue, fileID: fileID, line: line)
    }
  }
#endif
