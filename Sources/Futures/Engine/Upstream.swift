/// The edge by which a future leaves its source if it settles otherwise.
@usableFromInline
package enum Upstream {
  /// The future has no upstream.
  case none
  /// A derived future. The edge owns it; settling clears the edge.
  case future(AnyFuture)
  /// A promise, or a future that may stand for another one. It is not owned: its
  /// release breaks it, or lets its waiters bypass it.
  case reference(FutureReference)
  /// A join of several, a future that this one stands for, a timer.
  case source(CallbackWaiter)
}

/// A reference to a future that does not keep it.
@usableFromInline
package final class FutureReference: Sendable {
  // Sendable: never written after init, so reading from several threads is sound.
  package nonisolated(unsafe) private(set) weak var future: AnyFuture?

  package init(_ future: AnyFuture) { self.future = future }
}

extension Upstream {
  /// The one future waited for, if it is one and still exists.
  var future: AnyFuture? {
    switch self {
    case .future(let future): future
    case .reference(let reference): reference.future
    case .none, .source: nil
    }
  }

  /// The futures waited for, as far as they still exist.
  var futures: [AnyFuture] {
    if case .source(let source) = self { return source.upstreams }
    return future.map { [$0] } ?? []
  }
}
