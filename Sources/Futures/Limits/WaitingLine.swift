/// A first-in, first-out line, whose members may leave from any position.
///
/// Tickets ascend, so the line needs no other record of the order.
///
/// - Complexity: O(1) amortized for each call.
package struct WaitingLine<Member> {
  private var waiting: [Int: Member] = [:]
  private var firstTicket = 0
  private var nextTicket = 0

  package init() {}

  package var count: Int { waiting.count }
  package var isEmpty: Bool { waiting.isEmpty }

  /// Adds a member at the end of the line; returns its ticket.
  package mutating func join(_ member: Member) -> Int {
    defer { nextTicket += 1 }
    waiting[nextTicket] = member
    return nextTicket
  }

  /// The number of members in front of a member; `nil` if it is not in the line.
  ///
  /// - Complexity: O(n).
  package func countInFront(of ticket: Int) -> Int? {
    waiting[ticket] == nil ? nil : waiting.keys.count { $0 < ticket }
  }

  /// Removes a member; `nil` if the member has left or was taken out.
  @discardableResult
  package mutating func leave(_ ticket: Int) -> Member? { waiting.removeValue(forKey: ticket) }

  /// Takes out the member that has waited longest.
  package mutating func popFirst() -> Member? {
    while firstTicket < nextTicket {
      defer { firstTicket += 1 }
      if let first = waiting.removeValue(forKey: firstTicket) { return first }
    }
    return nil
  }

  /// Takes out all members, in their order.
  package mutating func removeAll() -> [Member] {
    var all: [Member] = []
    while let first = popFirst() { all.append(first) }
    return all
  }
}

/// The waiter of a future that stands in a line.
///
/// If the future is cancelled, it leaves the line.
final class PlaceInLine: CallbackWaiter, @unchecked Sendable {
  // Sendable: `number` is atomic, the rest never changes.
  private let number: Atomic<Int>
  private let leave: @Sendable (_ ticket: Int) -> Void
  private let explain: @Sendable (_ ticket: Int) -> String?

  /// - Parameters:
  ///   - ticket: The ticket, if it is known.
  ///   - leave: Takes the future out of the line. Called at most once, with no lock held.
  ///   - explain: Says in sentences what the future waits for; `nil` if it is not in the line.
  init(
    _ ticket: Int = -1, _ leave: @escaping @Sendable (_ ticket: Int) -> Void,
    explain: @escaping @Sendable (_ ticket: Int) -> String?
  ) {
    number = Atomic(ticket)
    self.leave = leave
    self.explain = explain
  }

  override var reasonToWait: FutureExplanation.Reason? { explain(ticket).map { .init(.limit, $0) } }

  /// The ticket in the line; set before any code that may cancel the future knows the
  /// future.
  var ticket: Int {
    get { number.load(ordering: .acquiring) }
    set { number.store(newValue, ordering: .releasing) }
  }

  override func withdraw(cancelling: Bool) { leave(ticket) }
}
