/// The wait of a future for something that is no future, such as the end of a queue.
private final class OutsideWait: CallbackWaiter, @unchecked Sendable {
  // Sendable: no stored property changes.
  private let leave: @Sendable () -> Void
  private let explain: @Sendable () -> FutureExplanation.Reason?

  init(
    _ leave: @escaping @Sendable () -> Void,
    _ explain: @escaping @Sendable () -> FutureExplanation.Reason?
  ) {
    self.leave = leave
    self.explain = explain
  }

  override func withdraw(cancelling: Bool) { leave() }
  override var reasonToWait: FutureExplanation.Reason? { explain() }
}

extension AnyFuture {
  /// Makes a future without upstream wait for something that is no future.
  ///
  /// - Parameters:
  ///   - leave: Called once if the future settles in another way, for example because it is
  ///     cancelled.
  ///   - explain: Says what the future waits for. Called with no lock held.
  package final func waitOutside(
    _ leave: @escaping @Sendable () -> Void,
    explain: @escaping @Sendable () -> FutureExplanation.Reason?
  ) {
    if !storage.wait(for: .source(OutsideWait(leave, explain))) { leave() }
  }
}
