// Futures of futures, and futures of optional values.

extension Future {
  /// Turns a future of a future into a future of the inner one's value.
  ///
  /// It settles like the inner future; if this one fails or is cancelled before, it does
  /// likewise. Cancelling it cancels the inner future, too.
  ///
  /// - Parameters:
  ///   - fileID: Where this was called, for diagnostics.
  ///   - line: Where this was called, for diagnostics.
  /// - Returns: A future of the inner value.
  public func flatten<Inner: Sendable>(
    fileID: StaticString = #fileID, line: UInt = #line
  ) -> Future<Inner> where Success == Future<Inner> {
    mapToFuture(on: .inline, fileID: fileID, line: line) { $0 }
  }

  /// Replaces a missing value; the replacement is made only if it is needed.
  ///
  /// ```swift
  /// let name = nickname ?? "nameless"
  /// ```
  ///
  /// - Parameters:
  ///   - future: A future of an optional value.
  ///   - replacement: Makes what takes the place of `nil`, once, where `future` settles.
  ///     What it throws fails the result.
  /// - Returns: A future of the value, or of the replacement.
  public static func ?? <Wrapped: Sendable>(
    future: Future, replacement: @autoclosure @escaping @Sendable () throws -> Wrapped
  ) -> Future<Wrapped> where Success == Wrapped? {
    // (An operator has no place of its own in the source.)
    let place = future.birthplace
    return future.mapToValue(on: .inline, fileID: place.fileID, line: UInt(place.line)) {
      try $0 ?? replacement()
    }
  }
}
