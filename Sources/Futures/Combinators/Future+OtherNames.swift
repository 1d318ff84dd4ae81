// Names that people who come from other libraries, or confuse two combinators, try first.
// The compiler tells them the right name; more of them are in `Future+OtherForms.swift`.

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
  /// Takes the first success of two futures, true or false: not a logical or.
  ///
  /// Deprecated, because it reads as one. (The compiler passes over an unavailable form, and
  /// takes the one for any value.)
  ///
  /// - Parameters:
  ///   - first: A future.
  ///   - second: Another future.
  @available(
    *, deprecated,
    message:
      "'||' takes the first success, true or false: use Promises.race([a, b]), or combine both futures for a logical or"
  )
  public static func || (first: Future, second: Future) -> Future {
    Promises.first(
      of: [first, second], needsSuccess: true, cancellingLosers: true, isAlternative: true,
      first.birthplace)
  }
}
