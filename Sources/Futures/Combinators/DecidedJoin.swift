/// Waits until all inputs have settled, or until one decides.
final class DecidedJoin: Join, @unchecked Sendable {
  // Sendable: nothing changes after init.

  /// The input like which the target settles at once.
  enum Decider {
    case none
    case firstFailure
    case firstSuccess
    case first

    func isMatched(by outcome: Outcome) -> Bool {
      switch self {
      case .none: false
      case .firstFailure: outcome != .success
      case .firstSuccess: outcome == .success
      case .first: true
      }
    }
  }

  private let decider: Decider
  private let isCancellingOthers: Bool
  private let finish: @Sendable ([AnyFuture]) -> Void

  /// - Parameters:
  ///   - decider: The input that decides.
  ///   - isCancellingOthers: Whether the other inputs are cancelled then.
  ///   - finish: Settles the target after all inputs have settled and none has decided.
  init(
    _ target: AnyFuture, decidedBy decider: Decider = .none, cancellingOthers: Bool = true,
    _ finish: @escaping @Sendable ([AnyFuture]) -> Void
  ) {
    self.decider = decider
    isCancellingOthers = cancellingOthers
    self.finish = finish
    super.init(target)
  }

  /// Starts waiting for the inputs.
  func begin(_ futures: [AnyFuture]) { futures.isEmpty ? finish([]) : start(futures) }

  override func inputHasSettled(_ index: Int, _ source: AnyFuture, isLast: Bool) {
    if decider.isMatched(by: source.outcome) {
      target.settle(like: source, from: .upstream)
      end(isCancellingOthers ? .cancelling : .leaving)
    } else if isLast {
      let settled = end(.leaving).compactMap { $0 }
      // The target may have settled meanwhile, or another thread is about to settle it. Reading
      // all outcomes takes time, so not where none decides.
      if settled.isEmpty
        || decider != .none && settled.contains(where: { decider.isMatched(by: $0.outcome) })
      {
        return
      }
      finish(settled)
    }
  }

  override var needsAll: Bool { decider == .none }

  override var needsOnlyOne: Bool { decider == .firstSuccess || decider == .first }

  override var progressParts: ProgressParts? {
    switch decider {
    case .none, .firstFailure: ProgressParts(meanOf: inputs)
    case .firstSuccess, .first:
      ProgressParts(furthest: 1, of: inputs.compactMap { $0 }, mark: self)
    }
  }
}
