import Foundation

// The forms with key paths are disfavored: otherwise the compiler tries them for the closures
// of a chain, too, and needs twice the time for each further link.

extension Future {
  /// Transforms the value.
  ///
  /// An error that the closure throws fails the new future. A failure of this future
  /// skips the closure, without a hop to the context. If the closure itself is
  /// asynchronous, use ``mapToFuture(on:fileID:line:using:)-(ExecutionContext,_,_,_)``.
  ///
  /// - Parameters:
  ///   - context: Where the closure runs.
  ///   - transform: Returns the new value.
  @inlinable
  public func mapToValue<NewSuccess: Sendable>(
    on context: some ExecutionContext, fileID: StaticString = #fileID, line: UInt = #line,
    using transform: @escaping @Sendable (Success) throws -> NewSuccess
  ) -> Future<NewSuccess> {
    .derived(
      from: self, traits: .actsOnSuccess, on: ContextReference(context),
      at: Birthplace(fileID, line),
      work: Work { future, source in
        let future = unsafeDowncast(future, to: Future<NewSuccess>.self)
        do {
          let value = unsafeDowncast(source, to: Future<Success>.self).settledValue
          future.settle(success: try transform(value), from: .closure)
        } catch {
          future.settle(failure: error, from: .closure)
        }
      })
  }

  /// Transforms the value.
  ///
  /// The closure runs on the main queue.
  ///
  /// An error that the closure throws fails the new future. A failure of this future
  /// skips the closure, without a hop to the context. If the closure itself is
  /// asynchronous, use ``mapToFuture(on:fileID:line:using:)-(ExecutionContext,_,_,_)``.
  ///
  /// - Parameter transform: Returns the new value.
  public func mapToValue<NewSuccess: Sendable>(
    fileID: StaticString = #fileID, line: UInt = #line,
    using transform: @escaping @MainActor (Success) throws -> NewSuccess
  ) -> Future<NewSuccess> {
    mapToValue(on: .main, fileID: fileID, line: line, using: onMain(transform))
  }

  /// Makes a future of a property of the value.
  ///
  /// The property is read where this future settles.
  ///
  /// ```swift
  /// let host: Future<String?> = Promises.makeSucceeded(with: url).mapToValue(\.host)
  /// ```
  ///
  /// - Parameter keyPath: The property.
  @_disfavoredOverload
  public func mapToValue<NewSuccess: Sendable>(
    _ keyPath: any KeyPath<Success, NewSuccess> & Sendable, fileID: StaticString = #fileID,
    line: UInt = #line
  ) -> Future<NewSuccess> {
    mapToValue(on: .inline, fileID: fileID, line: line) { $0[keyPath: keyPath] }
  }

  /// Makes a future of a property of the value, read in a context.
  ///
  /// Use it if the property may only be read there, or takes long to read.
  ///
  /// - Parameters:
  ///   - context: Where the property is read.
  ///   - keyPath: The property.
  /// - Returns: A future of the property's value.
  @_disfavoredOverload
  public func mapToValue<NewSuccess: Sendable>(
    on context: some ExecutionContext, _ keyPath: any KeyPath<Success, NewSuccess> & Sendable,
    fileID: StaticString = #fileID, line: UInt = #line
  ) -> Future<NewSuccess> {
    mapToValue(on: context, fileID: fileID, line: line) { $0[keyPath: keyPath] }
  }

  /// Transforms the value, or fails if the closure returns `nil`.
  ///
  /// `nil` fails the new future with ``ProperationsError/compactMapReturnedNil``.
  ///
  /// - Parameters:
  ///   - context: Where the closure runs.
  ///   - transform: Returns the new value, or `nil`.
  public func compactMapToValue<NewSuccess: Sendable>(
    on context: some ExecutionContext, fileID: StaticString = #fileID, line: UInt = #line,
    using transform: @escaping @Sendable (Success) throws -> NewSuccess?
  ) -> Future<NewSuccess> {
    mapToValue(on: context, fileID: fileID, line: line) { value in
      guard let new = try transform(value) else { throw ProperationsError.compactMapReturnedNil }
      return new
    }
  }

  /// Transforms the value, or fails if the closure returns `nil`.
  ///
  /// The closure runs on the main queue. `nil` fails the new future with
  /// ``ProperationsError/compactMapReturnedNil``.
  ///
  /// - Parameter transform: Returns the new value, or `nil`.
  public func compactMapToValue<NewSuccess: Sendable>(
    fileID: StaticString = #fileID, line: UInt = #line,
    using transform: @escaping @MainActor (Success) throws -> NewSuccess?
  ) -> Future<NewSuccess> {
    compactMapToValue(on: .main, fileID: fileID, line: line, using: onMain(transform))
  }

  /// Continues with another future, made from the value.
  ///
  /// The new future settles like the future that the closure returns. Cancelling the new
  /// future cancels the returned one, unless that has other consumers. A recursion of any
  /// depth needs no stack, and no memory for released steps. If the closure returns the
  /// very future that this call makes, that future fails with
  /// ``ProperationsError/cycle(createdAt:)``.
  ///
  /// - Parameters:
  ///   - context: Where the closure runs.
  ///   - transform: Returns the future to continue with.
  public func mapToFuture<NewSuccess: Sendable>(
    on context: some ExecutionContext, fileID: StaticString = #fileID, line: UInt = #line,
    using transform: @escaping @Sendable (Success) throws -> Future<NewSuccess>
  ) -> Future<NewSuccess> {
    flattened(
      [.actsOnSuccess, .worksInHalves], on: ContextReference(context), at: Birthplace(fileID, line)
    ) {
      try transform($0.get())
    }
  }

  /// Continues with another future, made from the value.
  ///
  /// The closure runs on the main queue.
  ///
  /// The new future settles like the future that the closure returns. Cancelling the new
  /// future cancels the returned one, unless that has other consumers. A recursion of any
  /// depth needs no stack, and no memory for released steps. If the closure returns the
  /// very future that this call makes, that future fails with
  /// ``ProperationsError/cycle(createdAt:)``.
  ///
  /// - Parameter transform: Returns the future to continue with.
  public func mapToFuture<NewSuccess: Sendable>(
    fileID: StaticString = #fileID, line: UInt = #line,
    using transform: @escaping @MainActor (Success) throws -> Future<NewSuccess>
  ) -> Future<NewSuccess> {
    mapToFuture(on: .main, fileID: fileID, line: line, using: onMain(transform))
  }

  /// Transforms the whole result: a value, a failure or a cancellation.
  ///
  /// Only this transformation gets a cancelled result and can replace it.
  ///
  /// - Parameters:
  ///   - context: Where the closure runs.
  ///   - transform: Returns the new result.
  public func mapResult<NewSuccess: Sendable>(
    on context: some ExecutionContext, fileID: StaticString = #fileID, line: UInt = #line,
    using transform: @escaping @Sendable (FutureResult<Success>) throws -> FutureResult<NewSuccess>
  ) -> Future<NewSuccess> {
    transformed(.actsAlways, on: context, at: Birthplace(fileID, line)) { try transform($0).get() }
  }

  /// Transforms the whole result: a value, a failure or a cancellation.
  ///
  /// The closure runs on the main queue. Only this transformation gets a cancelled result
  /// and can replace it.
  ///
  /// - Parameter transform: Returns the new result.
  public func mapResult<NewSuccess: Sendable>(
    fileID: StaticString = #fileID, line: UInt = #line,
    using transform: @escaping @MainActor (FutureResult<Success>) throws -> FutureResult<NewSuccess>
  ) -> Future<NewSuccess> {
    mapResult(on: .main, fileID: fileID, line: line, using: onMain(transform))
  }

  /// Drops the value, and keeps the success, failure or cancellation.
  public func mapToVoid(fileID: StaticString = #fileID, line: UInt = #line) -> Future<Void> {
    mapToValue(on: .inline, fileID: fileID, line: line) { _ in }
  }
}
