// Futures of futures, and futures of optional values.

extension Future {
  /// Turns a future of a future into a future of the inner value.
  ///
  /// The new future settles like the inner future. If this future fails or is cancelled
  /// first, the new future does the same. Cancelling the new future cancels the inner one
  /// too.
  ///
  /// - Returns: A future of the inner value.
  public func flatten<Inner: Sendable>(
    fileID: StaticString = #fileID, line: UInt = #line
  ) -> Future<Inner> where Success == Future<Inner> {
    mapToFuture(on: .inline, fileID: fileID, line: line) { $0 }
  }

  /// Replaces a missing value with another one.
  ///
  /// ```swift
  /// let name = nickname ?? "nameless"
  /// ```
  ///
  /// - Parameters:
  ///   - future: A future of an optional value.
  ///   - replacement: Makes the value that replaces `nil`. It is called once, only if it
  ///     is needed, where `future` settles. An error that it throws fails the new future.
  /// - Returns: A future of the value, or of the replacement.
  public static func ?? <Wrapped: Sendable>(
    future: Future, replacement: @autoclosure @escaping @Sendable () throws -> Wrapped
  ) -> Future<Wrapped> where Success == Wrapped? {
    // The new future takes the place in the source from its operand: an operator cannot
    // record its own.
    let place = future.birthplace
    return future.mapToValue(on: .inline, fileID: place.fileID, line: UInt(place.line)) {
      try $0 ?? replacement()
    }
  }
}
