import Foundation
import Futures

// The table of this process, behind its lock.

extension CategoryTable {
  /// The categories of this process.
  private static let shared = Lock(CategoryTable())
  private static let isWatching = Atomic<Bool>(false)

  /// Changes the table, and lets those ask for a slot whose time has come.
  private static func change(_ body: (inout CategoryTable) -> [CategoryClaim]) {
    let (asking, needsWatch) = shared.withLock { (body(&$0), $0.watchBegins()) }
    if needsWatch { watch() }
    if asking.isEmpty { return }
    // (All ask before one runs: a task whose plain queue has started it runs here.)
    WorkLoop.current.perform { _ in
      for claim in asking {
        if let task = shared.withLock({ _ in claim.task }) { task.taskCore?.askForSlot(task) }
      }
    }
  }

  /// Looks again in a while; one look at a time.
  private static func watch() {
    guard !isWatching.exchange(true, ordering: .acquiringAndReleasing) else { return }
    DispatchQueue(label: "categories").asyncAfter(deadline: .now() + .milliseconds(500)) {
      isWatching.store(false, ordering: .releasing)
      change { $0.lookAgain() }
    }
  }

  /// Whether no task holds or waits for any category: for tests.
  static var isUnused: Bool { shared.withLock { $0.isEmpty } }

  private static let lastNumber = Atomic<Int>(0)

  /// The number of the next task that is enqueued.
  static func nextNumber() -> Int { lastNumber.wrappingAdd(1, ordering: .relaxed).newValue }

  /// Lets a claim wait for its categories, and ask for a slot when they are free.
  static func enter(_ claim: CategoryClaim) { change { $0.enter(claim) } }

  /// Takes all categories of a claim, or lets it wait for them; `false` if it waits.
  static func take(_ claim: CategoryClaim) -> Bool {
    var isTaken = false
    change { table in
      let answer = table.take(claim)
      isTaken = answer.isTaken
      return answer.asking
    }
    return isTaken
  }

  /// Gives back what a claim holds, or the place where it waits.
  static func leave(_ claim: CategoryClaim) {
    // (Released after unlock.)
    var last: AnyFuture?
    change { table in
      last = claim.task.take()
      return table.leave(claim)
    }
    withExtendedLifetime(last) {}
  }

  /// Gives back what a claim holds or asks for; it begins anew.
  static func withdraw(_ claim: CategoryClaim) { change { $0.withdraw(claim) } }

  /// A queue gives no slots for some time.
  static func slotsAreGone(_ slots: SlotUse) {
    if slots.isAskedFor { change { $0.slotsAreGone(slots) } }
  }

  /// The tasks that hold what a claim waits for.
  static func holders(for claim: CategoryClaim) -> [AnyFuture] {
    shared.withLock { table in table.holders(for: claim).compactMap(\.task) }
  }

  /// The tasks that wait for what a claim holds.
  static func waiting(behind claim: CategoryClaim) -> [AnyFuture] {
    shared.withLock { table in table.waiting(behind: claim).compactMap(\.task) }
  }

  /// What each category of a list is, once.
  static func unique(_ categories: [TaskCategory]) -> [TaskCategory] {
    var seen: Set<TaskCategory> = []
    return categories.filter { seen.insert($0).inserted }
  }
}
