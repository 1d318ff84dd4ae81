import Foundation

// What people try first who come from other libraries, or who take one combinator for
// another: the compiler tells them the name.

extension Future {
  /// Makes a future of a future: probably not this, but `mapToFuture`, which waits for the
  /// inner one.
  ///
  /// (Deprecated: an unavailable form would not be looked at, because the one for any value
  /// takes futures, too.)
  ///
  /// - Parameters:
  ///   - context: Where the closure runs.
  ///   - transform: Makes the inner future.
  /// - Returns: A future of the inner future.
  @available(
    *, deprecated, message: "The closure returns a future: use 'mapToFuture', which waits for it."
  )
  public func mapToValue<NewSuccess: Sendable>(
    on context: some ExecutionContext, fileID: StaticString = #fileID, line: UInt = #line,
    using transform: @escaping @Sendable (Success) throws -> Future<NewSuccess>
  ) -> Future<Future<NewSuccess>> {
    transformed(.actsOnSuccess, on: context, at: Birthplace(fileID, line)) {
      try transform($0.get())
    }
  }

  /// Makes a future of a future: probably not this, but `mapToFuture`, which waits for the
  /// inner one.
  ///
  /// - Parameter transform: Makes the inner future, on the main queue.
  /// - Returns: A future of the inner future.
  @available(
    *, deprecated, message: "The closure returns a future: use 'mapToFuture', which waits for it."
  )
  public func mapToValue<NewSuccess: Sendable>(
    fileID: StaticString = #fileID, line: UInt = #line,
    using transform: @escaping @MainActor (Success) throws -> Future<NewSuccess>
  ) -> Future<Future<NewSuccess>> {
    transformed(.actsOnSuccess, on: OperationQueue.main, at: Birthplace(fileID, line)) {
      [transform = onMain(transform)] in try transform($0.get())
    }
  }

  /// The name in other libraries of ``mapToFuture(fileID:line:using:)``.
  @available(*, unavailable, renamed: "mapToFuture")
  public func then<NewSuccess: Sendable>(
    _ transform: @escaping @MainActor (Success) throws -> Future<NewSuccess>
  ) -> Future<NewSuccess> {
    mapToFuture(using: transform)
  }

  /// The name in other libraries of ``onSuccess(fileID:line:perform:)``.
  @available(*, unavailable, renamed: "onSuccess")
  public func done(_ handler: @escaping @MainActor (Success) -> Void) -> Future<Success> {
    onSuccess(perform: handler)
  }

  /// The name in other libraries of ``always(fileID:line:perform:)``.
  @available(*, unavailable, renamed: "always")
  public func finally(_ body: @escaping @MainActor () -> Void) -> Future<Success> {
    always(perform: body)
  }
}
