import Foundation

extension Future {
  /// A future with the same result, whose cancellation does not travel up.
  ///
  /// Use it to hand out work that several consumers share. Cancelling the returned
  /// future does not cancel this one.
  ///
  /// - Parameters:
  ///   - fileID: The file to name in errors; leave it out.
  ///   - line: The line to name in errors; leave it out.
  public func shielded(fileID: StaticString = #fileID, line: UInt = #line) -> Future<Success> {
    passedThrough(.isShielded, at: Birthplace(fileID, line))
  }

  /// Hands the future out of the middle of a chain.
  ///
  /// ```swift
  /// fetch(url)
  ///   .getFuture { download = $0 }
  ///   .mapToValue(on: .global()) { try decode($0) }
  /// ```
  ///
  /// - Parameter receive: Gets this very future, before the call returns.
  public func getFuture(_ receive: (Future<Success>) throws -> Void) rethrows -> Future<Success> {
    try receive(self)
    return self
  }
}
