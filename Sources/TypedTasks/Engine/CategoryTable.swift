import Foundation
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
  fileprivate enum Phase { case idle, waiting, asking, holding, over }

  fileprivate let categories: [TaskCategory]
  /// The place among the tasks of a category: the order in which they were enqueued.
  fileprivate let number: Int
  /// The slots of the task's queue; `nil` for a queue that is no task queue.
  fileprivate let slots: SlotUse?
  fileprivate var phase = Phase.idle
  /// Whether it has asked for a slot some time ago and got none.
  fileprivate var isLate = false
  /// The task, until the claim is over.
  fileprivate(set) var task: AnyFuture?

  init(number: Int, categories: [TaskCategory], slots: SlotUse?, task: AnyFuture? = nil) {
    self.number = number
    self.categories = categories
    self.slots = slots
    self.task = task
  }

  /// Whether a slot that the task asks for is there at once, as far as one can tell.
  fileprivate var hasRoom: Bool { !isLate && slots?.hasRoom ?? true }
}

/// Which task holds which category, and which wait for one, as a pure value.
///
/// A task takes all its categories in one step, when it has a slot, or none of them:
/// then it gives its slot back, waits here, and asks for a slot again when its
/// categories are free. So tasks that wait hold nothing that others wait for.
///
/// Among those that could take everything now, the one enqueued first asks for a
/// slot. If its queue has no slot for it at the moment, the next one asks too, and so
/// on: a busy or suspended queue holds up no other. A queue whose threads are blocked
/// looks as if it had a slot; if a task of it has not used its slot after some time,
/// the others no longer wait for it.
struct CategoryTable {
  private struct Line {
    var holder: CategoryClaim?
    var waiting = ClaimList()
    var asking = ClaimList()
    var isEmpty: Bool { holder == nil && waiting.isEmpty && asking.isEmpty }
  }

  private var lines: [TaskCategory: Line] = [:]

  /// Whether no task holds or waits for any category.
  var isEmpty: Bool { lines.isEmpty }

  /// Lets a claim wait for its categories.
  ///
  /// - Returns: Those that ask for a slot now, the claim perhaps among them.
  mutating func enter(_ claim: CategoryClaim) -> [CategoryClaim] {
    guard claim.phase == .idle else { return [] }
    claim.phase = .waiting
    for category in claim.categories { lines[category, default: Line()].waiting.insert(claim) }
    return wake(claim.categories)
  }

  /// Takes all categories for a task that has a slot, or lets the claim wait for them.
  ///
  /// - Returns: Whether the claim holds them, and those that ask for a slot now.
  mutating func take(_ claim: CategoryClaim) -> (isTaken: Bool, asking: [CategoryClaim]) {
    guard claim.phase == .asking else { return (false, []) }
    remove(claim)
    if canTake(claim), !yields(claim) {
      claim.phase = .holding
      for category in claim.categories { lines[category, default: Line()].holder = claim }
      return (true, [])
    }
    claim.phase = .waiting
    for category in claim.categories { lines[category, default: Line()].waiting.insert(claim) }
    // (Others may have yielded to this one.)
    return (false, wake(claim.categories))
  }

  /// The claim ends, whatever it was doing.
  ///
  /// - Returns: Those that ask for a slot now.
  mutating func leave(_ claim: CategoryClaim) -> [CategoryClaim] {
    end(claim, as: .over)
  }

  /// The task has something else to wait for: the claim begins anew.
  ///
  /// - Returns: Those that ask for a slot now.
  mutating func withdraw(_ claim: CategoryClaim) -> [CategoryClaim] {
    claim.phase == .over ? [] : end(claim, as: .idle)
  }

  private mutating func end(
    _ claim: CategoryClaim, as phase: CategoryClaim.Phase
  ) -> [CategoryClaim] {
    if claim.phase == .idle || claim.phase == .over {
      claim.phase = phase
      return []
    }
    remove(claim)
    claim.phase = phase
    return wake(claim.categories)
  }

  /// A queue gives no slots for some time: lets others ask.
  mutating func slotsAreGone(_ slots: SlotUse) -> [CategoryClaim] {
    wake(lines.filter { $0.value.asking.contains { $0.slots === slots } }.map(\.key))
  }

  /// The claims that hold what a claim waits for.
  func holders(for claim: CategoryClaim) -> [CategoryClaim] {
    claim.categories.compactMap { category in
      guard let holder = lines[category]?.holder, holder !== claim else { return nil }
      return holder
    }
  }

  /// The claims that wait for what a claim holds.
  func waiting(behind claim: CategoryClaim) -> [CategoryClaim] {
    guard claim.phase == .holding else { return [] }
    return claim.categories.flatMap { category -> [CategoryClaim] in
      guard let line = lines[category] else { return [] }
      return Array(line.waiting.claims) + Array(line.asking.claims)
    }
  }

  // MARK: Inside

  private func canTake(_ claim: CategoryClaim) -> Bool {
    claim.categories.allSatisfy { lines[$0]?.holder == nil }
  }

  /// Whether an earlier task is just about to take the same.
  private func yields(_ claim: CategoryClaim) -> Bool {
    claim.categories.contains { category in
      lines[category]?.asking.claims.prefix(8).contains { other in
        other.number < claim.number && other.hasRoom && canTake(other)
      } == true
    }
  }

  /// Lets others ask where a task has asked for a slot and not used it.
  ///
  /// - Returns: Those that ask for a slot now.
  mutating func lookAgain() -> [CategoryClaim] {
    var late: [TaskCategory] = []
    for (category, line) in lines where line.holder == nil && !line.asking.isEmpty {
      late.append(category)
      for claim in line.asking.claims { claim.isLate = true }
    }
    return wake(late)
  }

  /// Whether tasks wait behind one that has asked for a slot and not used it yet.
  private(set) var needsWatch = false

  mutating func watchBegins() -> Bool {
    defer { needsWatch = false }
    return needsWatch
  }

  private mutating func remove(_ claim: CategoryClaim) {
    for category in claim.categories {
      guard var line = lines.removeValue(forKey: category) else { continue }
      switch claim.phase {
      case .waiting: line.waiting.remove(claim)
      case .asking:
        line.asking.remove(claim)
        claim.slots?.stopsAsking()
      case .holding: if line.holder === claim { line.holder = nil }
      case .idle, .over: break
      }
      if !line.isEmpty { lines[category] = line }
    }
  }

  /// Lets the first of each free category that could take everything ask for a slot;
  /// and the next ones, as long as there is no room for them.
  private mutating func wake(_ categories: [TaskCategory]) -> [CategoryClaim] {
    var woken: [CategoryClaim] = []
    for category in categories {
      guard lines[category]?.holder == nil else { continue }
      // (A look at a few is enough: one more that asks does no harm.)
      let isAsked = lines[category]?.asking.claims.prefix(8).contains { claim in
        claim.hasRoom && canTake(claim)
      }
      if isAsked == true {
        needsWatch = needsWatch || lines[category]?.waiting.isEmpty == false
        continue
      }
      // (By position, and not over a copy of the list, which would be copied then.)
      var position = 0
      while let claim = lines[category]?.waiting.claim(at: position) {
        guard canTake(claim) else {
          position += 1
          continue
        }
        remove(claim)
        claim.phase = .asking
        for category in claim.categories {
          lines[category, default: Line()].asking.insert(claim)
          claim.slots?.asks()
        }
        claim.isLate = false
        woken.append(claim)
        if claim.hasRoom { break }
      }
      if !woken.isEmpty, lines[category]?.waiting.isEmpty == false { needsWatch = true }
    }
    return woken
  }
}

/// Claims in the order of their numbers.
private struct ClaimList {
  private var all: [CategoryClaim] = []
  private var head = 0

  var claims: ArraySlice<CategoryClaim> { all[head...] }

  func claim(at position: Int) -> CategoryClaim? {
    head + position < all.count ? all[head + position] : nil
  }

  var first: CategoryClaim? { claims.first }
  var isEmpty: Bool { head == all.count }

  func contains(where isWanted: (CategoryClaim) -> Bool) -> Bool {
    claims.contains(where: isWanted)
  }

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

// MARK: - With a lock

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

/// How many slots of a queue are taken or asked for, and whether there are more.
final class SlotUse: Sendable {
  private let used = Atomic<Int>(0)
  private let limit = Atomic<Int>(.max)
  private let isSuspended = Atomic<Bool>(false)
  /// How many requests for a slot come from the table of categories.
  private let asking = Atomic<Int>(0)

  func asks() { asking.wrappingAdd(1, ordering: .relaxed) }
  func stopsAsking() { asking.wrappingSubtract(1, ordering: .relaxed) }
  var isAskedFor: Bool { asking.load(ordering: .relaxed) > 0 }

  func add() { used.wrappingAdd(1, ordering: .relaxed) }
  func remove() { used.wrappingSubtract(1, ordering: .relaxed) }
  func setLimit(_ count: Int) { limit.store(count < 0 ? .max : count, ordering: .relaxed) }
  func setSuspended(_ value: Bool) { isSuspended.store(value, ordering: .relaxed) }

  /// Whether a slot that is asked for is there at once, as far as one can tell.
  var hasRoom: Bool {
    !isSuspended.load(ordering: .relaxed)
      && used.load(ordering: .relaxed) < limit.load(ordering: .relaxed)
  }
}
