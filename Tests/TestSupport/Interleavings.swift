/// Calls a closure with every possible order of events.
///
/// It is for pure state machines, which need no threads for that: several threads that
/// use a machine under its lock make some order of their events.
package enum Interleavings {
  /// Calls a closure with every interleaving of the events of several actors.
  ///
  /// The events of one actor stay in their order.
  ///
  /// 3 actors with 3 events each have 1,680 interleavings; with 4 events each, 34,650.
  ///
  /// - Returns: The number of interleavings.
  @discardableResult
  package static func of<Event>(
    _ actors: [[Event]], _ body: ([Event]) throws -> Void
  ) rethrows -> Int {
    var count = 0
    var order: [Event] = []
    var places = actors.map { _ in 0 }
    // The recursion is as deep as one order is long: a dozen events or so.
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

  /// Calls a closure with every sequence of a given length of the events.
  ///
  /// There are `events.count` to the power of `length` sequences.
  ///
  /// - Returns: The number of sequences.
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
