import Foundation
import Futures

// The table of this process and its lock.

extension CategoryTable {
  /// The table of this process.
  private static let shared = Lock(CategoryTable())
  private static let isWatching = Atomic<Bool>(false)

  /// Changes the table, and then lets the returned claims ask for a slot.
  private static func change(_ body: (inout CategoryTable) -> [CategoryClaim]) {
    let (asking, needsWatch) = shared.withLock { (body(&$0), $0.watchBegins()) }
    if needsWatch { watch() }
    if asking.isEmpty { return }
    // All claims ask before any task ends: an inline handler may wait for one of the others.
    WorkLoop.current.perform { _ in
      for claim in asking {
        if let task = shared.withLock({ _ in claim.task }) { task.taskCore?.askForSlot(task) }
      }
    }
  }

  /// Looks at the table again after 500 ms; at most one look is scheduled at a time.
  private static func watch() {
    guard !isWatching.exchange(true, ordering: .acquiringAndReleasing) else { return }
    DispatchQueue(label: "categories").asyncAfter(deadline: .now() + .milliseconds(500)) {
      isWatching.store(false, ordering: .releasing)
      change { $0.lookAgain() }
    }
  }

  /// Whether no task holds a category or waits for one; for tests.
  static var isUnused: Bool { shared.withLock { $0.isEmpty } }

  private static let lastNumber = Atomic<Int>(0)

  /// The number of the next task that is enqueued.
  static func nextNumber() -> Int { lastNumber.wrappingAdd(1, ordering: .relaxed).newValue }

  /// Lets a claim wait for its categories, and ask for a slot when they are free.
  static func enter(_ claim: CategoryClaim) { change { $0.enter(claim) } }

  /// Takes all categories of a claim, or lets the claim wait for them; `false` if it
  /// waits.
  static func take(_ claim: CategoryClaim) -> Bool {
    var isTaken = false
    change { table in
      let answer = table.take(claim)
      isTaken = answer.isTaken
      return answer.asking
    }
    return isTaken
  }

  /// Gives back the categories of a claim, or its place among the waiting claims.
  ///
  /// - Parameter slots: The slots among which that of the claim's task is about to be free.
  static func leave(_ claim: CategoryClaim, freeing slots: SlotUse? = nil) {
    // Released after unlock.
    var last: AnyFuture?
    change { table in
      last = claim.task.take()
      return table.leave(claim, freeing: slots)
    }
    withExtendedLifetime(last) {}
  }

  /// Gives back what a claim holds or asks for; the claim starts anew.
  static func withdraw(_ claim: CategoryClaim) { change { $0.withdraw(claim) } }

  /// A queue has no free slots for some time: lets claims of other queues ask.
  static func slotsAreGone(_ slots: SlotUse) {
    if slots.isAskedFor { change { $0.slotsAreGone(slots) } }
  }

  /// The tasks that hold the categories that a claim waits for.
  static func holders(for claim: CategoryClaim) -> [AnyFuture] {
    shared.withLock { table in table.holders(for: claim).compactMap(\.task) }
  }

  /// The first tasks that wait for the categories that a claim holds.
  static func waiting(behind claim: CategoryClaim, limit: Int) -> [AnyFuture] {
    shared.withLock { table in table.waiting(behind: claim, limit: limit).compactMap(\.task) }
  }

  /// The categories of a list without duplicates.
  static func unique(_ categories: [TaskCategory]) -> [TaskCategory] {
    var seen: Set<TaskCategory> = []
    return categories.filter { seen.insert($0).inserted }
  }
}
