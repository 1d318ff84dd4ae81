import Futures

/// What a task asks its categories for.
///
///   idle ── enter ──▶ waiting ── free ──▶ asking for a slot
///                        ▲                    │ take, with a slot
///                        ├── not all are free ┤
///                        │                    └── all are free ──▶ holding
///   any ── leave ──▶ over
final class CategoryClaim: @unchecked Sendable {
  // Sendable: what changes is guarded by the lock of `CategoryTable.shared`.
  enum Phase { case idle, waiting, asking, holding, over }

  let categories: [TaskCategory]
  /// The place among the tasks of a category: the order in which they were enqueued.
  let number: Int
  /// The slots of the task's queue; `nil` for a queue that is no task queue.
  let slots: SlotUse?
  var phase = Phase.idle
  /// The category that a waiting claim is parked at.
  var parkedAt: TaskCategory?
  /// Whether it has asked for a slot some time ago and got none.
  var isLate = false
  /// The task, until the claim is over.
  var task: AnyFuture?

  init(number: Int, categories: [TaskCategory], slots: SlotUse?, task: AnyFuture? = nil) {
    self.number = number
    self.categories = categories
    self.slots = slots
    self.task = task
  }

  /// Whether a slot that the task asks for is there at once, as far as one can tell.
  var hasRoom: Bool { !isLate && slots?.hasRoom ?? true }
}

/// Claims in the order of their numbers.
struct ClaimList {
  private var all: [CategoryClaim] = []
  private var head = 0

  var claims: ArraySlice<CategoryClaim> { all[head...] }
  var first: CategoryClaim? { isEmpty ? nil : all[head] }
  var isEmpty: Bool { head == all.count }

  mutating func insert(_ claim: CategoryClaim) {
    all.insert(claim, at: index(of: claim.number))
  }

  mutating func remove(_ claim: CategoryClaim) {
    let index = index(of: claim.number)
    guard index < all.count, all[index] === claim else { return }
    guard index == head else {
      all.remove(at: index)
      return
    }
    // (Mostly the first one goes: the others stay where they are.)
    head += 1
    if head > 64, head * 2 > all.count {
      all.removeFirst(head)
      head = 0
    }
  }

  /// The first index whose claim has no smaller number.
  private func index(of number: Int) -> Int {
    var (low, high) = (head, all.count)
    while low < high {
      let middle = (low + high) / 2
      if all[middle].number < number { low = middle + 1 } else { high = middle }
    }
    return low
  }
}
