import Foundation

extension Future {
  /// Passes the value on only if it meets a condition.
  ///
  /// If the condition returns `false`, the new future fails with
  /// ``ProperationsError/ensureFailed``.
  ///
  /// - Parameters:
  ///   - context: Where the closure runs.
  ///   - condition: Checks the value.
  public func ensure(
    on context: some ExecutionContext, fileID: StaticString = #fileID, line: UInt = #line,
    that condition: @escaping @Sendable (Success) throws -> Bool
  ) -> Future<Success> {
    mapToValue(on: context, fileID: fileID, line: line) { value in
      guard try condition(value) else { throw ProperationsError.ensureFailed }
      return value
    }
  }

  /// Passes the value on only if it meets a condition.
  ///
  /// The closure runs on the main queue. If the condition returns `false`, the new future
  /// fails with ``ProperationsError/ensureFailed``.
  ///
  /// - Parameter condition: Checks the value.
  public func ensure(
    fileID: StaticString = #fileID, line: UInt = #line,
    that condition: @escaping @MainActor (Success) throws -> Bool
  ) -> Future<Success> {
    ensure(on: .main, fileID: fileID, line: line, that: onMain(condition))
  }
}
