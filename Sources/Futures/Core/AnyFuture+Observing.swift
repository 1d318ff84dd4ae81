import Foundation

extension AnyFuture {
  /// The error of a failed future, ``ProperationsError/cancelled`` for a cancelled one,
  /// otherwise `nil`.
  ///
  /// Can be read from any thread, in constant time. `nil` while the future is pending.
  public final var error: (any Error)? { anyError }

  /// Runs a closure in a context when the future has settled.
  ///
  /// This is ``Future/onCompletion(on:fileID:line:perform:)-(ExecutionContext,_,_,_)`` for futures of any value
  /// type. The closure runs once, also if the future has settled before. Handlers of one
  /// future run in the order of their attachment, per context.
  ///
  /// - Parameters:
  ///   - context: Where the closure runs.
  ///   - handler: Called with the error of a future that has failed or was cancelled, and
  ///     with `nil` if the future has succeeded.
  /// - Returns: This future.
  /// - Complexity: O(1).
  @_disfavoredOverload
  @discardableResult
  public final func onCompletion(
    on context: some ExecutionContext, fileID: StaticString = #fileID, line: UInt = #line,
    perform handler: @escaping @Sendable ((any Error)?) -> Void
  ) -> Self {
    observe(on: ContextReference(context), at: Birthplace(fileID, line), handler)
    return self
  }

  /// Runs a closure on the main queue when the future has settled.
  ///
  /// See ``onCompletion(on:fileID:line:perform:)-(ExecutionContext,_,_,_)``.
  ///
  /// - Parameter handler: Called with the error of a future that has failed or was
  ///   cancelled, and with `nil` if the future has succeeded.
  /// - Returns: This future.
  @_disfavoredOverload
  @discardableResult
  public final func onCompletion(
    fileID: StaticString = #fileID, line: UInt = #line,
    perform handler: @escaping @MainActor ((any Error)?) -> Void
  ) -> Self {
    observe(on: ContextReference(OperationQueue.main), at: Birthplace(fileID, line)) { error in
      MainActor.assumeIsolated { handler(error) }
    }
    return self
  }
}
