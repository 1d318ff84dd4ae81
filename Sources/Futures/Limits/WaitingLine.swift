/// A first-in, first-out line, whose members may leave from any place of it.
///
/// Members have ascending tickets, so the line needs no order beside them.
///
/// - Complexity: O(1) for each call, over all calls.
struct WaitingLine<Member> {
  private var waiting: [Int: Member] = [:]
  private var firstTicket = 0
  private var nextTicket = 0

  var count: Int { waiting.count }
  var isEmpty: Bool { waiting.isEmpty }

  /// Joins the line at its end; returns the ticket.
  mutating func join(_ member: Member) -> Int {
    defer { nextTicket += 1 }
    waiting[nextTicket] = member
    return nextTicket
  }

  /// Leaves the line; `nil` if the member has left, or was taken out.
  mutating func leave(_ ticket: Int) -> Member? { waiting.removeValue(forKey: ticket) }

  /// Takes the member out that has waited longest.
  mutating func popFirst() -> Member? {
    while firstTicket < nextTicket {
      defer { firstTicket += 1 }
      if let first = waiting.removeValue(forKey: firstTicket) { return first }
    }
    return nil
  }

  /// Takes all members out, in their order.
  mutating func removeAll() -> [Member] {
    var all: [Member] = []
    while let first = popFirst() { all.append(first) }
    return all
  }
}

/// What a future waits for that stands in a line.
///
/// If the future settles otherwise, by cancellation, it leaves the line.
final class PlaceInLine: CallbackWaiter, @unchecked Sendable {
  // Sendable: `number` is atomic, the rest never changes.
  private let number: Atomic<Int>
  private let leave: @Sendable (_ ticket: Int) -> Void

  /// - Parameters:
  ///   - ticket: The ticket, if it is known.
  ///   - leave: Takes the future out of the line. Called once at most, with no lock held.
  init(_ ticket: Int = -1, _ leave: @escaping @Sendable (_ ticket: Int) -> Void) {
    number = Atomic(ticket)
    self.leave = leave
  }

  /// The number in the line; set before the future is known to any code that may cancel it.
  var ticket: Int {
    get { number.load(ordering: .acquiring) }
    set { number.store(newValue, ordering: .releasing) }
  }

  override func withdraw(cancelling: Bool) { leave(ticket) }
}
