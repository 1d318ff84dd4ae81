/// Results that wait for takers, and takers that wait for results.
///
///   taker:  ── take ──▶ waits ── a result, the end ──▶ resumed
///              │  └─ a result is ready, the end ────▶ resumed
///   cancel ────┴─────▶ resumed without a result
struct CompletionQueue<Element, Taker> {
  /// What a taker gets.
  enum Take {
    case element(Element)
    case end
    case wait
  }

  private var ready = FIFO<Element>()
  private var pending = 0
  private var waiting = WaitingLine<(id: Int, taker: Taker)>()
  /// The place in the line of each taker that waits.
  private var tickets: [Int: Int] = [:]
  private var cancelled: Set<Int> = []
  private var lastID = 0

  mutating func expect(_ count: Int) { pending = count }

  /// The number of the next taker.
  mutating func makeID() -> Int {
    lastID += 1
    return lastID
  }

  /// A result has arrived; returns the takers that the caller resumes.
  mutating func add(_ element: Element) -> [(taker: Taker, element: Element?)] {
    pending -= 1
    guard let first = waiting.popFirst() else {
      ready.append(element)
      return []
    }
    tickets[first.id] = nil
    guard pending == 0 else { return [(first.taker, element)] }
    tickets = [:]
    return [(first.taker, element)] + waiting.removeAll().map { ($0.taker, nil) }
  }

  mutating func take(_ id: Int, _ taker: Taker) -> Take {
    if cancelled.remove(id) != nil { return .end }
    if let element = ready.popFirst() { return .element(element) }
    if pending == 0 { return .end }
    tickets[id] = waiting.join((id, taker))
    return .wait
  }

  /// A task is cancelled; returns its taker if the taker waits.
  mutating func cancel(_ id: Int) -> Taker? {
    guard let ticket = tickets.removeValue(forKey: id) else {
      cancelled.insert(id)
      return nil
    }
    return waiting.leave(ticket)?.taker
  }

  /// The call of a taker has ended.
  mutating func forget(_ id: Int) { cancelled.remove(id) }
}
