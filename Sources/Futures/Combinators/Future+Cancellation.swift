import Foundation

extension Future {
  /// Makes a future with the same result, whose cancellation does not travel upstream.
  ///
  /// Use it to hand out work that several consumers share. Cancelling the returned future
  /// does not cancel this one.
  public func shielded(fileID: StaticString = #fileID, line: UInt = #line) -> Future<Success> {
    passedThrough(.isShielded, at: Birthplace(fileID, line))
  }

  /// Passes the future to a closure in the middle of a chain.
  ///
  /// ```swift
  /// fetch(url)
  ///   .getFuture { download = $0 }
  ///   .mapToValue(on: .global()) { try decode($0) }
  /// ```
  ///
  /// - Parameter receive: Called with this future before `getFuture` returns.
  public func getFuture(_ receive: (Future<Success>) throws -> Void) rethrows -> Future<Success> {
    try receive(self)
    return self
  }
}
