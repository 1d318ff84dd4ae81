import Foundation

extension Future {
  /// Puts a value in the place of a failure.
  ///
  /// A value passes by without visiting the context, and so does a
  /// cancellation: a cancelled future is not a failed one that could be mended
  /// (``mapResult(on:fileID:line:using:)`` sees both).
  ///
  /// - Parameters:
  ///   - context: Where the closure runs.
  ///   - fileID: The file to name in errors; leave it out.
  ///   - line: The line to name in errors; leave it out.
  ///   - transform: Makes a value of the error, or throws another.
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

  /// Puts a value in the place of a failure.
  ///
  /// The closure runs on the main queue.
  ///
  /// A value passes by without visiting the context, and so does a
  /// cancellation: a cancelled future is not a failed one that could be mended
  /// (``mapResult(on:fileID:line:using:)`` sees both).
  ///
  /// - Parameters:
  ///   - fileID: The file to name in errors; leave it out.
  ///   - line: The line to name in errors; leave it out.
  ///   - transform: Makes a value of the error, or throws another.
  public func recover(
    fileID: StaticString = #fileID, line: UInt = #line,
    using transform: @escaping @MainActor (any Error) throws -> Success
  ) -> Future<Success> {
    recover(on: .main, fileID: fileID, line: line, using: onMain(transform))
  }

  /// Puts a value in the place of failures of one type.
  ///
  /// Errors of other types pass by. Of a typed task it takes the error inside,
  /// the task's own or the library's.
  ///
  /// - Parameters:
  ///   - context: Where the closure runs.
  ///   - type: The type of the errors to recover from.
  ///   - fileID: The file to name in errors; leave it out.
  ///   - line: The line to name in errors; leave it out.
  ///   - transform: Makes a value of the error, or throws another.
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

  /// Puts a value in the place of failures of one type.
  ///
  /// The closure runs on the main queue.
  ///
  /// Errors of other types pass by.
  ///
  /// - Parameters:
  ///   - type: The type of the errors to recover from.
  ///   - fileID: The file to name in errors; leave it out.
  ///   - line: The line to name in errors; leave it out.
  ///   - transform: Makes a value of the error, or throws another.
  public func recover<Failure: Error>(
    from type: Failure.Type, fileID: StaticString = #fileID, line: UInt = #line,
    using transform: @escaping @MainActor (Failure) throws -> Success
  ) -> Future<Success> {
    recover(on: .main, from: type, fileID: fileID, line: line, using: onMain(transform))
  }

  /// Goes on with another future in the place of a failure.
  ///
  /// A value and a cancellation pass by. Cancelling the new future cancels the
  /// one that the closure returned.
  ///
  /// - Parameters:
  ///   - context: Where the closure runs.
  ///   - fileID: The file to name in errors; leave it out.
  ///   - line: The line to name in errors; leave it out.
  ///   - transform: Makes the future to go on with, or throws another error.
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

  /// Goes on with another future in the place of a failure.
  ///
  /// The closure runs on the main queue.
  ///
  /// A value and a cancellation pass by. Cancelling the new future cancels the
  /// one that the closure returned.
  ///
  /// - Parameters:
  ///   - fileID: The file to name in errors; leave it out.
  ///   - line: The line to name in errors; leave it out.
  ///   - transform: Makes the future to go on with, or throws another error.
  public func recoverToFuture(
    fileID: StaticString = #fileID, line: UInt = #line,
    using transform: @escaping @MainActor (any Error) throws -> Future<Success>
  ) -> Future<Success> {
    recoverToFuture(on: .main, fileID: fileID, line: line, using: onMain(transform))
  }

  /// Puts another error in the place of a failure's.
  ///
  /// What the closure throws counts like what it returns. A value and a
  /// cancellation pass by.
  ///
  /// - Parameters:
  ///   - context: Where the closure runs.
  ///   - fileID: The file to name in errors; leave it out.
  ///   - line: The line to name in errors; leave it out.
  ///   - transform: Makes the new error.
  public func mapError(
    on context: some ExecutionContext, fileID: StaticString = #fileID, line: UInt = #line,
    using transform: @escaping @Sendable (any Error) throws -> any Error
  ) -> Future<Success> {
    recover(on: context, fileID: fileID, line: line) { throw try transform($0) }
  }

  /// Puts another error in the place of a failure's.
  ///
  /// The closure runs on the main queue.
  ///
  /// What the closure throws counts like what it returns. A value and a
  /// cancellation pass by.
  ///
  /// - Parameters:
  ///   - fileID: The file to name in errors; leave it out.
  ///   - line: The line to name in errors; leave it out.
  ///   - transform: Makes the new error.
  public func mapError(
    fileID: StaticString = #fileID, line: UInt = #line,
    using transform: @escaping @MainActor (any Error) throws -> any Error
  ) -> Future<Success> {
    mapError(on: .main, fileID: fileID, line: line, using: onMain(transform))
  }
}
