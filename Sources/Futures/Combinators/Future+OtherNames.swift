// Names that people who come from other libraries, or confuse two combinators, try first.
// The compiler tells them the right name. `map`, `flatMap` and `catch` are missing here,
// because they are names of typed tasks, which are futures too.

extension Future {
  /// Unavailable: a closure that returns a future belongs to `mapToFuture`.
  @available(
    *, unavailable, message: "The closure returns a future: use 'mapToFuture', which waits for it."
  )
  public func mapToValue<NewSuccess: Sendable>(
    on context: some ExecutionContext, fileID: StaticString = #fileID, line: UInt = #line,
    using transform: @escaping @Sendable (Success) throws -> Future<NewSuccess>
  ) -> Future<NewSuccess> {
    mapToFuture(on: context, fileID: fileID, line: line, using: transform)
  }

  /// Unavailable: a closure that returns a future belongs to `mapToFuture`.
  @available(
    *, unavailable, message: "The closure returns a future: use 'mapToFuture', which waits for it."
  )
  public func mapToValue<NewSuccess: Sendable>(
    fileID: StaticString = #fileID, line: UInt = #line,
    using transform: @escaping @MainActor (Success) throws -> Future<NewSuccess>
  ) -> Future<NewSuccess> {
    mapToFuture(fileID: fileID, line: line, using: transform)
  }

  /// Unavailable: the name that other libraries give ``mapToFuture(fileID:line:using:)``.
  @available(*, unavailable, renamed: "mapToFuture")
  public func then<NewSuccess: Sendable>(
    _ transform: @escaping @MainActor (Success) throws -> Future<NewSuccess>
  ) -> Future<NewSuccess> {
    mapToFuture(using: transform)
  }

  /// Unavailable: the name that other libraries give ``onSuccess(fileID:line:perform:)``.
  @available(*, unavailable, renamed: "onSuccess")
  public func done(_ handler: @escaping @MainActor (Success) -> Void) -> Future<Success> {
    onSuccess(perform: handler)
  }

  /// Unavailable: the name that other libraries give ``always(fileID:line:perform:)``.
  @available(*, unavailable, renamed: "always")
  public func finally(_ body: @escaping @MainActor () -> Void) -> Future<Success> {
    always(perform: body)
  }
}

extension Future where Success == Bool {
  /// Not this: between futures of truth values `||` would read as a logical or, but races.
  @available(
    *, unavailable,
    message:
      "'||' takes the first success, true or false: use Promises.race([a, b]), or combine both futures for a logical or"
  )
  public static func || (first: Future, second: Future) -> Future {
    Promises.race([first, second])
  }
}
