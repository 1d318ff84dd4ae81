import Foundation

extension Future {
  /// Lets a value pass only if it meets a condition.
  ///
  /// `false` fails the new future with ``ProperationsError/ensureFailed``.
  ///
  /// - Parameters:
  ///   - context: Where the closure runs.
  ///   - fileID: The file to name in errors; leave it out.
  ///   - line: The line to name in errors; leave it out.
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

  /// Lets a value pass only if it meets a condition.
  ///
  /// The closure runs on the main queue.
  ///
  /// `false` fails the new future with ``ProperationsError/ensureFailed``.
  ///
  /// - Parameters:
  ///   - fileID: The file to name in errors; leave it out.
  ///   - line: The line to name in errors; leave it out.
  ///   - condition: Checks the value.
  public func ensure(
    fileID: StaticString = #fileID, line: UInt = #line,
    that condition: @escaping @MainActor (Success) throws -> Bool
  ) -> Future<Success> {
    ensure(on: .main, fileID: fileID, line: line, that: onMain(condition))
  }
}
