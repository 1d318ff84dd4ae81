import Synchronization

/// Counts how many are somewhere at a time.
final class Gauge: Sendable {
  private let state = Mutex((now: 0, highest: 0, all: 0))

  var highest: Int { state.withLock { $0.highest } }
  /// How many have entered so far.
  var all: Int { state.withLock { $0.all } }

  @discardableResult
  func enter() -> Int {
    state.withLock { state in
      state.now += 1
      state.all += 1
      state.highest = max(state.highest, state.now)
      return state.all
    }
  }

  func leave() { state.withLock { $0.now -= 1 } }
}
