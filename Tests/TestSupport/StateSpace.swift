/// Every state that a pure machine can come to, and every event in each.
///
/// What has happened before matters to a machine only as far as it is in its
/// state. So where all events have been tried in all states that can be reached,
/// every sequence of events has been tried, however long.
package enum StateSpace {
  /// What a walk through all states has found.
  package struct Survey: Sendable {
    /// How many states there are, the first one included.
    package let states: Int
    /// How many events were tried.
    package let events: Int
    /// What went wrong, and the shortest sequence of events that leads to it.
    package let fault: String?
  }

  /// Tries every event in every state, those with the shortest way first, until
  /// something goes wrong.
  ///
  /// - Parameters:
  ///   - start: The first state.
  ///   - events: What can happen.
  ///   - limit: More states than this are a fault: the walk would not end.
  ///   - key: All that may make a difference to a state.
  ///   - apply: Lets an event happen; returns what was wrong with what it did.
  /// - Returns: How much there was, and the first fault.
  package static func explore<State, Event, Key: Hashable>(
    from start: State, events: [Event], limit: Int = 100_000, key: (State) -> Key,
    apply: (inout State, Event) -> String?
  ) -> Survey {
    var states = [start]
    var origins: [(parent: Int, event: Event)?] = [nil]
    var known: Set<Key> = [key(start)]
    var tried = 0
    var next = 0
    func way(to place: Int, _ last: Event) -> [Event] {
      var way = [last]
      var place = place
      while let (parent, event) = origins[place] {
        way.append(event)
        place = parent
      }
      return way.reversed()
    }
    while next < states.count {
      for event in events {
        var state = states[next]
        tried += 1
        if let fault = apply(&state, event) {
          return Survey(
            states: states.count, events: tried, fault: "\(fault), after \(way(to: next, event))")
        }
        if known.insert(key(state)).inserted {
          if states.count == limit {
            return Survey(states: limit, events: tried, fault: "more than \(limit) states")
          }
          states.append(state)
          origins.append((next, event))
        }
      }
      next += 1
    }
    return Survey(states: states.count, events: tried, fault: nil)
  }
}
