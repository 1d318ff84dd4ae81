extension Promises {
  /// Wraps a function that calls back with a value.
  ///
  /// ```swift
  /// let granted = Promises.wrap { AVAudioApplication.requestRecordPermission(completionHandler: $0) }
  /// ```
  ///
  /// The handler may be called on any thread. Only its first call counts; if
  /// the wrapped code lets go of it uncalled, the future fails with
  /// ``ProperationsError/brokenPromise(createdAt:)``.
  ///
  /// - Parameters:
  ///   - fileID: The file to name in errors; leave it out.
  ///   - line: The line to name in errors; leave it out.
  ///   - call: Calls the function with the handler it is given.
  public static func wrap<Success: Sendable>(
    fileID: StaticString = #fileID, line: UInt = #line,
    _ call: (@escaping @Sendable (Success) -> Void) throws -> Void
  ) -> Future<Success> {
    withResolver(promising: Success.self, fileID: fileID, line: line) { resolver in
      try call { resolver.succeed(with: $0) }
    }
  }

  /// Wraps a function that calls back with a value or an error.
  ///
  /// An error wins over a value. Neither of them fails the future with
  /// ``ProperationsError/neitherValueNorError(createdAt:)``.
  ///
  /// - Parameters:
  ///   - fileID: The file to name in errors; leave it out.
  ///   - line: The line to name in errors; leave it out.
  ///   - call: Calls the function with the handler it is given.
  public static func wrap<Success: Sendable>(
    fileID: StaticString = #fileID, line: UInt = #line,
    _ call: (@escaping @Sendable (Success?, (any Error)?) -> Void) throws -> Void
  ) -> Future<Success> {
    withResolver(promising: Success.self, fileID: fileID, line: line) { resolver in
      try call { value, error in
        if let error {
          resolver.fail(with: error)
        } else if let value {
          resolver.succeed(with: value)
        } else {
          let site = CreationSite(
            fileID: fileID, line: line, valueType: String(describing: Success.self))
          resolver.fail(with: ProperationsError.neitherValueNorError(createdAt: site))
        }
      }
    }
  }

  /// Wraps a function that calls back with an error, or with `nil` when all
  /// went well.
  ///
  /// - Parameters:
  ///   - fileID: The file to name in errors; leave it out.
  ///   - line: The line to name in errors; leave it out.
  ///   - call: Calls the function with the handler it is given.
  public static func wrap(
    fileID: StaticString = #fileID, line: UInt = #line,
    _ call: (@escaping @Sendable ((any Error)?) -> Void) throws -> Void
  ) -> Future<Void> {
    withResolver(promising: Void.self, fileID: fileID, line: line) { resolver in
      try call { error in
        if let error { resolver.fail(with: error) } else { resolver.succeed() }
      }
    }
  }

  /// Wraps a function that calls back with a `Result`.
  ///
  /// - Parameters:
  ///   - fileID: The file to name in errors; leave it out.
  ///   - line: The line to name in errors; leave it out.
  ///   - call: Calls the function with the handler it is given.
  public static func wrap<Success: Sendable, Failure: Error>(
    fileID: StaticString = #fileID, line: UInt = #line,
    _ call: (@escaping @Sendable (Result<Success, Failure>) -> Void) throws -> Void
  ) -> Future<Success> {
    withResolver(promising: Success.self, fileID: fileID, line: line) { resolver in
      try call { result in resolver.fulfill(with: result.mapError { $0 }) }
    }
  }
}
