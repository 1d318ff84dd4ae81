extension Promises {
  /// Wraps a function that calls back with a value.
  ///
  /// ```swift
  /// let granted = Promises.wrap { AVAudioApplication.requestRecordPermission(completionHandler: $0) }
  /// ```
  ///
  /// The handler may be called on any thread. Only its first call counts. If the wrapped
  /// code releases the handler without calling it, the future fails with
  /// ``ProperationsError/brokenPromise(createdAt:)``.
  ///
  /// - Parameter call: Calls the function with the given handler.
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
  /// If the function passes both, the error wins. If it passes neither, the future fails
  /// with ``ProperationsError/neitherValueNorError(createdAt:)``.
  ///
  /// - Parameter call: Calls the function with the given handler.
  public static func wrap<Success: Sendable>(
    fileID: StaticString = #fileID, line: UInt = #line,
    _ call: (@escaping @Sendable (Success?, (any Error)?) -> Void) throws -> Void
  ) -> Future<Success> {
    withResolver(promising: Success.self, fileID: fileID, line: line) { resolver in
      try call { resolver.settle($0, $1, at: Birthplace(fileID, line)) }
    }
  }

  /// Wraps a function that calls back with two values or an error.
  ///
  /// ```swift
  /// let page = Promises.wrap {
  ///   URLSession.shared.dataTask(with: url, completionHandler: $0).resume()
  /// }
  /// page.onSuccess { data, response in show(data, response) }
  /// ```
  ///
  /// If the function passes values and an error, the error wins. If it passes no error
  /// and a value is missing, the future fails with
  /// ``ProperationsError/neitherValueNorError(createdAt:)``.
  ///
  /// - Parameter call: Calls the function with the given handler.
  public static func wrap<First: Sendable, Second: Sendable>(
    fileID: StaticString = #fileID, line: UInt = #line,
    _ call: (@escaping @Sendable (First?, Second?, (any Error)?) -> Void) throws -> Void
  ) -> Future<(First, Second)> {
    withResolver(promising: (First, Second).self, fileID: fileID, line: line) { resolver in
      try call { first, second, error in
        let both = first.flatMap { first in second.map { (first, $0) } }
        resolver.settle(both, error, at: Birthplace(fileID, line))
      }
    }
  }

  /// Wraps a function that calls back with an error, or with `nil` for success.
  ///
  /// - Parameter call: Calls the function with the given handler.
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
  /// - Parameter call: Calls the function with the given handler.
  public static func wrap<Success: Sendable, Failure: Error>(
    fileID: StaticString = #fileID, line: UInt = #line,
    _ call: (@escaping @Sendable (Result<Success, Failure>) -> Void) throws -> Void
  ) -> Future<Success> {
    withResolver(promising: Success.self, fileID: fileID, line: line) { resolver in
      try call { result in resolver.fulfill(with: result.mapError { $0 }) }
    }
  }
}

extension Resolver {
  /// Settles the future with the error if there is one, otherwise with the value.
  ///
  /// Fails it if both are missing.
  fileprivate func settle(_ value: Success?, _ error: (any Error)?, at place: Birthplace) {
    if let error {
      fail(with: error)
    } else if let value {
      succeed(with: value)
    } else {
      fail(
        with: ProperationsError.neitherValueNorError(createdAt: place.site(of: Success.self)))
    }
  }
}
