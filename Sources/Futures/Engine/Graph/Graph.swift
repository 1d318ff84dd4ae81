import Foundation

// The graph of futures that wait for each other.
//
// An edge leads from a future to each future that it waits for. It is stored on both
// ends: upstream in the future that waits, downstream as an entry in the other one's list
// of waiters. An edge can close a cycle only where an existing future, which may have
// waiters, begins to wait for another one: `addDependency`, `fulfill(from:)`, the future
// that a closure returns, and waiters that move on when the future that they waited for
// is released.
//
// The rule is: insert the edge on both ends, then search. Of several threads that close a
// cycle together, the last to insert its edge sees all the others.
//
// A waiter that moves on keeps its path, and closes no new cycle. For a moment, however,
// a search cannot see the path. A search that arrives there in that moment leaves a note.
// Only after such a note does the library search again from the moved waiter.

package enum Graph {
  /// Whether a future that has just begun to wait for another one waits for itself.
  ///
  /// Searches from both ends at once, and stops when either is exhausted. So a new
  /// future, or a long chain at one end only, costs almost nothing.
  ///
  /// - Complexity: O(the smaller of the number of futures downstream of `future` and the
  ///   number upstream of `other`).
  package static func closesCycle(_ future: AnyFuture, waitingFor other: AnyFuture) -> Bool {
    if future === other { return true }
    // In most cases the other future is new. A search would give the same answer, but
    // first it would look for a path from downstream.
    if other.waitsForNothing { return false }
    var (below, above) = (Search(from: future), Search(from: other))
    return search(&below, &above, for: future) { $0.hasReached(other) }
  }

  /// Whether a future that has just begun to wait for others waits for itself.
  ///
  /// - Complexity: As for one future, counting all futures that it waits for.
  package static func closesCycle(_ future: AnyFuture) -> Bool {
    // In most cases no future waits for a new one.
    if !future.storage.hasWaiters, future.behaviour?.awaiting(future, limit: 1).isEmpty != false {
      return false
    }
    var (below, above) = (Search(from: future), Search(from: future))
    guard above.expandUpstream() else { return false }
    if above.hasReached(future) { return true }
    let upstreams = Set(above.reached.map(ObjectIdentifier.init))
    if upstreams.isEmpty { return false }
    return search(&below, &above, for: future) { $0.hasReached(oneOf: upstreams) }
  }

  /// Whether no future waits for a future, except perhaps one.
  package static func isAwaited(_ future: AnyFuture, onlyBy other: AnyFuture) -> Bool {
    let downstreams = future.storage.downstreams(limit: 4)
    return !downstreams.isTruncated && downstreams.futures.allSatisfy { $0 === other }
      && future.behaviour?.awaiting(future, limit: 1).isEmpty != false
  }

  /// Searches from both ends by turns.
  ///
  /// Returns whether the search from upstream reaches the future, or the search from
  /// downstream reaches an end of the other search.
  private static func search(
    _ below: inout Search, _ above: inout Search, for future: AnyFuture,
    orFromBelow hasReachedEnd: (Search) -> Bool
  ) -> Bool {
    while true {
      // Downstream first, because a list of waiters can be read in part.
      let isBelowNext = below.cost < 32 || below.cost <= above.cost + above.costOfNextUpstream
      if isBelowNext {
        guard below.expandDownstream() else { return false }
        if hasReachedEnd(below) { return true }
      } else {
        guard above.expandUpstream() else { return false }
        if above.hasReached(future) { return true }
      }
    }
  }

  /// The futures on the path from a future up to itself, with the future at both ends.
  ///
  /// The future alone if there is no such path.
  package static func cycle(through future: AnyFuture) -> [AnyFuture] {
    var previous: [ObjectIdentifier: AnyFuture] = [:]
    var stack = [future]
    while let current = stack.popLast() {
      for next in current.futuresWaitedFor where !next.isSettled {
        if next === future {
          var path = [future, current]
          while let last = path.last, last !== future,
            let before = previous[ObjectIdentifier(last)]
          {
            path.append(before)
          }
          return path.reversed()
        }
        guard previous[ObjectIdentifier(next)] == nil else { continue }
        previous[ObjectIdentifier(next)] = current
        stack.append(next)
      }
    }
    return [future]
  }

  /// Whether a future is one of the targets, or waits for one of them.
  ///
  /// - Complexity: O(the number of futures upstream of the future).
  static func needs(
    _ future: AnyFuture, oneOf targets: Set<ObjectIdentifier>, toFinish: Bool = false
  ) -> Bool {
    needs(future, oneOf: targets, toFinish: toFinish, limit: .max) == true
  }

  /// The same, unless the search has to read more futures than the limit; `nil` then.
  static func needs(
    _ future: AnyFuture, oneOf targets: Set<ObjectIdentifier>, toFinish: Bool = false, limit: Int
  ) -> Bool? {
    if targets.isEmpty || (toFinish ? future.isFinished : future.isSettled) { return false }
    // A future that was cancelled in its closure finishes when the closure returns.
    if targets.contains(ObjectIdentifier(future)) { return true }
    if future.isSettled { return false }
    var search = Search(from: future)
    while true {
      if search.costOfNextUpstream > limit - search.cost { return nil }
      guard search.expandUpstream() else { return false }
      if search.hasReached(oneOf: targets) { return true }
    }
  }

  /// A future and the futures that wait for it; `nil` if there are many.
  ///
  /// - Complexity: O(1).
  static func downstreams(of future: AnyFuture) -> [AnyFuture]? {
    var (search, all) = (Search(from: future), [future])
    while search.cost < 256 {
      guard search.expandDownstream() else { return all }
      all += search.reached
    }
    return nil
  }

  /// A search in one direction.
  private struct Search {
    private var stack: [(future: AnyFuture, limit: Int)]
    private var seen: Set<ObjectIdentifier>
    private(set) var reached: [AnyFuture] = []
    private(set) var cost = 0

    init(from future: AnyFuture) {
      stack = [(future, 32)]
      seen = [ObjectIdentifier(future)]
    }

    func hasReached(_ future: AnyFuture) -> Bool { reached.contains { $0 === future } }

    func hasReached(oneOf targets: Set<ObjectIdentifier>) -> Bool {
      reached.contains { targets.contains(ObjectIdentifier($0)) }
    }

    /// The cost of the next future upstream.
    var costOfNextUpstream: Int { stack.last?.future.countOfFuturesWaitedFor ?? 0 }

    /// Visits one more future.
    ///
    /// Returns `false` if there is none.
    mutating func expandUpstream() -> Bool {
      guard let (future, limit) = stack.popLast() else { return false }
      push(future.futuresWaitedFor, limit)
      reached += future.unfinishedDependencies
      return true
    }

    /// Visits one more future, or more of its waiters.
    ///
    /// Returns `false` if there is none.
    mutating func expandDownstream() -> Bool {
      guard let (future, limit) = stack.popLast() else { return false }
      let downstreams = future.storage.downstreams(limit: limit)
      let others = future.behaviour?.awaiting(future, limit: limit) ?? []
      // Each try reads twice as many waiters as the one before, so all tries together
      // cost twice the last one.
      if downstreams.isTruncated || others.count == limit { stack.append((future, limit * 2)) }
      cost += downstreams.count
      push(downstreams.futures + others, 32)
      return true
    }

    private mutating func push(_ futures: [AnyFuture], _ limit: Int) {
      cost += 1 + futures.count
      reached = []
      for future in futures where !future.isSettled {
        reached.append(future)
        if seen.insert(ObjectIdentifier(future)).inserted { stack.append((future, limit)) }
      }
    }
  }
}

extension AnyFuture {
  /// The futures upstream, and those that this one depends on.
  package final var futuresWaitedFor: [AnyFuture] {
    var all = storage.upstream.futures
    // If a reference found its future released, it has noted the search. Its waiter has
    // moved on to another future, or is searched from when it arrives there.
    if all.count < countOfFuturesUpstream { all = storage.upstream.futures }
    if let behaviour {
      guard let others = behaviour.awaited(by: self) else { return [] }
      all += others
    }
    return all + pendingDependencies
  }

  private final var countOfFuturesUpstream: Int {
    if case .source(let source) = storage.upstream { source.upstreamCount } else { 1 }
  }

  /// The number of futures upstream and of dependencies, without those of a behaviour.
  fileprivate final var countOfFuturesWaitedFor: Int {
    guard hasDependencies else { return countOfFuturesUpstream }
    return countOfFuturesUpstream + (storage.withDependencies { $0.pendingCount } ?? 0)
  }

  /// The futures that have to finish before this one continues.
  private final var pendingDependencies: [AnyFuture] {
    let edges = hasDependencies ? storage.withDependencies { $0.pendingEdges } : nil
    return edges?.flatMap(\.upstreams) ?? []
  }

  /// Whether this future waits for no pending future, as far as a short look tells.
  fileprivate final var waitsForNothing: Bool {
    !hasDependencies && behaviour == nil && countOfFuturesUpstream < 32
      && futuresWaitedFor.allSatisfy(\.isSettled)
  }

  /// Whether the future stands in a queue, or an operation may wait for its finish.
  final var mayHoldUpOperation: Bool {
    uses.load(ordering: .acquiring) & Self.hasFinishWaiters != 0 || behaviour != nil
      || traits.contains(.occupiesQueue) || storage.flags.contains(.queued)
  }

  /// The dependencies that have settled but not finished.
  final var unfinishedDependencies: [AnyFuture] {
    pendingDependencies.filter { $0.isSettled && !$0.isFinished }
  }

  /// Cancels a future that has no consumer.
  final func cancelIfUnwanted() {
    if !storage.isWanted { cancel() }
  }
}
