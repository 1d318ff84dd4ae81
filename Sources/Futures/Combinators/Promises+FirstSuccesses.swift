extension Promises {
  /// Takes the first successes of several futures.
  ///
  /// ```swift
  /// let quorum = Promises.first(2, of: replicas).onSuccess { answers in
  ///   for (index, answer) in answers { show(answer, from: index) }
  /// }
  /// ```
  ///
  /// The new future succeeds as soon as `count` futures have succeeded. It fails with
  /// ``ProperationsError/multipleErrors(_:)`` as soon as too many have failed: the error
  /// has one entry for each future, `nil` for those that were not known to have failed. A cancelled
  /// future counts as failed.
  ///
  /// If `count` is zero or less, the new future succeeds at once with an empty array. If
  /// `count` is larger than the number of futures, it fails at once.
  ///
  /// - Parameters:
  ///   - count: The number of successes to wait for.
  ///   - futures: The futures. The same future may occur several times.
  ///   - cancellingLosers: Whether the futures that are still pending at the end are
  ///     cancelled, even if they have other consumers.
  /// - Returns: A future of the values with the positions of their futures, in the order in
  ///   which the futures succeeded.
  /// - Complexity: O(the number of futures).
  public static func first<Futures: Sequence, Success: Sendable>(
    _ count: Int, of futures: Futures, cancellingLosers: Bool = true,
    fileID: StaticString = #fileID, line: UInt = #line
  ) -> Future<[(index: Int, value: Success)]> where Futures.Element: Future<Success> {
    let inputs = futures.map { $0 as AnyFuture }
    let target = Future<[(index: Int, value: Success)]>(traits: [], at: Birthplace(fileID, line))
    SuccessJoin(
      target, SuccessCount(count, of: inputs.count), cancellingLosers: cancellingLosers
    ) { winners in
      let values = winners.map { winner in
        (winner.index, unsafeDowncast(winner.future, to: Future<Success>.self).settledValue)
      }
      target.settle(.success(values), from: .upstream)
    }.begin(inputs)
    return target
  }
}

/// Counts successes, until there are enough or there cannot be enough.
///
///   counting ── enough successes, or too many failures ──▶ decided
struct SuccessCount {
  /// What the caller does after an event.
  enum Action {
    case wait
    case succeed([(index: Int, future: AnyFuture)])
    case fail([(any Error)?])
  }

  let needed: Int
  private let total: Int
  private(set) var winners: [(index: Int, future: AnyFuture)] = []
  private var errors: [Int: any Error] = [:]
  private var isDecided = false

  init(_ needed: Int, of total: Int) {
    self.needed = needed
    self.total = total
  }

  /// All futures have been attached; the machine decides at once if the needed number is
  /// zero or larger than the number of futures.
  mutating func begin() -> Action { isDecided ? .wait : decide() }

  /// A future has settled; `error` is `nil` if it has succeeded.
  mutating func inputHasSettled(
    _ index: Int, _ future: AnyFuture, _ error: (any Error)?
  ) -> Action {
    guard !isDecided else { return .wait }
    if let error {
      errors[index] = error
    } else {
      winners.append((index, future))
    }
    return decide()
  }

  private mutating func decide() -> Action {
    if winners.count >= needed {
      isDecided = true
      // All futures are attached before the first decision, so more may have succeeded.
      return .succeed(Array(winners.prefix(max(needed, 0))))
    }
    if total - errors.count < needed {
      isDecided = true
      return .fail((0..<total).map { errors[$0] })
    }
    return .wait
  }
}

/// Waits until enough futures have succeeded.
private final class SuccessJoin: Join, @unchecked Sendable {
  // Sendable: `count` has a lock, the rest never changes.
  private let count: Lock<SuccessCount>
  private let isCancellingLosers: Bool
  private let succeed: @Sendable ([(index: Int, future: AnyFuture)]) -> Void

  init(
    _ target: AnyFuture, _ count: SuccessCount, cancellingLosers: Bool,
    _ succeed: @escaping @Sendable ([(index: Int, future: AnyFuture)]) -> Void
  ) {
    self.count = Lock(count)
    isCancellingLosers = cancellingLosers
    self.succeed = succeed
    super.init(target)
  }

  func begin(_ inputs: [AnyFuture]) {
    start(inputs) { perform(count.withLock { $0.begin() }) }
  }

  override func inputHasSettled(_ index: Int, _ source: AnyFuture, isLast: Bool) {
    let error = source.errorToJoin
    perform(count.withLock { $0.inputHasSettled(index, source, error) })
  }

  override var needsOnlyOne: Bool { count.withLock { $0.needed - $0.winners.count == 1 } }

  override var progressParts: ProgressParts? {
    let (needed, winners) = count.withLock { ($0.needed, $0.winners) }
    return ProgressParts(furthest: needed, of: winners.map(\.future) + upstreams, mark: self)
  }

  private func perform(_ action: SuccessCount.Action) {
    switch action {
    case .wait: return
    case .succeed(let winners): succeed(winners)
    case .fail(let errors):
      target.settle(failure: JoinedErrors(errors), from: .upstream)
    }
    end(isCancellingLosers ? .cancelling : .leaving)
  }
}
