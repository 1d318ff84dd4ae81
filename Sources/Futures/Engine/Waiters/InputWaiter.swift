/// Waits for a future, or for the one that it stood for when it was released.
///
/// The edge leads to no future if a subclass waits for an operation of another kind.
class InputWaiter: CallbackWaiter, @unchecked Sendable {
  // Sendable: `edge` has a lock.
  private let edge: Lock<Upstream>

  init(of future: AnyFuture) { edge = Lock(future.edge) }

  init(edge: Upstream) { self.edge = Lock(edge) }

  /// The future waited for, if it still exists.
  final var future: AnyFuture? { edge.withLock { $0 }.future }

  override final func retarget(_ source: AnyFuture) { edge.replace(with: source.edge) }

  override final var upstreams: [AnyFuture] { future.map { [$0] } ?? [] }
}
