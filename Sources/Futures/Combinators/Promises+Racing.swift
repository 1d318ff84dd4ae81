import Foundation

extension Promises {
  /// Takes the first success of several futures.
  ///
  /// Failures are passed over as long as any future may still succeed. If all
  /// fail, it fails with ``ProperationsError/multipleErrors(_:)``; without any
  /// future, with ``ProperationsError/noFutures``.
  ///
  /// - Parameters:
  ///   - futures: The futures.
  ///   - cancellingLosers: Whether the others are cancelled when one has won,
  ///     even if they have other consumers. Race a `shielded()` future to keep it.
  ///   - fileID: The file to name in errors; leave it out.
  ///   - line: The line to name in errors; leave it out.
  public static func race<Futures: Sequence, Success: Sendable>(
    _ futures: Futures, cancellingLosers: Bool = true,
    fileID: StaticString = #fileID, line: UInt = #line
  ) -> Future<Success> where Futures.Element: Future<Success> {
    first(
      of: futures.map { $0 as Future<Success> }, needsSuccess: true,
      cancellingLosers: cancellingLosers, Birthplace(fileID, line))
  }

  /// Takes the result of whichever future settles first, success or failure.
  ///
  /// Without any future it fails with ``ProperationsError/noFutures``.
  ///
  /// - Parameters:
  ///   - futures: The futures.
  ///   - cancellingLosers: Whether the others are cancelled when one has
  ///     settled.
  ///   - fileID: The file to name in errors; leave it out.
  ///   - line: The line to name in errors; leave it out.
  public static func firstCompleted<Futures: Sequence, Success: Sendable>(
    _ futures: Futures, cancellingLosers: Bool = true,
    fileID: StaticString = #fileID, line: UInt = #line
  ) -> Future<Success> where Futures.Element: Future<Success> {
    first(
      of: futures.map { $0 as Future<Success> }, needsSuccess: false,
      cancellingLosers: cancellingLosers, Birthplace(fileID, line))
  }

  fileprivate static func first<Success: Sendable>(
    of inputs: [Future<Success>], needsSuccess: Bool, cancellingLosers: Bool,
    isAlternative: Bool = false, _ birthplace: Birthplace
  ) -> Future<Success> {
    let target = Future<Success>(traits: [], at: birthplace)
    FirstJoin(
      target, count: inputs.count, needsSuccess: needsSuccess, cancellingLosers: cancellingLosers,
      isAlternative: isAlternative
    ).start(inputs)
    return target
  }
}

extension Future {
  /// Takes the first success of two futures, and cancels the other.
  ///
  /// If both fail, the errors are in `multipleErrors`, side by side: one for
  /// each operand of `a || b || c`. A row of n alternatives costs O(n); the
  /// list of errors is made when the error is read.
  ///
  /// - Parameters:
  ///   - first: A future.
  ///   - second: Another one.
  public static func || (first: Future, second: Future) -> Future {
    // An operator has no place of its own in the source.
    Promises.first(
      of: [first, second], needsSuccess: true, cancellingLosers: true, isAlternative: true,
      first.birthplace)
  }
}
