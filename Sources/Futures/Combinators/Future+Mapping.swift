import Foundation

extension Future {
  /// Transforms the value.
  ///
  /// What the closure throws fails the new future. A failure passes by without
  /// visiting the context. Use ``mapToFuture(on:fileID:line:using:)`` where
  /// the closure itself is asynchronous.
  ///
  /// - Parameters:
  ///   - context: Where the closure runs.
  ///   - fileID: The file to name in errors; leave it out.
  ///   - line: The line to name in errors; leave it out.
  ///   - transform: Makes the new value.
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
  /// What the closure throws fails the new future. A failure passes by without
  /// visiting the context. Use ``mapToFuture(on:fileID:line:using:)`` where
  /// the closure itself is asynchronous.
  ///
  /// - Parameters:
  ///   - fileID: The file to name in errors; leave it out.
  ///   - line: The line to name in errors; leave it out.
  ///   - transform: Makes the new value.
  public func mapToValue<NewSuccess: Sendable>(
    fileID: StaticString = #fileID, line: UInt = #line,
    using transform: @escaping @MainActor (Success) throws -> NewSuccess
  ) -> Future<NewSuccess> {
    mapToValue(on: .main, fileID: fileID, line: line, using: onMain(transform))
  }

  /// Picks a property of the value.
  ///
  /// It is read where this future settles.
  ///
  /// ```swift
  /// let host: Future<String?> = Promises.makeSucceeded(with: url).mapToValue(\.host)
  /// ```
  ///
  /// - Parameters:
  ///   - keyPath: The property.
  ///   - fileID: The file to name in errors; leave it out.
  ///   - line: The line to name in errors; leave it out.
  public func mapToValue<NewSuccess: Sendable>(
    _ keyPath: any KeyPath<Success, NewSuccess> & Sendable, fileID: StaticString = #fileID,
    line: UInt = #line
  ) -> Future<NewSuccess> {
    mapToValue(on: .inline, fileID: fileID, line: line) { $0[keyPath: keyPath] }
  }

  /// Makes a future of a property of the value, which is read in a context.
  ///
  /// For properties that may only be read there, or that take their time.
  ///
  /// - Parameters:
  ///   - context: Where the property is read.
  ///   - keyPath: The property.
  ///   - fileID: The file to name in errors; leave it out.
  ///   - line: The line to name in errors; leave it out.
  /// - Returns: A future of the property's value.
  public func mapToValue<NewSuccess: Sendable>(
    on context: some ExecutionContext, _ keyPath: any KeyPath<Success, NewSuccess> & Sendable,
    fileID: StaticString = #fileID, line: UInt = #line
  ) -> Future<NewSuccess> {
    mapToValue(on: context, fileID: fileID, line: line) { $0[keyPath: keyPath] }
  }

  /// Transforms the value, or fails where there is none to be had.
  ///
  /// `nil` fails the new future with
  /// ``ProperationsError/compactMapReturnedNil``.
  ///
  /// - Parameters:
  ///   - context: Where the closure runs.
  ///   - fileID: The file to name in errors; leave it out.
  ///   - line: The line to name in errors; leave it out.
  ///   - transform: Makes the new value, or `nil`.
  public func compactMapToValue<NewSuccess: Sendable>(
    on context: some ExecutionContext, fileID: StaticString = #fileID, line: UInt = #line,
    using transform: @escaping @Sendable (Success) throws -> NewSuccess?
  ) -> Future<NewSuccess> {
    mapToValue(on: context, fileID: fileID, line: line) { value in
      guard let new = try transform(value) else { throw ProperationsError.compactMapReturnedNil }
      return new
    }
  }

  /// Transforms the value, or fails where there is none to be had.
  ///
  /// The closure runs on the main queue.
  ///
  /// `nil` fails the new future with
  /// ``ProperationsError/compactMapReturnedNil``.
  ///
  /// - Parameters:
  ///   - fileID: The file to name in errors; leave it out.
  ///   - line: The line to name in errors; leave it out.
  ///   - transform: Makes the new value, or `nil`.
  public func compactMapToValue<NewSuccess: Sendable>(
    fileID: StaticString = #fileID, line: UInt = #line,
    using transform: @escaping @MainActor (Success) throws -> NewSuccess?
  ) -> Future<NewSuccess> {
    compactMapToValue(on: .main, fileID: fileID, line: line, using: onMain(transform))
  }

  /// Goes on with another future, made from the value.
  ///
  /// The new future settles like the one that the closure returns. Cancelling
  /// it cancels that one, unless others want its value. A recursion of any
  /// depth takes no stack, and no memory for steps that are released; a closure
  /// that returns the very future that is being made fails it with
  /// ``ProperationsError/cycle(createdAt:)``.
  ///
  /// - Parameters:
  ///   - context: Where the closure runs.
  ///   - fileID: The file to name in errors; leave it out.
  ///   - line: The line to name in errors; leave it out.
  ///   - transform: Makes the future to go on with.
  public func mapToFuture<NewSuccess: Sendable>(
    on context: some ExecutionContext, fileID: StaticString = #fileID, line: UInt = #line,
    using transform: @escaping @Sendable (Success) throws -> Future<NewSuccess>
  ) -> Future<NewSuccess> {
    flattened(.actsOnSuccess, on: ContextReference(context), at: Birthplace(fileID, line)) {
      try transform($0.get())
    }
  }

  /// Goes on with another future, made from the value.
  ///
  /// The closure runs on the main queue.
  ///
  /// The new future settles like the one that the closure returns. Cancelling
  /// it cancels that one, unless others want its value. A recursion of any
  /// depth takes no stack, and no memory for steps that are released; a closure
  /// that returns the very future that is being made fails it with
  /// ``ProperationsError/cycle(createdAt:)``.
  ///
  /// - Parameters:
  ///   - fileID: The file to name in errors; leave it out.
  ///   - line: The line to name in errors; leave it out.
  ///   - transform: Makes the future to go on with.
  public func mapToFuture<NewSuccess: Sendable>(
    fileID: StaticString = #fileID, line: UInt = #line,
    using transform: @escaping @MainActor (Success) throws -> Future<NewSuccess>
  ) -> Future<NewSuccess> {
    mapToFuture(on: .main, fileID: fileID, line: line, using: onMain(transform))
  }

  /// Transforms the whole result, be it a value, a failure or a cancellation.
  ///
  /// This is the only transformation that sees a cancelled result, and may turn
  /// it into another one.
  ///
  /// - Parameters:
  ///   - context: Where the closure runs.
  ///   - fileID: The file to name in errors; leave it out.
  ///   - line: The line to name in errors; leave it out.
  ///   - transform: Makes the new result.
  public func mapResult<NewSuccess: Sendable>(
    on context: some ExecutionContext, fileID: StaticString = #fileID, line: UInt = #line,
    using transform: @escaping @Sendable (FutureResult<Success>) throws -> FutureResult<NewSuccess>
  ) -> Future<NewSuccess> {
    transformed(.actsAlways, on: context, at: Birthplace(fileID, line)) { try transform($0).get() }
  }

  /// Transforms the whole result, be it a value, a failure or a cancellation.
  ///
  /// The closure runs on the main queue.
  ///
  /// This is the only transformation that sees a cancelled result, and may turn
  /// it into another one.
  ///
  /// - Parameters:
  ///   - fileID: The file to name in errors; leave it out.
  ///   - line: The line to name in errors; leave it out.
  ///   - transform: Makes the new result.
  public func mapResult<NewSuccess: Sendable>(
    fileID: StaticString = #fileID, line: UInt = #line,
    using transform: @escaping @MainActor (FutureResult<Success>) throws -> FutureResult<NewSuccess>
  ) -> Future<NewSuccess> {
    mapResult(on: .main, fileID: fileID, line: line, using: onMain(transform))
  }

  /// Forgets the value: success stays success.
  ///
  /// - Parameters:
  ///   - fileID: The file to name in errors; leave it out.
  ///   - line: The line to name in errors; leave it out.
  public func mapToVoid(fileID: StaticString = #fileID, line: UInt = #line) -> Future<Void> {
    mapToValue(on: .inline, fileID: fileID, line: line) { _ in }
  }
}
