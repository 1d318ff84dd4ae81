/// The edge by which a future leaves its source if it settles in another way.
@usableFromInline
package enum Upstream {
  /// The future has no upstream.
  case none
  /// A derived future. The edge owns it. Settling clears the edge.
  case future(AnyFuture)
  /// A promise, or a future that may stand for another one. The edge does not own it. Its
  /// release breaks the promise, or lets its waiters bypass it.
  case reference(FutureReference)
  /// A join of several futures, a future that this one stands for, or a timer.
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
  /// While a future is released, its waiters move on to the future that it stands for. A
  /// search finds no path through it then, and leaves a note.
  var futureInGraph: AnyFuture? {
    if let future { return future }
    wasMissed.store(true, ordering: .sequentiallyConsistent)
    return nil
  }

  /// Whether a search may have missed an edge while its waiter moved.
  var hidesEdges: Bool { wasMissed.load(ordering: .sequentiallyConsistent) }
}

extension Upstream {
  /// The future waited for, if the edge leads to one and it still exists.
  var future: AnyFuture? {
    switch self {
    case .future(let future): future
    case .reference(let reference): reference.futureInGraph
    case .none, .source: nil
    }
  }

  /// The same for readers that look for no cycle, and leave no note.
  var existingFuture: AnyFuture? {
    if case .reference(let reference) = self { return reference.future }
    return future
  }

  /// The futures waited for that still exist.
  var futures: [AnyFuture] {
    if case .source(let source) = self { return source.upstreams }
    return future.map { [$0] } ?? []
  }
}
