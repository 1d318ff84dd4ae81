/// A holder of a slot that goes on only when a future has settled: a thread that blocks, or
/// an async closure that awaits.
///
/// If closures of futures run in the holder, these futures wait meanwhile for the same
/// future. That edge is in the graph too.
class BlockedHolder: CallbackWaiter, @unchecked Sendable {
  // Sendable: `edge` and `edgesBefore` have locks, the rest never changes.

  /// The futures whose closures run in the holder.
  let running: [AnyFuture]
  private let edge = Lock<Upstream>(.none)
  /// The edges that the running futures had before, if this waiter has replaced them.
  private let edgesBefore = Lock<[Upstream?]>([])

  init(running: [AnyFuture]) { self.running = running }

  final var runningIDs: Set<ObjectIdentifier> { Set(running.map(ObjectIdentifier.init)) }

  final func willBlock(on future: AnyFuture) {
    edge.replace(with: future.edge)
    let edges = running.map { $0.isRunningItsClosure ? nil : $0.edgeOfBlockingClosure }
    // Stored first, because code that finds this holder as an edge has to find the old
    // edge.
    edgesBefore.replace(with: edges)
    for (one, edge) in zip(running, edges) {
      if one.isRunningItsClosure {
        one.storage.block(on: .source(self))
      } else if edge != nil {
        _ = one.storage.wait(for: .source(self))
      }
    }
  }

  /// The edge that a running future had before this holder replaced it.
  final func edgeBefore(of future: AnyFuture) -> Upstream {
    let edges = edgesBefore.withLock { $0 }
    return zip(running, edges).first { $0.0 === future }?.1 ?? .none
  }

  final func hasBlocked() {
    for (one, edge) in zip(running, edgesBefore.withLock { $0 }) {
      if one.isRunningItsClosure { one.storage.block(on: .none) }
      if let edge { one.closureHasBlocked(self, edge) }
    }
    edge.replace(with: .none)
  }

  override var upstreams: [AnyFuture] { edge.withLock { $0 }.futures }
  override var downstreams: [AnyFuture] { running }
}

extension AnyFuture {
  /// Whether the closure that runs is that of the future's machine, which then knows that
  /// it runs.
  ///
  /// Another object does the work of a typed task, and of a promise that holds a slot.
  fileprivate final var isRunningItsClosure: Bool {
    behaviour == nil && !traits.contains(.occupiesQueue)
  }

  /// The edge that a holder replaces in a future whose work another object does; `nil` if
  /// the edge stays.
  ///
  /// Such a future waits for no other future while it executes, and its phase does not
  /// show that.
  fileprivate final var edgeOfBlockingClosure: Upstream? {
    let edge = storage.upstream
    return edge.futures.allSatisfy(\.isSettled) ? edge : nil
  }

  fileprivate final func closureHasBlocked(_ holder: BlockedHolder, _ edge: Upstream) {
    if case .source(let source) = storage.upstream, source === holder {
      _ = storage.wait(for: edge)
    }
  }
}
