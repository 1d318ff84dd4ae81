import Foundation

extension Future {
  /// Runs a handler when the future succeeds.
  ///
  /// The returned future has the same result, and has it before the handler
  /// runs; it is not changed by anything the handler does.
  ///
  /// - Parameters:
  ///   - context: Where the closure runs.
  ///   - fileID: The file to name in errors; leave it out.
  ///   - line: The line to name in errors; leave it out.
  ///   - handler: Gets the value.
  @discardableResult
  public func onSuccess(
    on context: some ExecutionContext, fileID: StaticString = #fileID, line: UInt = #line,
    perform handler: @escaping @Sendable (Success) -> Void
  ) -> Future<Success> {
    observed(.actsOnSuccess, on: context, at: Birthplace(fileID, line)) { result in
      if case .success(let value) = result { handler(value) }
    }
  }

  /// Runs a handler when the future succeeds.
  ///
  /// The closure runs on the main queue.
  ///
  /// The returned future has the same result, and has it before the handler
  /// runs; it is not changed by anything the handler does.
  ///
  /// - Parameters:
  ///   - fileID: The file to name in errors; leave it out.
  ///   - line: The line to name in errors; leave it out.
  ///   - handler: Gets the value.
  @discardableResult
  public func onSuccess(
    fileID: StaticString = #fileID, line: UInt = #line,
    perform handler: @escaping @MainActor (Success) -> Void
  ) -> Future<Success> {
    onSuccess(on: .main, fileID: fileID, line: line, perform: onMainSafe(handler))
  }

  /// Runs a handler when the future fails or is cancelled.
  ///
  /// The returned future has the same result, and has it before the handler
  /// runs; it is not changed by anything the handler does.
  ///
  /// - Parameters:
  ///   - context: Where the closure runs.
  ///   - fileID: The file to name in errors; leave it out.
  ///   - line: The line to name in errors; leave it out.
  ///   - handler: Gets the error; ``ProperationsError/cancelled`` for a cancellation.
  @discardableResult
  public func onFailure(
    on context: some ExecutionContext, fileID: StaticString = #fileID, line: UInt = #line,
    perform handler: @escaping @Sendable (any Error) -> Void
  ) -> Future<Success> {
    observed([.actsOnFailure, .actsOnCancellation], on: context, at: Birthplace(fileID, line)) {
      result in
      if case .failure(let error) = result { handler(error) }
    }
  }

  /// Runs a handler when the future fails or is cancelled.
  ///
  /// The closure runs on the main queue.
  ///
  /// The returned future has the same result, and has it before the handler
  /// runs; it is not changed by anything the handler does.
  ///
  /// - Parameters:
  ///   - fileID: The file to name in errors; leave it out.
  ///   - line: The line to name in errors; leave it out.
  ///   - handler: Gets the error; ``ProperationsError/cancelled`` for a cancellation.
  @discardableResult
  public func onFailure(
    fileID: StaticString = #fileID, line: UInt = #line,
    perform handler: @escaping @MainActor (any Error) -> Void
  ) -> Future<Success> {
    onFailure(on: .main, fileID: fileID, line: line, perform: onMainSafe(handler))
  }

  /// Runs a handler when the future settles, however it does.
  ///
  /// The returned future has the same result, and has it before the handler
  /// runs; it is not changed by anything the handler does.
  ///
  /// - Parameters:
  ///   - context: Where the closure runs.
  ///   - fileID: The file to name in errors; leave it out.
  ///   - line: The line to name in errors; leave it out.
  ///   - handler: Gets the result.
  @discardableResult
  public func onCompletion(
    on context: some ExecutionContext, fileID: StaticString = #fileID, line: UInt = #line,
    perform handler: @escaping @Sendable (FutureResult<Success>) -> Void
  ) -> Future<Success> {
    observed(.actsAlways, on: context, at: Birthplace(fileID, line), handler)
  }

  /// Runs a handler when the future settles, however it does.
  ///
  /// The closure runs on the main queue.
  ///
  /// The returned future has the same result, and has it before the handler
  /// runs; it is not changed by anything the handler does.
  ///
  /// - Parameters:
  ///   - fileID: The file to name in errors; leave it out.
  ///   - line: The line to name in errors; leave it out.
  ///   - handler: Gets the result.
  @discardableResult
  public func onCompletion(
    fileID: StaticString = #fileID, line: UInt = #line,
    perform handler: @escaping @MainActor (FutureResult<Success>) -> Void
  ) -> Future<Success> {
    onCompletion(on: .main, fileID: fileID, line: line, perform: onMainSafe(handler))
  }

  /// Runs a handler when the future is cancelled.
  ///
  /// The returned future has the same result, and has it before the handler
  /// runs. Watching for cancellation does not count as wanting the value: it
  /// does not keep the future from being cancelled with its last consumer.
  ///
  /// - Parameters:
  ///   - context: Where the closure runs.
  ///   - fileID: The file to name in errors; leave it out.
  ///   - line: The line to name in errors; leave it out.
  ///   - handler: Cleans up.
  @discardableResult
  public func onCancel(
    on context: some ExecutionContext, fileID: StaticString = #fileID, line: UInt = #line,
    perform handler: @escaping @Sendable () -> Void
  ) -> Future<Success> {
    observed(.actsOnCancellation, on: context, at: Birthplace(fileID, line)) { _ in handler() }
  }

  /// Runs a handler when the future is cancelled.
  ///
  /// The closure runs on the main queue.
  ///
  /// The returned future has the same result, and has it before the handler
  /// runs. Watching for cancellation does not count as wanting the value: it
  /// does not keep the future from being cancelled with its last consumer.
  ///
  /// - Parameters:
  ///   - fileID: The file to name in errors; leave it out.
  ///   - line: The line to name in errors; leave it out.
  ///   - handler: Cleans up.
  @discardableResult
  public func onCancel(
    fileID: StaticString = #fileID, line: UInt = #line,
    perform handler: @escaping @MainActor () -> Void
  ) -> Future<Success> {
    onCancel(on: .main, fileID: fileID, line: line, perform: onMainSafeVoid(handler))
  }
}
