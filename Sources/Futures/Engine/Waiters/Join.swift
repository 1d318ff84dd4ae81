/// Waits for several futures on behalf of one.
///
/// An index identifies an input, because one future may be several inputs. The join does
/// not own inputs that are promises.
///
///   collecting ── decided (all inputs settled, or one decided) ──▶ done
///       └──────── withdraw (the target settled in another way) ─▶ done
///
/// In `done` the join has released its inputs, and the inputs have released the join.
class Join: AnyJoin, @unchecked Sendable {
  // Sendable: all mutable state is in `state`, under its lock.
  private struct State {
    var inputs: [JoinInput] = []
    var settled: [AnyFuture?]
    var remaining: Int
    var isDone = false
  }

  /// What an input that has settled means for the join.
  enum Verdict {
    case goOn
    /// The target settles like this input.
    case takeThis(cancellingOthers: Bool)
  }

  private let state: Lock<State>

  init(_ target: AnyFuture, count: Int) {
    state = Lock(State(settled: Array(repeating: nil, count: count), remaining: count))
    super.init(target)
  }

  /// Judges an input that has settled.
  ///
  /// The kinds of join override it.
  func judge(_ input: AnyFuture) -> Verdict { .goOn }

  /// Settles the target after all inputs have settled and none of them has decided.
  ///
  /// The kinds of join override it.
  func settle(_ target: AnyFuture, from settled: [AnyFuture]) {}

  /// Starts waiting for the inputs.
  ///
  /// The target must not have settled.
  final func start(_ futures: [AnyFuture]) {
    guard !futures.isEmpty else { return settle(target, from: []) }
    guard target.storage.wait(for: .source(self)) else { return }
    let inputs = futures.enumerated().map { JoinInput(self, index: $0.offset, of: $0.element) }
    state.withLock { $0.inputs = inputs }
    WorkLoop.current.perform { _ in
      for (input, future) in zip(inputs, futures) {
        future.attach(.callback(input))
        // The target may have settled, and the join have left all inputs, before this one
        // was attached.
        if target.isSettled {
          future.detach(.callback(input), cancelling: target.isCancelled)
          break
        }
      }
    }
  }

  override final func hasSettled(_ index: Int, _ source: AnyFuture) {
    let verdict = judge(source)
    let (isDecided, all): (Bool, [AnyFuture]?) = state.withLock { state in
      guard !state.isDone, state.settled[index] == nil else { return (false, nil) }
      state.settled[index] = source
      state.remaining -= 1
      if case .takeThis = verdict {
        state.isDone = true
        return (true, nil)
      }
      guard state.remaining == 0 else { return (false, nil) }
      state.isDone = true
      return (false, state.settled.compactMap { $0 })
    }
    if let all {
      release(cancelling: false, cancellingAll: false)
      settle(target, from: all)
    } else if isDecided, case .takeThis(let cancellingOthers) = verdict {
      target.settle(like: source, from: .upstream)
      release(cancelling: false, cancellingAll: cancellingOthers)
    }
  }

  override final var upstreams: [AnyFuture] {
    state.withLock { $0.inputs }.compactMap(\.future)
  }

  override final var upstreamCount: Int { state.withLock { $0.inputs.count } }

  /// The inputs in their order; `nil` for one that was released.
  fileprivate final var inputFutures: [AnyFuture?] {
    let (inputs, settled) = state.withLock { ($0.inputs, $0.settled) }
    return zip(inputs, settled).map { input, settled in settled ?? input.future }
  }

  /// Leaves all inputs, because the target was cancelled or timed out.
  ///
  /// Each input that has no other consumer is asked to cancel.
  override final func withdraw(cancelling: Bool) {
    release(cancelling: cancelling, cancellingAll: false)
  }

  private final func release(cancelling: Bool, cancellingAll: Bool) {
    // The old state is released after unlock.
    let last = state.withLock { state in
      let last = state
      state.isDone = true
      state.settled = []
      state.inputs = []
      return last
    }
    // If no input remains, all have settled.
    guard last.remaining > 0 else { return }
    for input in last.inputs {
      guard let future = input.future else { continue }
      future.detach(.callback(input), cancelling: cancelling)
      if cancellingAll { future.cancel() }
    }
  }
}

/// Waits until every input has settled or, if that is enough, one has failed.
final class AllJoin: Join, @unchecked Sendable {
  // Sendable: nothing changes after init.
  private let isFailingFast: Bool
  private let finish: @Sendable (AnyFuture, [AnyFuture]) -> Void

  init(
    _ target: AnyFuture, count: Int, failingFast: Bool = false,
    _ finish: @escaping @Sendable (AnyFuture, [AnyFuture]) -> Void
  ) {
    isFailingFast = failingFast
    self.finish = finish
    super.init(target, count: count)
  }

  // Without `isFailingFast` the target settles when all inputs have settled.
  override var needsAll: Bool { !isFailingFast }

  override func judge(_ input: AnyFuture) -> Verdict {
    isFailingFast && input.outcome != .success ? .takeThis(cancellingOthers: true) : .goOn
  }

  override func settle(_ target: AnyFuture, from settled: [AnyFuture]) { finish(target, settled) }

  override var progressParts: ProgressParts? { ProgressParts(meanOf: inputFutures) }
}

/// Waits for the first input that succeeds, or that settles at all.
final class FirstJoin: Join, @unchecked Sendable {
  // Sendable: nothing changes after init.
  private let isSuccessNeeded: Bool
  private let isCancellingLosers: Bool
  private let isAlternative: Bool

  init(
    _ target: AnyFuture, count: Int, needsSuccess: Bool, cancellingLosers: Bool,
    isAlternative: Bool
  ) {
    isSuccessNeeded = needsSuccess
    self.isAlternative = isAlternative
    isCancellingLosers = cancellingLosers
    super.init(target, count: count)
  }

  override var needsAll: Bool { false }

  override func judge(_ input: AnyFuture) -> Verdict {
    isSuccessNeeded && input.outcome != .success
      ? .goOn : .takeThis(cancellingOthers: isCancellingLosers)
  }

  override var progressParts: ProgressParts? {
    ProgressParts(furthest: 1, of: inputFutures.compactMap { $0 }, mark: self)
  }

  override func settle(_ target: AnyFuture, from settled: [AnyFuture]) {
    let error: any Error =
      if settled.isEmpty {
        ProperationsError.noFutures
      } else {
        JoinedErrors(settled.map(\.errorToJoin), isRow: isAlternative)
      }
    target.settle(failure: error, from: .upstream)
  }
}
