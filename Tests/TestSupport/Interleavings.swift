/// Every order in which things can happen.
///
/// For pure state machines, which can be tried without threads: what several
/// threads may do to one under its lock is some order of their events.
package enum Interleavings {
  /// Calls a body with every interleaving of several actors' events, each
  /// actor's own in their order.
  ///
  /// 3 actors with 3 events each have 1,680 interleavings, with 4 each 34,650.
  ///
  /// - Returns: How many there were.
  @discardableResult
  package static func of<Event>(
    _ actors: [[Event]], _ body: ([Event]) throws -> Void
  ) rethrows -> Int {
    var count = 0
    var order: [Event] = []
    var places = actors.map { _ in 0 }
    // As deep as there are events in one order: a dozen or so.
    func step() throws {
      var isDone = true
      for actor in actors.indices where places[actor] < actors[actor].count {
        isDone = false
        order.append(actors[actor][places[actor]])
        places[actor] += 1
        try step()
        places[actor] -= 1
        order.removeLast()
      }
      if isDone {
        count += 1
        try body(order)
      }
    }
    try step()
    return count
  }

  /// Calls a body with every sequence of so many events, each drawn from all.
  ///
  /// There are `events.count` to the power of `length`.
  ///
  /// - Returns: How many there were.
  @discardableResult
  package static func sequences<Event>(
    of events: [Event], length: Int, _ body: ([Event]) throws -> Void
  ) rethrows -> Int {
    var digits = Array(repeating: 0, count: length)
    var count = 0
    while true {
      count += 1
      try body(digits.map { events[$0] })
      var place = length - 1
      while place >= 0, digits[place] == events.count - 1 {
        digits[place] = 0
        place -= 1
      }
      if place < 0 { return count }
      digits[place] += 1
    }
  }
}
