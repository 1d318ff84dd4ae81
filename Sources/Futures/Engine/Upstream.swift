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

  private let wasMissed = Atomic<Bool>(false)

  package init(_ future: AnyFuture) { self.future = future }

  /// The future, for a search for cycles.
  ///
  /// The search finds no way through a future that is being released while its waiters
  /// move on to the future that it stands for. It leaves a note then.
  var futureInGraph: AnyFuture? {
    if let future { return future }
    wasMissed.store(true, ordering: .sequentiallyConsistent)
    return nil
  }

  /// Whether a search may have missed an edge that a waiter has moved to meanwhile.
  var hidesEdges: Bool { wasMissed.load(ordering: .sequentiallyConsistent) }
}

extension Upstream {
  /// The one future waited for, if it is one and still exists.
  var future: AnyFuture? {
    switch self {
    case .future(let future): future
    case .reference(let reference): reference.futureInGraph
    case .none, .source: nil
    }
  }

  /// The futures waited for, as far as they still exist.
  var futures: [AnyFuture] {
    if case .source(let source) = self { return source.upstreams }
    return future.map { [$0] } ?? []
  }
}
