import Synchronization

/// The time of the story: as fast as one likes, or as fast as it goes.
///
/// It only goes on when it is told to. All that is due happens in order, on the
/// thread that tells it to, so that a story with the same beginning always has
/// the same end.
final class Timeline: Sendable {
  private struct Entry {
    let time: Duration
    let id: Int
    let action: @Sendable () -> Void
  }

  private struct State {
    var now = Duration.zero
    var lastID = 0
    var agenda: [Entry] = []

    mutating func takeFirst(until limit: Duration?) -> Entry? {
      guard
        let i = agenda.indices.min(by: {
          (agenda[$0].time, agenda[$0].id) < (agenda[$1].time, agenda[$1].id)
        }), limit.map({ agenda[i].time <= $0 }) ?? true
      else { return nil }
      now = max(now, agenda[i].time)
      return agenda.remove(at: i)
    }
  }

  private let state = Mutex(State())

  /// How long the story has lasted.
  var now: Duration { state.withLock { $0.now } }

  /// When the next thing is due; `nil` if nothing is.
  var next: Duration? { state.withLock { $0.agenda.map(\.time).min() } }

  /// Has something done later.
  ///
  /// - Returns: A number by which it can be removed.
  @discardableResult
  func after(_ delay: Duration, do action: @escaping @Sendable () -> Void) -> Int {
    state.withLock { state in
      state.lastID += 1
      state.agenda.append(Entry(time: state.now + delay, id: state.lastID, action: action))
      return state.lastID
    }
  }

  /// Removes what is no longer wanted.
  func remove(_ id: Int) {
    let removed = state.withLock { state in
      state.agenda.firstIndex { $0.id == id }.map { state.agenda.remove(at: $0) }
    }
    // Released here, not under the lock.
    withExtendedLifetime(removed) {}
  }

  /// Goes on to a time; all that is due until then happens.
  func advance(to time: Duration) {
    while let entry = state.withLock({ $0.takeFirst(until: time) }) { entry.action() }
    state.withLock { $0.now = max($0.now, time) }
  }

  /// Goes on to the next thing that is due; `false` if there is none.
  func jump() -> Bool {
    guard let entry = state.withLock({ $0.takeFirst(until: nil) }) else { return false }
    entry.action()
    return true
  }
}
