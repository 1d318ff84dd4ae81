/// Tries every event in every state that a pure machine can reach.
///
/// Earlier events matter to a machine only as far as they are in its state. So if all
/// events have been tried in all reachable states, every sequence of events has been
/// tried, of any length.
package enum StateSpace {
  /// The result of a walk through all states.
  package struct Survey: Sendable {
    /// The number of states, including the first one.
    package let states: Int
    /// The number of events that were tried.
    package let events: Int
    /// The first fault, and the shortest sequence of events that leads to it.
    package let fault: String?
  }

  /// Tries every event in every state, nearest states first, until a fault occurs.
  ///
  /// - Parameters:
  ///   - start: The first state.
  ///   - events: The possible events.
  ///   - limit: The maximum number of states. More states are a fault, because the walk
  ///     would not end.
  ///   - key: Everything that distinguishes a state.
  ///   - apply: Applies an event to a state; returns the fault, if there is one.
  /// - Returns: The counts, and the first fault.
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
