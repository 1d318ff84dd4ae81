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
  private var waiting: [(id: Int, taker: Taker)] = []
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
    guard !waiting.isEmpty else {
      ready.append(element)
      return []
    }
    let first: (taker: Taker, element: Element?) = (waiting.removeFirst().taker, element)
    guard pending == 0 else { return [first] }
    defer { waiting = [] }
    return [first] + waiting.map { ($0.taker, nil) }
  }

  mutating func take(_ id: Int, _ taker: Taker) -> Take {
    if cancelled.remove(id) != nil { return .end }
    if let element = ready.popFirst() { return .element(element) }
    if pending == 0 { return .end }
    waiting.append((id, taker))
    return .wait
  }

  /// A task is cancelled; returns its taker if the taker waits.
  mutating func cancel(_ id: Int) -> Taker? {
    guard let index = waiting.firstIndex(where: { $0.id == id }) else {
      cancelled.insert(id)
      return nil
    }
    return waiting.remove(at: index).taker
  }

  /// The call of a taker has ended.
  mutating func forget(_ id: Int) { cancelled.remove(id) }
}
