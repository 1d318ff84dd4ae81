import Foundation
import Futures

extension Promises {
  /// Makes a future of the outcome of an operation.
  ///
  /// The future settles when the operation has finished. If the operation was cancelled,
  /// the future is cancelled too, and the closure does not run. The future does not start
  /// the operation; usually a queue does. It does not keep the operation alive either: if
  /// the last reference to the operation is released before the operation is started, the
  /// future fails with `ProperationsError.brokenPromise`. Cancelling the future ends the
  /// wait and does not affect the operation; to cancel both, tie them together with
  /// `cancel(onFailureOf:)`.
  ///
  /// ```swift
  /// let thumbnails = Promises.make(awaitingCompletionOf: render, on: .global()) { render in
  ///   try render.images()
  /// }
  /// queue.addOperation(render)
  /// ```
  ///
  /// - Parameters:
  ///   - operation: The operation. It may be in a queue, or have finished.
  ///   - context: Where the closure runs.
  ///   - outcome: Returns the value of the finished operation, or throws.
  public static func make<Work: Operation, Success: Sendable>(
    awaitingCompletionOf operation: Work, on context: some ExecutionContext,
    fileID: StaticString = #fileID, line: UInt = #line,
    _ outcome: @escaping @Sendable (Work) throws -> Success
  ) -> Future<Success> {
    // The closure does not keep the operation, so a promise can be dropped.
    Future.awaiting(operation, fileID: fileID, line: line).mapToValue(
      on: context, fileID: fileID, line: line
    ) { finished in
      try outcome(unsafeDowncast(finished.operation, to: Work.self))
    }
  }

  /// Makes a future of the outcome of an operation.
  ///
  /// The closure runs on the main queue. See
  /// ``make(awaitingCompletionOf:on:fileID:line:_:)``.
  ///
  /// - Parameters:
  ///   - operation: The operation. It may be in a queue, or have finished.
  ///   - outcome: Returns the value of the finished operation, or throws.
  public static func make<Work: Operation, Success: Sendable>(
    awaitingCompletionOf operation: Work, fileID: StaticString = #fileID, line: UInt = #line,
    _ outcome: @escaping @MainActor (Work) throws -> Success
  ) -> Future<Success> {
    make(awaitingCompletionOf: operation, on: .main, fileID: fileID, line: line) { operation in
      try MainActor.assumeIsolated { try outcome(operation) }
    }
  }
}

extension Operation {
  /// A future that succeeds when the operation has finished, and is cancelled if the
  /// operation was cancelled.
  ///
  /// Each access makes a new future. Cancelling it does not affect the operation. If the
  /// last reference to the operation is released before the operation is started, the
  /// future fails with `ProperationsError.brokenPromise`.
  ///
  /// The future of an operation that is in no queue adds to the operation's completion block,
  /// and does so again, on another thread, when you replace the block. Foundation cannot read
  /// and replace a block in one step. So set the block before you ask for the future: of two
  /// blocks that are set one right after the other afterwards, the first may run instead of
  /// the second.
  public var future: Future<Void> {
    Promises.make(awaitingCompletionOf: self, on: .inline) { _ in }
  }
}
