import Foundation

extension Promises {
  /// Makes a future that takes the first success of several futures.
  ///
  /// It ignores failures while another future may still succeed. If all fail, it fails
  /// with ``ProperationsError/multipleErrors(_:)``. Without any future it fails with
  /// ``ProperationsError/noFutures``.
  ///
  /// - Parameters:
  ///   - futures: The futures.
  ///   - cancellingLosers: Whether the others are cancelled when one has won, even if
  ///     they have other consumers. Pass a `shielded()` future to keep it.
  public static func race<Futures: Sequence, Success: Sendable>(
    _ futures: Futures, cancellingLosers: Bool = true,
    fileID: StaticString = #fileID, line: UInt = #line
  ) -> Future<Success> where Futures.Element: Future<Success> {
    first(
      of: futures.map { $0 as Future<Success> }, needsSuccess: true,
      cancellingLosers: cancellingLosers, Birthplace(fileID, line))
  }

  /// Makes a future that takes the first result of several futures, success or failure.
  ///
  /// Without any future it fails with ``ProperationsError/noFutures``.
  ///
  /// - Parameters:
  ///   - futures: The futures.
  ///   - cancellingLosers: Whether the others are cancelled when one has
  ///     settled.
  public static func firstCompleted<Futures: Sequence, Success: Sendable>(
    _ futures: Futures, cancellingLosers: Bool = true,
    fileID: StaticString = #fileID, line: UInt = #line
  ) -> Future<Success> where Futures.Element: Future<Success> {
    first(
      of: futures.map { $0 as Future<Success> }, needsSuccess: false,
      cancellingLosers: cancellingLosers, Birthplace(fileID, line))
  }

  static func first<Success: Sendable>(
    of inputs: [Future<Success>], needsSuccess: Bool, cancellingLosers: Bool,
    isAlternative: Bool = false, _ birthplace: Birthplace
  ) -> Future<Success> {
    let target = Future<Success>(traits: [], at: birthplace)
    DecidedJoin(
      target, decidedBy: needsSuccess ? .firstSuccess : .first, cancellingOthers: cancellingLosers
    ) { settled in
      let error: any Error =
        settled.isEmpty
        ? ProperationsError.noFutures
        : JoinedErrors(settled.map(\.errorToJoin), isRow: isAlternative)
      target.settle(failure: error, from: .upstream)
    }.begin(inputs)
    return target
  }
}

extension Future {
  /// Takes the first success of two futures, and cancels the other one.
  ///
  /// If both fail, the errors are in one `multipleErrors`, with one entry for each
  /// operand of `a || b || c`. A row that occurs again, as in `row || row`, is one entry
  /// there, in a ``NestedErrors``. A row of n alternatives costs O(n). The list of errors
  /// is made when the error is read.
  ///
  /// - Parameters:
  ///   - first: A future.
  ///   - second: Another future.
  public static func || (first: Future, second: Future) -> Future {
    // The new future takes the place in the source from its operand: an operator cannot
    // record its own.
    Promises.first(
      of: [first, second], needsSuccess: true, cancellingLosers: true, isAlternative: true,
      first.birthplace)
  }
}
