import Foundation

extension AnyFuture {
  /// Why the future has failed, or ``ProperationsError/cancelled``; `nil` while it is
  /// pending, and if it has succeeded.
  ///
  /// Can be read from any thread, in constant time.
  public final var error: (any Error)? { anyError }

  /// Runs a closure in a context when the future has settled.
  ///
  /// As with ``Future/onCompletion(on:fileID:line:perform:)``, of which it is the form for
  /// futures whose type of value does not matter: it runs once, also if the future has
  /// settled before, and handlers of one future run in the order of their attachment, per
  /// context.
  ///
  /// - Parameters:
  ///   - context: Where the closure runs.
  ///   - fileID: Where this was called, for diagnostics.
  ///   - line: Where this was called, for diagnostics.
  ///   - handler: Gets the error of a future that has failed or was cancelled, and `nil`
  ///     if it has succeeded.
  /// - Returns: This very future.
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
  /// See ``onCompletion(on:fileID:line:perform:)``.
  ///
  /// - Parameters:
  ///   - fileID: Where this was called, for diagnostics.
  ///   - line: Where this was called, for diagnostics.
  ///   - handler: Gets the error of a future that has failed or was cancelled, and `nil`
  ///     if it has succeeded.
  /// - Returns: This very future.
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
