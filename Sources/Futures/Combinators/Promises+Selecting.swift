/// The first of several futures that has settled, and the others.
///
/// ``Promises/select(_:fileID:line:)`` makes it.
public struct FutureSelection<Success: Sendable>: Sendable {
  /// The position of the settled future.
  public let index: Int
  /// The result of the settled future, success or failure.
  public let result: FutureResult<Success>
  /// The other futures, in their order.
  ///
  /// A future that nothing else keeps, and that nothing can settle any more, is left out.
  public let rest: [Future<Success>]
}

extension Promises {
  /// Waits for the first of several futures to settle, and hands over the others.
  ///
  /// ```swift
  /// let first = Promises.select(mirrors.map(fetch)).onSuccess { selection in
  ///   show(selection.result)
  ///   compare(selection.rest)
  /// }
  /// ```
  ///
  /// The others continue; cancel them with ``FutureSelection/rest`` if they are not needed.
  /// ``race(_:cancellingLosers:fileID:line:)`` takes the first success and cancels the
  /// others itself. To go through all results in the order in which they come, use
  /// ``completions(of:)``: selecting from the rest again and again takes quadratic time.
  ///
  /// If several futures have settled before the call, the first of them is selected. The
  /// failure of a future is a selection, not a failure of the new future. That one fails
  /// only without any future, with ``ProperationsError/noFutures``. Cancelling it leaves the
  /// futures as they are.
  ///
  /// - Parameter futures: The futures. The same future may occur several times.
  /// - Returns: A future of the first result and of the other futures.
  /// - Complexity: O(the number of futures).
  public static func select<Futures: Sequence, Success: Sendable>(
    _ futures: Futures, fileID: StaticString = #fileID, line: UInt = #line
  ) -> Future<FutureSelection<Success>> where Futures.Element: Future<Success> {
    let inputs = futures.map { $0 as AnyFuture }
    if inputs.isEmpty {
      return makeFailed(with: ProperationsError.noFutures, fileID: fileID, line: line)
    }
    let target = Future<FutureSelection<Success>>(traits: [], at: Birthplace(fileID, line))
    SelectionJoin(selecting: target).start(inputs)
    return target
  }
}

/// Waits until one future has settled.
private final class SelectionJoin<Success: Sendable>: Join, @unchecked Sendable {
  // Sendable: adds no state.

  init(selecting target: Future<FutureSelection<Success>>) { super.init(target) }

  override func inputHasSettled(_ index: Int, _ source: AnyFuture, isLast: Bool) {
    var rest = end(.leaving)
    // Another thread may have selected another future.
    guard rest.indices.contains(index) else { return }
    rest[index] = nil
    let selection = FutureSelection(
      index: index, result: unsafeDowncast(source, to: Future<Success>.self).settledResult,
      rest: rest.compactMap { $0.map { unsafeDowncast($0, to: Future<Success>.self) } })
    unsafeDowncast(target, to: Future<FutureSelection<Success>>.self)
      .settle(.success(selection), from: .upstream)
  }

  override var needsOnlyOne: Bool { true }

  override var progressParts: ProgressParts? {
    ProgressParts(furthest: 1, of: upstreams, mark: self)
  }

  override func withdraw(cancelling: Bool) { end(.leaving) }
}
