/// Waits for several futures on behalf of one; more may be added while it waits.
///
/// An index identifies an input, because one future may be several inputs. The join does
/// not own inputs that are promises. Each subclass decides what a settled input means.
///
///   open ── end, withdraw (the target has settled already) ──▶ over
///
/// When the join is over, it has released its inputs, and they have released the join.
class Join: CallbackWaiter, ProgressMark, @unchecked Sendable {
  // Sendable: `target` never changes, `highestProgress` is an atomic, the rest is in `state`,
  // under its lock; each subclass argues for its own state.
  private enum Input {
    case pending(JoinInput)
    case settled(AnyFuture)
    /// The join does not wait for the input: it has left the input, or has not had it yet.
    case none

    /// The future, if it still exists.
    var future: AnyFuture? {
      switch self {
      case .pending(let input): input.future
      case .settled(let future): future
      case .none: nil
      }
    }
  }

  private struct State {
    /// The inputs by index.
    var inputs: [Input] = []
    var pendingCount = 0
    /// How the join leaves its inputs when it is over; `nil` before.
    var ending: Ending?

    mutating func add(_ added: [JoinInput]) {
      guard ending == nil, let last = added.last else { return }
      while inputs.count <= last.index { inputs.append(.none) }
      for input in added { inputs[input.index] = .pending(input) }
      pendingCount += added.count
    }

    /// Replaces a pending input; returns the old one, to be released after unlock.
    mutating func exchange(_ index: Int, for new: Input) -> JoinInput? {
      guard inputs.indices.contains(index), case .pending(let input) = inputs[index] else {
        return nil
      }
      inputs[index] = new
      pendingCount -= 1
      return input
    }
  }

  /// What happens to the pending inputs when the join is over.
  enum Ending {
    /// The inputs continue.
    case leaving
    /// Inputs without another consumer are cancelled.
    case asking
    /// All inputs are cancelled.
    case cancelling
  }

  /// The future that the join settles.
  final let target: AnyFuture

  private let state = Lock(State())

  /// The progress of a race; other joins do not use it.
  private let highestProgress = HighestProgress()

  init(_ target: AnyFuture) { self.target = target }

  package final func raiseProgress(to progress: Double) -> Double {
    highestProgress.raise(to: progress)
  }

  // MARK: For subclasses

  /// Called when an input has settled.
  ///
  /// Subclasses override it. Called with no lock held, on the thread that settled the
  /// input.
  ///
  /// - Parameter isLast: Whether no other input was pending then.
  func inputHasSettled(_ index: Int, _ source: AnyFuture, isLast: Bool) {}

  /// Waits for several futures, whose indices are their positions.
  ///
  /// Called once, before other code knows the target. No user code runs before all inputs
  /// have been attached.
  ///
  /// - Parameter hasBegun: Called when the inputs have been attached. Those that other threads
  ///   have settled meanwhile may have told this join already.
  final func start(_ futures: [AnyFuture], _ hasBegun: () -> Void = {}) {
    guard start() else { return }
    WorkLoop.current.perform { _ in
      let inputs = futures.enumerated().map {
        JoinInput(self, index: $0.offset, of: $0.element)
      }
      add(inputs, futures)
      hasBegun()
    }
  }

  /// Makes the target wait for this join; `false` if the target has settled.
  final func start() -> Bool { target.storage.wait(for: .source(self)) }

  /// Waits for one more future.
  ///
  /// Called with no lock held. If the join is over, it leaves the future as it left the
  /// others.
  final func add(_ future: AnyFuture, at index: Int) {
    add([JoinInput(self, index: index, of: future)], [future])
    if !target.isSettled, Graph.closesCycle(target, waitingFor: future) {
      target.settle(
        failure: ProperationsError.cycle(createdAt: target.createdAt), from: .upstream)
      end(.asking)
    }
  }

  /// - Parameter inputs: The inputs for the futures; the last has the greatest index.
  private final func add(_ inputs: [JoinInput], _ futures: [AnyFuture]) {
    var ending = state.withLock { state in
      state.add(inputs)
      return state.ending
    }
    for (input, future) in zip(inputs, futures) {
      if ending == nil {
        future.attach(.callback(input))
        // If the join has ended meanwhile, it may have left the input before the input was
        // attached.
        ending = state.withLock { $0.ending }
      } else if case .asking = ending {
        future.cancelIfUnwanted()
      }
      if let ending { leave(future, input, ending) }
    }
  }

  /// Leaves all inputs; only the first call has an effect.
  ///
  /// - Returns: In the first call, the inputs by index, settled or not; `nil` for one that
  ///   was released. Empty in later calls.
  @discardableResult
  final func end(_ ending: Ending) -> [AnyFuture?] {
    let inputs = state.withLock { state in
      if state.ending == nil { state.ending = ending }
      defer { (state.inputs, state.pendingCount) = ([], 0) }
      return state.inputs
    }
    let futures = inputs.map(\.future)
    for (input, future) in zip(inputs, futures) {
      if case .pending(let input) = input, let future { leave(future, input, ending) }
    }
    // The values of those that have settled are users' objects.
    if !inputs.isEmpty { WorkLoop.current.discard(inputs) }
    return futures
  }

  private final func leave(_ future: AnyFuture, _ input: JoinInput, _ ending: Ending) {
    switch ending {
    case .leaving:
      future.detach(.callback(input), cancelling: false)
    case .asking:
      future.detach(.callback(input), cancelling: true)
    case .cancelling:
      future.detach(.callback(input), cancelling: false)
      future.cancel()
    }
  }

  /// Leaves one input, and cancels it if it has no other consumer.
  final func remove(at index: Int) {
    let input = state.withLock { $0.exchange(index, for: .none) }
    if let input, let future = input.future { leave(future, input, .asking) }
  }

  /// The inputs by index, settled or not; `nil` for one that was released.
  final var inputs: [AnyFuture?] { state.withLock { $0.inputs }.map(\.future) }

  // MARK: As a waiter

  fileprivate final func hasSettled(_ index: Int, _ source: AnyFuture) {
    let (input, isLast) = state.withLock { state in
      (state.exchange(index, for: .settled(source)), state.pendingCount == 0)
    }
    if input != nil { inputHasSettled(index, source, isLast: isLast) }
  }

  override final var upstreams: [AnyFuture] {
    state.withLock { $0.inputs }.compactMap { input in
      if case .pending(let input) = input { input.future } else { nil }
    }
  }

  override final var upstreamCount: Int { state.withLock { $0.pendingCount } }

  override var needsAll: Bool { false }

  /// Leaves all inputs, because the target was cancelled or timed out.
  override func withdraw(cancelling: Bool) { end(cancelling ? .asking : .leaving) }
}

/// One input of a join.
final class JoinInput: InputWaiter, @unchecked Sendable {
  // Sendable: nothing changes after init.
  private let join: Join
  /// The number by which the join knows the input.
  let index: Int

  init(_ join: Join, index: Int, of future: AnyFuture) {
    self.join = join
    self.index = index
    super.init(of: future)
  }

  override var isDone: Bool { join.target.isSettled }
  override var downstreams: [AnyFuture] { [join.target] }

  override func deliver(_ source: AnyFuture) { join.hasSettled(index, source) }
}
