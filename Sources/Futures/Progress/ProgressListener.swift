/// Learns that the progress of a future may have changed, and reads it when asked.
///
/// A report only wakes the listener. The walk to the roots happens when the value is taken, so
/// a listener that is slower than the reports skips some of them, and costs nothing for those.
/// Each reading moves the watches to the futures at which the progress can change next.
class ProgressListener: @unchecked Sendable {
  // Sendable: `state` has a lock.
  private struct State {
    var target: Upstream
    var outcome: Outcome?
    var watches: [ObjectIdentifier: ProgressWatch] = [:]
    var isOver = false
    /// The number of futures that the last reading has visited.
    var cost = 0
  }

  /// What a reading finds.
  enum Reading {
    case pending(FutureProgress)
    case succeeded
    /// The future has failed or was cancelled, or the listener was stopped.
    case over
  }

  private let state: Lock<State>

  init(target: Upstream) { state = Lock(State(target: target)) }

  deinit { stop() }

  /// Called when the progress may have changed, with no lock held.
  ///
  /// It must not call user code.
  func wake() {}

  /// Called within a reading that has left something to another one, with no lock held.
  func readAgain() { wake() }

  /// Called when a producer has reported, in its call, with no lock held.
  ///
  /// It may call user code.
  func hearReport() { wake() }

  /// The future whose progress is wanted.
  final var target: Upstream {
    get { state.withLock { $0.target } }
    set {
      let last = state.withLock { state in
        defer { state.target = newValue }
        return state.target
      }
      withExtendedLifetime(last) {}
    }
  }

  final func targetHasSettled(_ outcome: Outcome) { state.withLock { $0.outcome = outcome } }

  /// The number of futures that the next reading probably visits; zero after the end.
  final var cost: Int { state.withLock { $0.outcome != nil || $0.isOver ? 0 : $0.cost } }

  /// Reads the progress, and watches for what changes it next.
  final func read() -> Reading {
    var isFirstWalk = true
    while true {
      let (edge, settled, isOver) = state.withLock { ($0.target, $0.outcome, $0.isOver) }
      if isOver { return .over }
      if let settled { return settled == .success ? .succeeded : .over }
      guard let target = edge.existingFuture else {
        // It may have been released after the state was read, and settled its watch first.
        return state.withLock { $0.outcome } == .success ? .succeeded : .over
      }
      let walk = ProgressWalk(from: target)
      let hasNewPoints = watch(walk.points)
      // Here, because the target may be gone when another walk looks for it.
      if target.isSettled { return target.outcome == .success ? .succeeded : .over }
      // What happened at a new point before it was watched is found by another walk. If points
      // change faster than walks find them, that is left to another reading.
      if isFirstWalk, hasNewPoints {
        isFirstWalk = false
        continue
      }
      state.withLock { $0.cost = walk.visits }
      if hasNewPoints { readAgain() }
      return .pending(walk.progress)
    }
  }

  /// Watches these futures and no others; returns whether any of them is new.
  private final func watch(_ points: [AnyFuture]) -> Bool {
    var new: [(ProgressWatch, AnyFuture)] = []
    let old: [ProgressWatch] = {
      let known = state.withLock { $0.watches }
      var watches: [ObjectIdentifier: ProgressWatch] = [:]
      for (index, future) in points.enumerated() where !future.isSettled {
        let id = ObjectIdentifier(future)
        guard watches[id] == nil else { continue }
        // A watch that is done belonged to a future that was released. The target may have
        // been a future upstream before, the watch of which does not tell how it ended.
        if let watch = known[id], !watch.isDone, watch.isTarget == (index == 0) {
          watches[id] = watch
        } else {
          let watch = ProgressWatch(future, for: self, isTarget: index == 0)
          watches[id] = watch
          new.append((watch, future))
        }
      }
      let isOver = state.withLock { state in
        if !state.isOver { state.watches = watches }
        return state.isOver
      }
      if isOver { new = [] }
      return known.filter { watches[$0.key] !== $0.value }.map(\.value)
    }()
    for watch in old { watch.stop() }
    for (watch, future) in new { watch.start(on: future) }
    if state.withLock({ $0.isOver }) { for (watch, _) in new { watch.stop() } }
    return !new.isEmpty
  }

  /// Leaves the futures for good.
  final func stop() {
    let last = state.exchange(for: State(target: .none, isOver: true))
    for watch in last.watches.values { watch.stop() }
  }
}
