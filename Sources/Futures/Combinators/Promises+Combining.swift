import Foundation

extension Promises {
  /// Waits for several futures of different types.
  ///
  /// ```swift
  /// Promises.combine(profile, albums).onSuccess { profile, albums in
  ///   show(profile, albums)
  /// }
  /// ```
  ///
  /// The new future succeeds with all values when every future has succeeded. If any
  /// future fails, the new future fails after all have settled, with
  /// ``ProperationsError/multipleErrors(_:)``: one entry per future, in their order,
  /// `nil` for a success. A cancelled future counts as failed. Cancelling the new future
  /// cancels the futures that have no other consumer.
  ///
  /// - Parameter futures: Any number of futures.
  public static func combine<each Success: Sendable>(
    _ futures: repeat Future<each Success>, fileID: StaticString = #fileID, line: UInt = #line
  ) -> Future<(repeat each Success)> {
    var inputs: [AnyFuture] = []
    repeat inputs.append(each futures)
    let target = Future<(repeat each Success)>(traits: [], at: Birthplace(fileID, line))
    DecidedJoin(target) { settled in
      if let error = multipleErrors(settled) {
        target.settle(.failure(error), from: .upstream)
        return
      }
      var rest = settled[...]
      func next<Value: Sendable>(_ type: Value.Type) -> Value {
        unsafeDowncast(rest.removeFirst(), to: Future<Value>.self).settledValue
      }
      target.settle(.success((repeat next((each Success).self))), from: .upstream)
    }.begin(inputs)
    return target
  }

  /// Waits for all futures of a collection.
  ///
  /// The new future succeeds with their values, in the order of the futures. For an empty
  /// collection it succeeds at once. If any future fails, it fails after all have
  /// settled, with ``ProperationsError/multipleErrors(_:)``. Cancelling it cancels the
  /// futures that have no other consumer.
  ///
  /// - Parameters:
  ///   - futures: The futures; one future may occur several times.
  ///   - failingFast: `true` to fail with the first failure as it is, without waiting for
  ///     the other futures. The others are cancelled, even if they have other consumers.
  public static func collect<Futures: Sequence, Success: Sendable>(
    _ futures: Futures, failingFast: Bool = false,
    fileID: StaticString = #fileID, line: UInt = #line
  ) -> Future<[Success]> where Futures.Element: Future<Success> {
    let inputs = futures.map { $0 as AnyFuture }
    let target = Future<[Success]>(traits: [], at: Birthplace(fileID, line))
    DecidedJoin(target, decidedBy: failingFast ? .firstFailure : .none) { settled in
      if let error = multipleErrors(settled) {
        target.settle(.failure(error), from: .upstream)
        return
      }
      let values = settled.map { unsafeDowncast($0, to: Future<Success>.self).settledValue }
      target.settle(.success(values), from: .upstream)
    }.begin(inputs)
    return target
  }

  /// Waits for all futures of a collection, and never fails.
  ///
  /// - Parameter futures: The futures; one future may occur several times.
  /// - Returns: A future of all results, in the order of the futures.
  public static func collectResults<Futures: Sequence, Success: Sendable>(
    _ futures: Futures, fileID: StaticString = #fileID, line: UInt = #line
  ) -> Future<[FutureResult<Success>]> where Futures.Element: Future<Success> {
    let inputs = futures.map { $0 as AnyFuture }
    let target = Future<[FutureResult<Success>]>(traits: [], at: Birthplace(fileID, line))
    DecidedJoin(target) { settled in
      let results = settled.map { unsafeDowncast($0, to: Future<Success>.self).settledResult }
      target.settle(.success(results), from: .upstream)
    }.begin(inputs)
    return target
  }

  /// Returns one entry per future if any of them failed, otherwise `nil`.
  private static func multipleErrors(_ settled: [AnyFuture]) -> JoinedErrors? {
    guard settled.contains(where: { $0.outcome != .success }) else { return nil }
    return JoinedErrors(settled.map(\.errorToJoin))
  }
}

extension Future {
  /// Combines the future with others into a future of a tuple.
  ///
  /// ```swift
  /// let page = header.and(body).mapToValue { header, body in Page(header, body) }
  /// ```
  ///
  /// The same as ``Promises/combine(_:fileID:line:)`` with this future as the first. The
  /// new future waits for all, and fails with ``ProperationsError/multipleErrors(_:)`` if
  /// any fails. The name is SwiftNIO's. `zip` is an operator of typed tasks, which are
  /// futures too.
  ///
  /// - Parameter others: The other futures.
  /// - Returns: A future of all values, in order.
  /// - Complexity: O(the number of futures).
  public func and<each Other: Sendable>(
    _ others: repeat Future<each Other>, fileID: StaticString = #fileID, line: UInt = #line
  ) -> Future<(Success, repeat each Other)> {
    Promises.combine(self, repeat each others, fileID: fileID, line: line)
  }
}
