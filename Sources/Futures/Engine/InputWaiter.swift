/// Waits for one of several futures that another waiter is interested in.
class InputWaiter: CallbackWaiter, @unchecked Sendable {
  // Sendable: `edge` has a lock.
  private let edge: Lock<Upstream>

  init(of future: AnyFuture) { edge = Lock(future.edge) }

  /// The future waited for, as far as it still exists.
  final var future: AnyFuture? { edge.withLock { $0 }.futures.first }

  override final func retarget(_ source: AnyFuture) { edge.replace(with: source.edge) }
}
