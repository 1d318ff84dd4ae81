import Foundation

// Forms that newcomers often write first: names from other libraries, a number without a
// unit for a time, a closure that awaits. All of them are unavailable, and the compiler's
// message names the right call. The compiler looks at unavailable forms only where an
// expression has no other meaning, so correct code pays nothing for them.

extension Future {
  // MARK: Names of other libraries

  /// Unavailable: the name that other libraries give ``mapToFuture(fileID:line:using:)``.
  @available(*, unavailable, renamed: "mapToFuture")
  public func then<NewSuccess: Sendable>(
    _ transform: @escaping @MainActor (Success) throws -> Future<NewSuccess>
  ) -> Future<NewSuccess> {
    mapToFuture(using: transform)
  }

  /// Unavailable: the name that other libraries give ``mapToFuture(fileID:line:using:)``.
  @available(*, unavailable, renamed: "mapToFuture")
  public func then<NewSuccess: Sendable>(
    on context: some ExecutionContext,
    _ transform: @escaping @Sendable (Success) throws -> Future<NewSuccess>
  ) -> Future<NewSuccess> {
    mapToFuture(on: context, using: transform)
  }

  /// Unavailable: the name that other libraries give ``mapToValue(fileID:line:using:)``.
  @available(*, unavailable, renamed: "mapToValue")
  public func then<NewSuccess: Sendable>(
    _ transform: @escaping @MainActor (Success) throws -> NewSuccess
  ) -> Future<NewSuccess> {
    mapToValue(using: transform)
  }

  /// Unavailable: the name that other libraries give ``mapToValue(fileID:line:using:)``.
  @available(*, unavailable, renamed: "mapToValue")
  public func then<NewSuccess: Sendable>(
    on context: some ExecutionContext,
    _ transform: @escaping @Sendable (Success) throws -> NewSuccess
  ) -> Future<NewSuccess> {
    mapToValue(on: context, using: transform)
  }

  /// Unavailable: the name that other libraries give ``onSuccess(fileID:line:perform:)``.
  @available(*, unavailable, renamed: "onSuccess")
  @discardableResult
  public func done(
    _ handler: @escaping @MainActor (Success) -> Void
  ) -> Future<Success> {
    onSuccess(perform: handler)
  }

  /// Unavailable: the name that other libraries give ``onSuccess(fileID:line:perform:)``.
  @available(*, unavailable, renamed: "onSuccess")
  @discardableResult
  public func done(
    on context: some ExecutionContext, _ handler: @escaping @Sendable (Success) -> Void
  ) -> Future<Success> {
    onSuccess(on: context, perform: handler)
  }

  /// Unavailable: the name that other libraries give ``always(fileID:line:perform:)``.
  @available(*, unavailable, renamed: "always")
  @discardableResult
  public func finally(
    _ body: @escaping @MainActor () -> Void
  ) -> Future<Success> {
    always(perform: body)
  }

  /// Unavailable: the name that other libraries give ``always(fileID:line:perform:)``.
  @available(*, unavailable, renamed: "always")
  @discardableResult
  public func finally(
    on context: some ExecutionContext, _ body: @escaping @Sendable () -> Void
  ) -> Future<Success> {
    always(on: context, perform: body)
  }

  /// Unavailable: the name that other libraries give ``mapToValue(fileID:line:using:)``.
  @available(*, unavailable, renamed: "mapToValue")
  public func map<NewSuccess: Sendable>(
    _ transform: @escaping @MainActor (Success) throws -> NewSuccess
  ) -> Future<NewSuccess> {
    mapToValue(using: transform)
  }

  /// Unavailable: the name that other libraries give ``mapToValue(fileID:line:using:)``.
  @available(*, unavailable, renamed: "mapToValue")
  public func map<NewSuccess: Sendable>(
    on context: some ExecutionContext,
    _ transform: @escaping @Sendable (Success) throws -> NewSuccess
  ) -> Future<NewSuccess> {
    mapToValue(on: context, using: transform)
  }

  /// Unavailable: a closure that returns a future belongs to
  /// ``mapToFuture(fileID:line:using:)``.
  @available(*, unavailable, renamed: "mapToFuture")
  public func map<NewSuccess: Sendable>(
    _ transform: @escaping @MainActor (Success) throws -> Future<NewSuccess>
  ) -> Future<NewSuccess> {
    mapToFuture(using: transform)
  }

  /// Unavailable: a closure that returns a future belongs to
  /// ``mapToFuture(fileID:line:using:)``.
  @available(*, unavailable, renamed: "mapToFuture")
  public func map<NewSuccess: Sendable>(
    on context: some ExecutionContext,
    _ transform: @escaping @Sendable (Success) throws -> Future<NewSuccess>
  ) -> Future<NewSuccess> {
    mapToFuture(on: context, using: transform)
  }

  /// Unavailable: the name that other libraries give ``mapToFuture(fileID:line:using:)``.
  @available(*, unavailable, renamed: "mapToFuture")
  public func flatMap<NewSuccess: Sendable>(
    _ transform: @escaping @MainActor (Success) throws -> Future<NewSuccess>
  ) -> Future<NewSuccess> {
    mapToFuture(using: transform)
  }

  /// Unavailable: the name that other libraries give ``mapToFuture(fileID:line:using:)``.
  @available(*, unavailable, renamed: "mapToFuture")
  public func flatMap<NewSuccess: Sendable>(
    on context: some ExecutionContext,
    _ transform: @escaping @Sendable (Success) throws -> Future<NewSuccess>
  ) -> Future<NewSuccess> {
    mapToFuture(on: context, using: transform)
  }

  /// Unavailable: the name that other libraries give
  /// ``compactMapToValue(fileID:line:using:)``.
  @available(*, unavailable, renamed: "compactMapToValue")
  public func compactMap<NewSuccess: Sendable>(
    _ transform: @escaping @MainActor (Success) throws -> NewSuccess?
  ) -> Future<NewSuccess> {
    compactMapToValue(using: transform)
  }

  /// Unavailable: the name that other libraries give
  /// ``compactMapToValue(fileID:line:using:)``.
  @available(*, unavailable, renamed: "compactMapToValue")
  public func compactMap<NewSuccess: Sendable>(
    on context: some ExecutionContext,
    _ transform: @escaping @Sendable (Success) throws -> NewSuccess?
  ) -> Future<NewSuccess> {
    compactMapToValue(on: context, using: transform)
  }

  /// The name that other libraries use for ``onFailure(fileID:line:perform:)``.
  @available(
    *, unavailable,
    message: "Use 'onFailure' to look at the error, and 'recover' to put a value in its place."
  )
  @discardableResult
  public func `catch`(_ handler: @escaping @MainActor (any Error) -> Void) -> Future<Success> {
    onFailure(perform: handler)
  }

  /// The name that other libraries use for ``always(fileID:line:perform:)``.
  @available(
    *, unavailable, message: "'ensure' checks the value: to clean up in every case, use 'always'."
  )
  @discardableResult
  public func ensure(_ body: @escaping @MainActor () -> Void) -> Future<Success> {
    always(perform: body)
  }

  /// The name that SwiftNIO uses for ``onSuccess(fileID:line:perform:)``.
  @available(*, unavailable, renamed: "onSuccess")
  public func whenSuccess(_ handler: @escaping @MainActor (Success) -> Void) {
    onSuccess(perform: handler)
  }

  /// The name that SwiftNIO uses for ``onFailure(fileID:line:perform:)``.
  @available(*, unavailable, renamed: "onFailure")
  public func whenFailure(_ handler: @escaping @MainActor (any Error) -> Void) {
    onFailure(perform: handler)
  }

  /// The name that SwiftNIO uses for ``AnyFuture/onCompletion(fileID:line:perform:)``.
  @available(*, unavailable, renamed: "onCompletion")
  public func whenComplete(_ handler: @escaping @MainActor (FutureResult<Success>) -> Void) {
    onCompletion(perform: handler)
  }

  /// The name that SwiftNIO uses for ``value``.
  @available(
    *, unavailable,
    message: "Write 'try await future.value'; to block a thread of a program, 'future.wait()'."
  )
  public func get() async throws -> Success { try await value }

  // MARK: Closures that return a future

  // `let future = number.mapToValue { load($0) }` compiles, as a future of a future, because
  // the compiler takes an unavailable form only where nothing else fits. The first use of its
  // value as anything but a future is an error; see `Tests/Mistakes/FutureInAConstant.swift`.
  //
  // A deprecated form would warn there, but costs programs that are correct. The compiler looks
  // into closures last, so it tries both forms for every `mapToValue` of an expression. If the
  // deprecated form returns a future of a future, each further link of a chain doubles the
  // effort. If it returns a type without combinators, chains stay cheap, but each further
  // element of an array of futures doubles the effort: an array with five took more than
  // 10,000 attempts instead of less than 100, and one with twelve did not compile.
  // `Tests/Effort` has both expressions.

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

  // MARK: Closures that await

  /// Unavailable: the closure awaits; return ``Promises/async(priority:fileID:line:_:)``
  /// from `mapToFuture` instead.
  @available(
    *, unavailable,
    message: "The closure awaits: use 'mapToFuture', and return 'Promises.async { ... }'."
  )
  public func mapToValue<NewSuccess: Sendable>(
    on context: some ExecutionContext,
    using transform: @escaping @Sendable (Success) async throws -> NewSuccess
  ) -> Future<NewSuccess> {
    mapToFuture(on: context) { value in Promises.async { try await transform(value) } }
  }

  /// Unavailable: the closure awaits; return ``Promises/async(priority:fileID:line:_:)``
  /// from `mapToFuture` instead.
  @available(
    *, unavailable,
    message: "The closure awaits: use 'mapToFuture', and return 'Promises.async { ... }'."
  )
  public func mapToValue<NewSuccess: Sendable>(
    using transform: @escaping @Sendable (Success) async throws -> NewSuccess
  ) -> Future<NewSuccess> {
    mapToFuture { value in Promises.async { try await transform(value) } }
  }

  /// Unavailable: a handler cannot await.
  @available(
    *, unavailable,
    message: "The handler awaits: start a 'Task' in it, or use 'mapToFuture' and 'Promises.async'."
  )
  @discardableResult
  public func onSuccess(
    on context: some ExecutionContext,
    perform handler: @escaping @Sendable (Success) async throws -> Void
  ) -> Future<Success> { cannotBeCalled() }

  /// Unavailable: a handler cannot await.
  @available(
    *, unavailable,
    message: "The handler awaits: start a 'Task' in it, or use 'mapToFuture' and 'Promises.async'."
  )
  @discardableResult
  public func onSuccess(
    perform handler: @escaping @Sendable (Success) async throws -> Void
  ) -> Future<Success> { cannotBeCalled() }

  // MARK: Times without a unit

  /// Unavailable: a time needs a unit.
  @available(*, unavailable, message: "Say the unit of the time: 'delay(for: .seconds(5))'.")
  public func delay(for seconds: TimeInterval) -> Future<Success> {
    delay(for: .seconds(seconds))
  }

  /// Unavailable: a time needs a unit.
  @available(*, unavailable, message: "Say the unit of the time: 'timeout(after: .seconds(5))'.")
  public func timeout(after seconds: TimeInterval) -> Future<Success> {
    timeout(after: .seconds(seconds))
  }

  /// Unavailable: a time needs a unit.
  @available(*, unavailable, message: "Say the unit of the time: 'timeout(after: .seconds(5))'.")
  public func timeout(after seconds: TimeInterval, fallback: Success) -> Future<Success> {
    timeout(after: .seconds(seconds), fallback: fallback)
  }
}

extension Future {
  /// Unavailable: a future is made by a promise or a factory.
  @available(
    *, unavailable,
    message:
      "A future cannot be made by hand: use 'Promises.make(promising:)', 'run' or 'makeSucceeded'."
  )
  public convenience init() { cannotBeCalled() }
}

extension Promise {
  /// Unavailable: this promise needs a value to succeed with.
  @available(*, unavailable, message: "The promise is for a value: use 'succeed(with:)'.")
  @discardableResult
  public func succeed() -> Bool { cannotBeCalled() }

  /// Unavailable: a result can also be a failure.
  @available(*, unavailable, renamed: "fulfill(with:)")
  @discardableResult
  public func succeed(with result: FutureResult<Success>) -> Bool { fulfill(with: result) }

  /// Unavailable: use ``Promises/withResolver(promising:fileID:line:_:)`` for a closure
  /// that settles a promise.
  @available(
    *, unavailable,
    message: "Use 'Promises.withResolver(promising:)', whose closure gets a resolver."
  )
  public convenience init(_ body: (Resolver<Success>) throws -> Void) { cannotBeCalled() }
}

/// The body of an unavailable form that has no equivalent.
func cannotBeCalled() -> Never { fatalError("This form is unavailable.") }
