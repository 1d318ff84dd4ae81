import Foundation

extension Future {
  /// Replaces a failure with a value.
  ///
  /// A value skips the closure, without a hop to the context, and so does a cancellation:
  /// a cancelled future does not count as failed. The closure of
  /// ``mapResult(on:fileID:line:using:)`` gets both.
  ///
  /// - Parameters:
  ///   - context: Where the closure runs.
  ///   - transform: Returns a value for the error, or throws another error.
  public func recover(
    on context: some ExecutionContext, fileID: StaticString = #fileID, line: UInt = #line,
    using transform: @escaping @Sendable (any Error) throws -> Success
  ) -> Future<Success> {
    transformed(.actsOnFailure, on: context, at: Birthplace(fileID, line)) { result in
      switch result {
      case .success(let value): value
      case .failure(let error): try transform(error)
      }
    }
  }

  /// Replaces a failure with a value.
  ///
  /// The closure runs on the main queue.
  ///
  /// A value skips the closure, without a hop to the context, and so does a cancellation:
  /// a cancelled future does not count as failed. The closure of
  /// ``mapResult(on:fileID:line:using:)`` gets both.
  ///
  /// - Parameter transform: Returns a value for the error, or throws another error.
  public func recover(
    fileID: StaticString = #fileID, line: UInt = #line,
    using transform: @escaping @MainActor (any Error) throws -> Success
  ) -> Future<Success> {
    recover(on: .main, fileID: fileID, line: line, using: onMain(transform))
  }

  /// Replaces failures of one type with a value.
  ///
  /// Errors of other types skip the closure. If a typed task has wrapped its own error or
  /// an error of the library, the closure gets the wrapped error.
  ///
  /// - Parameters:
  ///   - context: Where the closure runs.
  ///   - type: The type of the errors to recover from.
  ///   - transform: Returns a value for the error, or throws another error.
  public func recover<Failure: Error>(
    on context: some ExecutionContext, from type: Failure.Type, fileID: StaticString = #fileID,
    line: UInt = #line,
    using transform: @escaping @Sendable (Failure) throws -> Success
  ) -> Future<Success> {
    recover(on: context, fileID: fileID, line: line) { error in
      guard let error = error.matched(as: type) else { throw error }
      return try transform(error)
    }
  }

  /// Replaces failures of one type with a value.
  ///
  /// The closure runs on the main queue. Errors of other types skip the closure.
  ///
  /// - Parameters:
  ///   - type: The type of the errors to recover from.
  ///   - transform: Returns a value for the error, or throws another error.
  public func recover<Failure: Error>(
    from type: Failure.Type, fileID: StaticString = #fileID, line: UInt = #line,
    using transform: @escaping @MainActor (Failure) throws -> Success
  ) -> Future<Success> {
    recover(on: .main, from: type, fileID: fileID, line: line, using: onMain(transform))
  }

  /// Continues with another future after a failure.
  ///
  /// A value or a cancellation skips the closure. Cancelling the new future cancels the
  /// future that the closure returned.
  ///
  /// - Parameters:
  ///   - context: Where the closure runs.
  ///   - transform: Returns the future to continue with, or throws another error.
  public func recoverToFuture(
    on context: some ExecutionContext, fileID: StaticString = #fileID, line: UInt = #line,
    using transform: @escaping @Sendable (any Error) throws -> Future<Success>
  ) -> Future<Success> {
    flattened(.actsOnFailure, on: ContextReference(context), at: Birthplace(fileID, line)) {
      result in
      switch result {
      case .success(let value): Promises.makeSucceeded(with: value)
      case .failure(let error): try transform(error)
      }
    }
  }

  /// Continues with another future after a failure.
  ///
  /// The closure runs on the main queue. A value or a cancellation skips the closure.
  /// Cancelling the new future cancels the future that the closure returned.
  ///
  /// - Parameter transform: Returns the future to continue with, or throws another error.
  public func recoverToFuture(
    fileID: StaticString = #fileID, line: UInt = #line,
    using transform: @escaping @MainActor (any Error) throws -> Future<Success>
  ) -> Future<Success> {
    recoverToFuture(on: .main, fileID: fileID, line: line, using: onMain(transform))
  }

  /// Replaces the error of a failure with another error.
  ///
  /// If the closure throws an error, that one is the new error. A value or a cancellation
  /// skips the closure.
  ///
  /// - Parameters:
  ///   - context: Where the closure runs.
  ///   - transform: Returns the new error.
  public func mapError(
    on context: some ExecutionContext, fileID: StaticString = #fileID, line: UInt = #line,
    using transform: @escaping @Sendable (any Error) throws -> any Error
  ) -> Future<Success> {
    recover(on: context, fileID: fileID, line: line) { throw try transform($0) }
  }

  /// Replaces the error of a failure with another error.
  ///
  /// The closure runs on the main queue. If the closure throws an error, that one is the
  /// new error. A value or a cancellation skips the closure.
  ///
  /// - Parameter transform: Returns the new error.
  public func mapError(
    fileID: StaticString = #fileID, line: UInt = #line,
    using transform: @escaping @MainActor (any Error) throws -> any Error
  ) -> Future<Success> {
    mapError(on: .main, fileID: fileID, line: line, using: onMain(transform))
  }
}
