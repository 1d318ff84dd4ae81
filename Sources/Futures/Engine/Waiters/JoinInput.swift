/// Waits for several futures on behalf of one: a `Join` has all its inputs from the
/// beginning, an `OpenJoin` gets inputs while it waits.
class AnyJoin: CallbackWaiter, ProgressMark, @unchecked Sendable {
  // Sendable: `target` never changes, `highestProgress` is an atomic; each subclass argues for
  // its own state.

  /// The future that the join settles.
  final let target: AnyFuture

  /// The progress of a race; other joins do not use it.
  private let highestProgress = HighestProgress()

  init(_ target: AnyFuture) { self.target = target }

  package final func raiseProgress(to progress: Double) -> Double {
    highestProgress.raise(to: progress)
  }

  /// Called when an input has settled, on the thread that settled the input.
  func hasSettled(_ index: Int, _ source: AnyFuture) {}
}

/// One input of a join.
final class JoinInput: InputWaiter, @unchecked Sendable {
  // Sendable: nothing changes after init.
  private let join: AnyJoin
  /// The number by which the join knows the input.
  let index: Int

  init(_ join: AnyJoin, index: Int, of future: AnyFuture) {
    self.join = join
    self.index = index
    super.init(of: future)
  }

  override var isDone: Bool { join.target.isSettled }
  override var downstreams: [AnyFuture] { [join.target] }

  override func deliver(_ source: AnyFuture) { join.hasSettled(index, source) }
}
