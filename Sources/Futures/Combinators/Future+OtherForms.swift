import Foundation

// What people write first: names of other libraries, a bare number for a time, a closure
// that awaits. None of it can be called; the compiler says what to write instead. It looks
// at unavailable forms only where an expression has no other meaning, so they cost correct
// code nothing.

extension Future {
  // MARK: Names of other libraries

  /// The name in other libraries of ``mapToValue(fileID:line:using:)``.
  @available(*, unavailable, renamed: "mapToValue")
  public func map<NewSuccess: Sendable>(
    _ transform: @escaping @MainActor (Success) throws -> NewSuccess
  ) -> Future<NewSuccess> {
    mapToValue(using: transform)
  }

  /// The name in other libraries of ``mapToFuture(fileID:line:using:)``.
  @available(*, unavailable, renamed: "mapToFuture")
  public func flatMap<NewSuccess: Sendable>(
    _ transform: @escaping @MainActor (Success) throws -> Future<NewSuccess>
  ) -> Future<NewSuccess> {
    mapToFuture(using: transform)
  }

  /// The name in other libraries of ``compactMapToValue(fileID:line:using:)``.
  @available(*, unavailable, renamed: "compactMapToValue")
  public func compactMap<NewSuccess: Sendable>(
    _ transform: @escaping @MainActor (Success) throws -> NewSuccess?
  ) -> Future<NewSuccess> {
    compactMapToValue(using: transform)
  }

  /// The name in other libraries of ``onFailure(fileID:line:perform:)``.
  @available(
    *, unavailable,
    message: "Use 'onFailure' to look at the error, and 'recover' to put a value in its place."
  )
  @discardableResult
  public func `catch`(_ handler: @escaping @MainActor (any Error) -> Void) -> Future<Success> {
    onFailure(perform: handler)
  }

  /// The name in other libraries of ``always(fileID:line:perform:)``.
  @available(
    *, unavailable, message: "'ensure' checks the value: to clean up in every case, use 'always'."
  )
  @discardableResult
  public func ensure(_ body: @escaping @MainActor () -> Void) -> Future<Success> {
    always(perform: body)
  }

  /// The name in SwiftNIO of ``onSuccess(fileID:line:perform:)``.
  @available(*, unavailable, renamed: "onSuccess")
  public func whenSuccess(_ handler: @escaping @MainActor (Success) -> Void) {
    onSuccess(perform: handler)
  }

  /// The name in SwiftNIO of ``onFailure(fileID:line:perform:)``.
  @available(*, unavailable, renamed: "onFailure")
  public func whenFailure(_ handler: @escaping @MainActor (any Error) -> Void) {
    onFailure(perform: handler)
  }

  /// The name in SwiftNIO of ``AnyFuture/onCompletion(fileID:line:perform:)``.
  @available(*, unavailable, renamed: "onCompletion")
  public func whenComplete(_ handler: @escaping @MainActor (FutureResult<Success>) -> Void) {
    onCompletion(perform: handler)
  }

  /// The name in SwiftNIO of ``value``.
  @available(
    *, unavailable,
    message: "Write 'try await future.value'; to block a thread of a program, 'future.wait()'."
  )
  public func get() async throws -> Success { try await value }

  // MARK: Closures that await

  /// Not this: a closure that awaits belongs to ``Promises/async(priority:fileID:line:_:)``.
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

  /// Not this: a closure that awaits belongs to ``Promises/async(priority:fileID:line:_:)``.
  @available(
    *, unavailable,
    message: "The closure awaits: use 'mapToFuture', and return 'Promises.async { ... }'."
  )
  public func mapToValue<NewSuccess: Sendable>(
    using transform: @escaping @Sendable (Success) async throws -> NewSuccess
  ) -> Future<NewSuccess> {
    mapToFuture { value in Promises.async { try await transform(value) } }
  }

  /// Not this: a handler does not await.
  @available(
    *, unavailable,
    message: "The handler awaits: start a 'Task' in it, or use 'mapToFuture' and 'Promises.async'."
  )
  @discardableResult
  public func onSuccess(
    on context: some ExecutionContext,
    perform handler: @escaping @Sendable (Success) async throws -> Void
  ) -> Future<Success> { cannotBeCalled() }

  /// Not this: a handler does not await.
  @available(
    *, unavailable,
    message: "The handler awaits: start a 'Task' in it, or use 'mapToFuture' and 'Promises.async'."
  )
  @discardableResult
  public func onSuccess(
    perform handler: @escaping @Sendable (Success) async throws -> Void
  ) -> Future<Success> { cannotBeCalled() }

  // MARK: Times without a unit

  /// Not this: a time has a unit.
  @available(*, unavailable, message: "Say the unit of the time: 'delay(for: .seconds(5))'.")
  public func delay(for seconds: TimeInterval) -> Future<Success> {
    delay(for: .seconds(seconds))
  }

  /// Not this: a time has a unit.
  @available(*, unavailable, message: "Say the unit of the time: 'timeout(after: .seconds(5))'.")
  public func timeout(after seconds: TimeInterval) -> Future<Success> {
    timeout(after: .seconds(seconds))
  }

  /// Not this: a time has a unit.
  @available(*, unavailable, message: "Say the unit of the time: 'timeout(after: .seconds(5))'.")
  public func timeout(after seconds: TimeInterval, fallback: Success) -> Future<Success> {
    timeout(after: .seconds(seconds), fallback: fallback)
  }
}

extension Future {
  /// Not this: a promise makes a future.
  @available(
    *, unavailable,
    message:
      "A future cannot be made by hand: use 'Promises.make(promising:)', 'run' or 'makeSucceeded'."
  )
  public convenience init() { cannotBeCalled() }
}

extension Promise {
  /// Not this: a promise of a value succeeds with one.
  @available(*, unavailable, message: "The promise is for a value: use 'succeed(with:)'.")
  @discardableResult
  public func succeed() -> Bool { cannotBeCalled() }

  /// Not this: a result may be a failure, too.
  @available(*, unavailable, renamed: "fulfill(with:)")
  @discardableResult
  public func succeed(with result: FutureResult<Success>) -> Bool { fulfill(with: result) }

  /// Not this: a closure that settles a promise belongs to
  /// ``Promises/withResolver(promising:fileID:line:_:)``.
  @available(
    *, unavailable,
    message: "Use 'Promises.withResolver(promising:)', whose closure gets a resolver."
  )
  public convenience init(_ body: (Resolver<Success>) throws -> Void) { cannotBeCalled() }
}

/// The body of an unavailable form that has no meaning.
func cannotBeCalled() -> Never { fatalError("This form is unavailable.") }
