import Futures

/// A task's request for its categories.
///
///   idle ── enter ──▶ waiting ── free ──▶ asking for a slot
///                        ▲                    │ take, with a slot
///                        ├── not all are free ┤
///                        │                    └── all are free ──▶ holding
///   any ── leave ──▶ over
final class CategoryClaim: Numbered, @unchecked Sendable {
  // Sendable: the variables are guarded by the lock of `CategoryTable.shared`.
  enum Phase { case idle, waiting, asking, holding, over }

  let categories: [TaskCategory]
  /// The place among the tasks of a category: the order in which the tasks were enqueued.
  let number: Int
  /// The slots of the task's queue; `nil` for a queue that is not a `TaskQueue`.
  let slots: SlotUse?
  var phase = Phase.idle
  /// The group that a waiting claim is parked in.
  var group: ParkedClaims?
  /// Whether the claim asked for a slot some time ago and has got none.
  var isLate = false
  /// The last category of the claim that was found to be held, and the number of changes
  /// of holders before that.
  var lastLook: (held: TaskCategory?, change: Int) = (nil, -1)
  /// How often all categories of the claim have been looked at; for tests.
  var looks = 0
  /// The task, until the claim is over.
  var task: AnyFuture?

  init(number: Int, categories: [TaskCategory], slots: SlotUse?, task: AnyFuture? = nil) {
    self.number = number
    self.categories = categories
    self.slots = slots
    self.task = task
  }

  /// The category that a waiting claim is parked at.
  var parkedAt: TaskCategory? { group?.place }

  /// Whether the task's queue appears to have a free slot.
  var hasRoom: Bool { !isLate && slots?.hasRoom ?? true }
}

/// Waiting claims that have some of their categories in common.
final class ParkedClaims: Numbered {
  /// The categories that all claims of the group need.
  let common: Set<TaskCategory>
  /// The common category that the group is parked at.
  var place: TaskCategory
  /// The number of the first claim.
  var number = Int.max
  var claims = NumberedList<CategoryClaim>()

  init(_ common: Set<TaskCategory>, at place: TaskCategory) {
    self.common = common
    self.place = place
  }
}

/// An object with a place in an order.
protocol Numbered: AnyObject {
  var number: Int { get }
}

/// Objects sorted by their numbers.
struct NumberedList<Element: Numbered> {
  private var all: [Element] = []
  private var head = 0

  var elements: ArraySlice<Element> { all[head...] }
  var first: Element? { isEmpty ? nil : all[head] }
  var isEmpty: Bool { head == all.count }

  mutating func insert(_ element: Element) {
    all.insert(element, at: index(of: element.number))
  }

  mutating func remove(_ element: Element) {
    let index = index(of: element.number)
    guard index < all.count, all[index] === element else { return }
    guard index == head else {
      all.remove(at: index)
      return
    }
    // Usually the first element is removed. The others then stay in place.
    head += 1
    if head > 64, head * 2 > all.count {
      all.removeFirst(head)
      head = 0
    }
  }

  /// The first index whose element has no smaller number.
  private func index(of number: Int) -> Int {
    var (low, high) = (head, all.count)
    while low < high {
      let middle = (low + high) / 2
      if all[middle].number < number { low = middle + 1 } else { high = middle }
    }
    return low
  }
}
