import Futures

/// A task's place in the lines of its categories.
final class CategoryTicket: @unchecked Sendable {
  // Sendable: everything mutable is guarded by the lock of the lines.
  fileprivate let categories: [TaskCategory]
  fileprivate var task: AnyFuture?
  /// In how many of its lines it is not the first.
  fileprivate var behind = 0
  fileprivate var hasEntered = false
  fileprivate var hasLeft = false

  init(for task: AnyFuture, in categories: [TaskCategory]) {
    self.task = task
    self.categories = categories
  }
}

/// The tasks of each category of the process, in the order in which they came.
///
/// A task stands in the lines of all its categories from one moment on, and it
/// is its turn when it is the first in all of them. So tasks of several
/// categories cannot wait for one another.
struct CategoryLine {
  private var tickets: [CategoryTicket] = []
  private var head = 0

  private static let lines = Lock<[TaskCategory: CategoryLine]>([:])

  /// Each category once.
  static func unique(_ categories: [TaskCategory]) -> [TaskCategory] {
    var seen: Set<TaskCategory> = []
    return categories.filter { seen.insert($0).inserted }
  }

  /// Goes to the end of the lines; `true` if it is the task's turn.
  static func enter(_ ticket: CategoryTicket) -> Bool {
    lines.withLock { lines in
      guard !ticket.hasLeft else { return false }
      ticket.hasEntered = true
      for category in ticket.categories {
        if lines[category, default: CategoryLine()].append(ticket) { ticket.behind += 1 }
      }
      return ticket.behind == 0
    }
  }

  /// Leaves the lines, wherever it stands, and lets those go on whose turn it
  /// is now.
  static func leave(_ ticket: CategoryTicket) {
    let (next, last): ([AnyFuture], AnyFuture?) = lines.withLock { lines in
      guard !ticket.hasLeft else { return ([], nil) }
      ticket.hasLeft = true
      let last = ticket.task.take()
      guard ticket.hasEntered else { return ([], last) }
      var next: [AnyFuture] = []
      for category in ticket.categories {
        guard let first = lines[category]?.dropThoseWhoLeft() else {
          lines[category] = nil
          continue
        }
        if let first = first.new {
          first.behind -= 1
          if first.behind == 0, let task = first.task { next.append(task) }
        }
      }
      return (next, last)
    }
    withExtendedLifetime(last) {}
    for task in next { task.taskCore?.categoriesAreFree(task) }
  }

  /// Those who are first where the ticket is not.
  static func ahead(of ticket: CategoryTicket) -> [AnyFuture] {
    lines.withLock { lines in
      ticket.categories.compactMap { category in
        guard let first = lines[category]?.first, first !== ticket else { return nil }
        return first.task
      }
    }
  }

  private var first: CategoryTicket? { head < tickets.count ? tickets[head] : nil }

  /// `true` if there is somebody before it.
  private mutating func append(_ ticket: CategoryTicket) -> Bool {
    tickets.append(ticket)
    return tickets.count - head > 1
  }

  /// Drops those at the beginning who have left, and says who is the first now
  /// and was not before; `nil` if nobody is left.
  private mutating func dropThoseWhoLeft() -> (CategoryTicket?, new: CategoryTicket?)? {
    let old = head
    while head < tickets.count, tickets[head].hasLeft { head += 1 }
    guard head < tickets.count else { return nil }
    let first = tickets[head]
    let isNew = head > old
    if head > 64, head * 2 > tickets.count {
      tickets.removeFirst(head)
      head = 0
    }
    return (first, isNew ? first : nil)
  }
}
