/// Holds a slot and waits until a future has settled: a blocked thread, or an async closure
/// that awaits.
///
/// If the holder runs closures of futures, these futures wait for the same future
/// meanwhile. The graph contains those edges too.
class BlockedHolder: CallbackWaiter, @unchecked Sendable {
  // Sendable: `edge` and `edgesBefore` have locks, the rest never changes.

  /// The futures whose closures run in the holder.
  let running: [AnyFuture]
  private let edge = Lock<Upstream>(.none)
  /// The edges that this holder has replaced in the running futures; `nil` for a future
  /// whose edge it left alone.
  private let edgesBefore = Lock<[Upstream?]>([])

  init(running: [AnyFuture]) { self.running = running }

  final func willBlock(on future: AnyFuture) {
    edge.replace(with: future.edge)
    let edges = running.map { $0.isRunningItsClosure ? nil : $0.edgeOfBlockingClosure }
    // Stored first: code that finds this holder as an edge must find the old edge too.
    edgesBefore.replace(with: edges)
    for (one, edge) in zip(running, edges) {
      if one.isRunningItsClosure {
        one.storage.block(on: .source(self))
      } else if edge != nil {
        _ = one.storage.wait(for: .source(self))
      }
    }
  }

  /// Whether a future on which the holder blocks cannot settle before a closure that runs in
  /// the holder has returned.
  ///
  /// The answer may change from no to yes while the holder blocks, because the other input of a
  /// race may fail; but only if `mayNeedItself` says yes.
  ///
  /// - Parameter toFinish: Whether the holder waits until the future has finished.
  final func needsItself(for future: AnyFuture, toFinish: Bool = false) -> Bool {
    mayNeedItself(for: future, toFinish: toFinish)
      && BlockedQueues(of: self, in: nil).isWithoutWayOut(to: future, toFinish: toFinish)
  }

  /// Whether a path in the graph leads from a future on which the holder blocks to a closure
  /// that runs in the holder.
  ///
  /// The path says nothing of timers and races, so there may be another way to settle. New edges
  /// close no such path: code that inserts an edge looks for a cycle itself.
  final func mayNeedItself(for future: AnyFuture, toFinish: Bool = false) -> Bool {
    let ids = Set(running.map(ObjectIdentifier.init))
    let limit = toFinish ? Int.max : 1_000
    if let answer = Graph.needs(future, oneOf: ids, toFinish: toFinish, limit: limit) {
      return answer
    }
    // The future waits for very many others, as a collection of thousands does. So the search
    // goes from both ends. What it finds is looked at from above: some waiters no longer wait,
    // or wait for one of several futures.
    return running.contains { Graph.closesCycle($0, waitingFor: future) }
      && Graph.needs(future, oneOf: ids)
  }

  /// The edge that a running future had before this holder replaced it.
  final func edgeBefore(of future: AnyFuture) -> Upstream {
    let edges = edgesBefore.withLock { $0 }
    return zip(running, edges).first { $0.0 === future }?.1 ?? .none
  }

  final func hasBlocked() {
    for (one, edge) in zip(running, edgesBefore.withLock { $0 }) {
      // The closure may have begun its next wait already.
      if one.isRunningItsClosure, one.isBlocked(by: self) { one.storage.block(on: .none) }
      if let edge { one.closureHasBlocked(self, edge) }
    }
    edge.replace(with: .none)
  }

  override var upstreams: [AnyFuture] { edge.withLock { $0 }.futures }
  override var downstreams: [AnyFuture] { running }
}

extension AnyFuture {
  /// Whether the future's own machine runs the closure and knows that it runs.
  ///
  /// For a typed task and for a blocking promise, another object does the work.
  fileprivate final var isRunningItsClosure: Bool {
    behaviour == nil && (!traits.contains(.occupiesQueue) || traits.contains(.isKeptByWork))
  }

  /// The edge that a holder replaces in a future whose work another object does; `nil` if
  /// the edge stays.
  ///
  /// Such a future waits for no other future while it executes, but its phase does not show
  /// this.
  fileprivate final var edgeOfBlockingClosure: Upstream? {
    // Several closures of the future may wait at the same time, such as async conditions of
    // a task. They end in any order, so each puts back what was there before all of them.
    let edge = edgeBeforeBlocking
    return edge.futures.allSatisfy(\.isSettled) ? edge : nil
  }

  /// The edge that the future has apart from closures that wait.
  final var edgeBeforeBlocking: Upstream {
    guard case .source(let source) = storage.upstream, let holder = source as? BlockedHolder
    else { return storage.upstream }
    return holder.edgeBefore(of: self)
  }

  fileprivate final func closureHasBlocked(_ holder: BlockedHolder, _ edge: Upstream) {
    if isBlocked(by: holder) { _ = storage.wait(for: edge) }
  }

  fileprivate final func isBlocked(by holder: BlockedHolder) -> Bool {
    if case .source(let source) = storage.upstream { source === holder } else { false }
  }
}
