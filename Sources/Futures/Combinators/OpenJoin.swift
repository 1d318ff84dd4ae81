/// Waits for futures on behalf of one target; more inputs may be added while it waits.
///
/// A `Join` has all its inputs from the beginning. Each subclass of `OpenJoin` decides what
/// a settled input means, with a state machine of its own.
///
///   open ── end, withdraw (the target has settled already) ──▶ over
///
/// When the join is over, it has released its inputs, and they have released the join.
class OpenJoin: AnyJoin, @unchecked Sendable {
  // Sendable: everything mutable is in `state`, under its lock.
  private struct State {
    var inputs: [Int: JoinInput] = [:]
    /// How the join leaves its inputs when it is over; `nil` before.
    var ending: Ending?
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

  private let state = Lock(State())

  /// Called when an input has settled and the join has released it.
  ///
  /// Subclasses override it. Called with no lock held, on the thread that settled the
  /// input.
  func inputHasSettled(_ index: Int, _ source: AnyFuture) {}

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

  /// Waits for several futures, whose indices are their positions.
  ///
  /// Called once, with no lock held, before other code knows the target.
  final func add(all futures: [AnyFuture]) { add(inputs(for: futures), futures) }

  /// Makes the inputs for several futures, whose indices are their positions.
  final func inputs(for futures: [AnyFuture]) -> [JoinInput] {
    futures.enumerated().map { JoinInput(self, index: $0.offset, of: $0.element) }
  }

  /// Waits for several futures with their inputs; see ``add(all:)``.
  final func add(_ inputs: [JoinInput], _ futures: [AnyFuture]) {
    var ending = state.withLock { state in
      if state.ending == nil { for input in inputs { state.inputs[input.index] = input } }
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
  final func end(_ ending: Ending) {
    let inputs = state.withLock { state in
      if state.ending == nil { state.ending = ending }
      defer { state.inputs = [:] }
      return state.inputs.values
    }
    for input in inputs {
      if let future = input.future { leave(future, input, ending) }
    }
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
    let input = state.withLock { $0.inputs.removeValue(forKey: index) }
    if let input, let future = input.future { leave(future, input, .asking) }
  }

  override final func hasSettled(_ index: Int, _ source: AnyFuture) {
    // Released after unlocking.
    let input = state.withLock { $0.inputs.removeValue(forKey: index) }
    if input != nil { inputHasSettled(index, source) }
  }

  override final var upstreams: [AnyFuture] { upstreams { _ in true } }

  /// The futures waited for that still exist, of the inputs with certain indices.
  final func upstreams(at isIncluded: (Int) -> Bool) -> [AnyFuture] {
    state.withLock { $0.inputs.values.filter { isIncluded($0.index) } }.compactMap(\.future)
  }
  override final var upstreamCount: Int { state.withLock { $0.inputs.count } }
  override final var needsAll: Bool { false }

  override func withdraw(cancelling: Bool) { end(cancelling ? .asking : .leaving) }
}
