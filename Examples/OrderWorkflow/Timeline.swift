import Synchronization

/// The time of the story.
///
/// It can run in real time, faster, or jump from event to event.
///
/// Time advances only when the program says so. All events run in order, on the thread
/// that advances the time. So a story with the same beginning always has the same end.
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

  /// The time since the story began.
  var now: Duration { state.withLock { $0.now } }

  /// The time of the next event; `nil` if there is none.
  var next: Duration? { state.withLock { $0.agenda.map(\.time).min() } }

  /// Adds an event.
  ///
  /// - Returns: A number to remove the event with.
  @discardableResult
  func after(_ delay: Duration, do action: @escaping @Sendable () -> Void) -> Int {
    state.withLock { state in
      state.lastID += 1
      state.agenda.append(Entry(time: state.now + delay, id: state.lastID, action: action))
      return state.lastID
    }
  }

  /// Removes an event.
  func remove(_ id: Int) {
    let removed = state.withLock { state in
      state.agenda.firstIndex { $0.id == id }.map { state.agenda.remove(at: $0) }
    }
    // The closure is released here, not with the lock held.
    withExtendedLifetime(removed) {}
  }

  /// Advances to a time, and runs all events that are due until then.
  func advance(to time: Duration) {
    while let entry = state.withLock({ $0.takeFirst(until: time) }) { entry.action() }
    state.withLock { $0.now = max($0.now, time) }
  }

  /// Advances to the next event and runs it; returns `false` if there is none.
  func jump() -> Bool {
    guard let entry = state.withLock({ $0.takeFirst(until: nil) }) else { return false }
    entry.action()
    return true
  }
}
