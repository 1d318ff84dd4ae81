import Foundation

extension Future {
  /// Runs a handler when the future succeeds.
  ///
  /// The returned future has the same result, and has it before the handler runs. The
  /// handler cannot change it.
  ///
  /// - Parameters:
  ///   - context: Where the closure runs.
  ///   - handler: Called with the value.
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
  /// The handler runs on the main queue. The returned future has the same result, and has
  /// it before the handler runs. The handler cannot change it.
  ///
  /// - Parameter handler: Called with the value.
  @discardableResult
  public func onSuccess(
    fileID: StaticString = #fileID, line: UInt = #line,
    perform handler: @escaping @MainActor (Success) -> Void
  ) -> Future<Success> {
    onSuccess(on: .main, fileID: fileID, line: line, perform: onMainSafe(handler))
  }

  /// Runs a handler when the future fails or is cancelled.
  ///
  /// The returned future has the same result, and has it before the handler runs. The
  /// handler cannot change it.
  ///
  /// - Parameters:
  ///   - context: Where the closure runs.
  ///   - handler: Called with the error; ``ProperationsError/cancelled`` for a
  ///     cancellation.
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
  /// The handler runs on the main queue. The returned future has the same result, and has
  /// it before the handler runs. The handler cannot change it.
  ///
  /// - Parameter handler: Called with the error; ``ProperationsError/cancelled`` for a
  ///   cancellation.
  @discardableResult
  public func onFailure(
    fileID: StaticString = #fileID, line: UInt = #line,
    perform handler: @escaping @MainActor (any Error) -> Void
  ) -> Future<Success> {
    onFailure(on: .main, fileID: fileID, line: line, perform: onMainSafe(handler))
  }

  /// Runs a handler when the future settles, whatever its result is.
  ///
  /// The returned future has the same result, and has it before the handler runs. The
  /// handler cannot change it.
  ///
  /// - Parameters:
  ///   - context: Where the closure runs.
  ///   - handler: Called with the result.
  @discardableResult
  public func onCompletion(
    on context: some ExecutionContext, fileID: StaticString = #fileID, line: UInt = #line,
    perform handler: @escaping @Sendable (FutureResult<Success>) -> Void
  ) -> Future<Success> {
    observed(.actsAlways, on: context, at: Birthplace(fileID, line), handler)
  }

  /// Runs a handler when the future settles, whatever its result is.
  ///
  /// The handler runs on the main queue. The returned future has the same result, and has
  /// it before the handler runs. The handler cannot change it.
  ///
  /// - Parameter handler: Called with the result.
  @discardableResult
  public func onCompletion(
    fileID: StaticString = #fileID, line: UInt = #line,
    perform handler: @escaping @MainActor (FutureResult<Success>) -> Void
  ) -> Future<Success> {
    onCompletion(on: .main, fileID: fileID, line: line, perform: onMainSafe(handler))
  }

  /// Runs a handler when the future is cancelled.
  ///
  /// The returned future has the same result, and has it before the handler runs. The
  /// handler is a watcher, not a consumer: it does not prevent the cancellation of the
  /// future when its last consumer is cancelled.
  ///
  /// - Parameters:
  ///   - context: Where the closure runs.
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
  /// The handler runs on the main queue. The returned future has the same result, and has
  /// it before the handler runs. The handler is a watcher, not a consumer: it does not
  /// prevent the cancellation of the future when its last consumer is cancelled.
  ///
  /// - Parameter handler: Cleans up.
  @discardableResult
  public func onCancel(
    fileID: StaticString = #fileID, line: UInt = #line,
    perform handler: @escaping @MainActor () -> Void
  ) -> Future<Success> {
    onCancel(on: .main, fileID: fileID, line: line, perform: onMainSafeVoid(handler))
  }
}
