import Futures

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
///
/// A claim that waits is *parked* at one of its categories: one that is held, or that a
/// task has asked for. Only what frees that category looks at the claim again, and parks
/// it at another one if that is held. So tasks that wait for a category that stays held
/// cost nothing where their other categories come and go.
///
/// Claims are parked in groups. All of a group need certain categories, its *common*
/// ones; where one of these is held, the group moves there as a whole. Only if all are
/// free, its claims are looked at, and one that needs another category that is held
/// moves to a group of one more common category. So a claim moves at most once for each
/// of its categories, however often these come and go.
struct CategoryTable {
  private struct Line {
    var holder: CategoryClaim?
    /// All claims that wait, by number, wherever they are parked.
    var waiting: [Int: CategoryClaim] = [:]
    /// The groups that are parked here, in the order of their first claims.
    var parked = NumberedList<ParkedClaims>()
    var asking = NumberedList<CategoryClaim>()
    var isEmpty: Bool { holder == nil && waiting.isEmpty && asking.isEmpty }
  }

  private var lines: [TaskCategory: Line] = [:]
  /// The claims that are parked, by the categories that they have in common.
  private var groups: [Set<TaskCategory>: ParkedClaims] = [:]
  /// How often claims that wait, and groups of them, have been looked at: for tests.
  private(set) var looks = 0

  /// Whether no task holds or waits for any category.
  var isEmpty: Bool { lines.isEmpty }

  /// Lets a claim wait for its categories.
  ///
  /// - Returns: Those that ask for a slot now, the claim perhaps among them.
  mutating func enter(_ claim: CategoryClaim) -> [CategoryClaim] {
    guard claim.phase == .idle else { return [] }
    claim.phase = .waiting
    for category in claim.categories {
      lines[category, default: Line()].waiting[claim.number] = claim
    }
    park(claim)
    return wake(claim.categories)
  }

  /// Takes all categories for a task that has a slot, or lets the claim wait for them.
  ///
  /// - Returns: Whether the claim holds them, and those that ask for a slot now.
  mutating func take(_ claim: CategoryClaim) -> (isTaken: Bool, asking: [CategoryClaim]) {
    guard claim.phase == .asking else { return (false, []) }
    remove(claim)
    guard canTake(claim), !yields(claim) else {
      // (Which also wakes those that have yielded to this one.)
      claim.phase = .idle
      return (false, enter(claim))
    }
    claim.phase = .holding
    for category in claim.categories { lines[category, default: Line()].holder = claim }
    return (true, [])
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
    wake(lines.filter { $0.value.asking.elements.contains { $0.slots === slots } }.map(\.key))
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
      // (In an order of its own, so that a search for cycles can be repeated.)
      return line.waiting.values.sorted { $0.number < $1.number } + Array(line.asking.elements)
    }
  }

  // MARK: Inside

  private func canTake(_ claim: CategoryClaim) -> Bool { heldCategory(of: claim) == nil }

  private func heldCategory(of claim: CategoryClaim) -> TaskCategory? {
    claim.categories.first { lines[$0]?.holder != nil }
  }

  /// Lets a claim wait where it will be looked at when it may go on.
  ///
  /// - Parameter known: The common categories of the group that it has been in.
  private mutating func park(_ claim: CategoryClaim, behind known: Set<TaskCategory> = []) {
    let category =
      heldCategory(of: claim) ?? claim.categories.first { isAbout(toTake: $0) }
      ?? claim.categories[0]
    let common = known.union([category])
    let group = groups[common] ?? ParkedClaims(common, at: category)
    groups[common] = group
    group.claims.insert(claim)
    claim.group = group
    if group.claims.first === claim { move(group, to: group.place) }
  }

  private mutating func unpark(_ claim: CategoryClaim) {
    guard let group = claim.group.take() else { return }
    let isFirst = group.claims.first === claim
    group.claims.remove(claim)
    if isFirst { move(group, to: group.place) }
  }

  /// Parks a group whose first claim, or whose place, is another one now.
  private mutating func move(_ group: ParkedClaims, to category: TaskCategory) {
    lines[group.place]?.parked.remove(group)
    group.place = category
    guard let first = group.claims.first else {
      groups[group.common] = nil
      return
    }
    group.number = first.number
    lines[category]?.parked.insert(group)
  }

  /// Whether an earlier task is just about to take the same.
  private func yields(_ claim: CategoryClaim) -> Bool {
    claim.categories.contains { isAbout(toTake: $0, before: claim.number) }
  }

  /// Whether a task that could take a category, and everything else, has asked for a
  /// slot that is there.
  ///
  /// (A look at a few is enough: one more that asks does no harm.)
  private func isAbout(toTake category: TaskCategory, before number: Int = .max) -> Bool {
    lines[category]?.asking.elements.prefix(8).contains { claim in
      claim.number < number && claim.hasRoom && canTake(claim)
    } == true
  }

  /// Lets others ask where a task has asked for a slot and not used it.
  ///
  /// - Returns: Those that ask for a slot now.
  mutating func lookAgain() -> [CategoryClaim] {
    var late: [TaskCategory] = []
    for (category, line) in lines where line.holder == nil && !line.asking.isEmpty {
      late.append(category)
      for claim in line.asking.elements { claim.isLate = true }
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
    unpark(claim)
    for category in claim.categories {
      guard var line = lines.removeValue(forKey: category) else { continue }
      switch claim.phase {
      case .waiting: line.waiting[claim.number] = nil
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
      if isAbout(toTake: category) {
        needsWatch = needsWatch || lines[category]?.parked.isEmpty == false
        continue
      }
      // (One by one, and not over a copy of the list, which would be copied then.)
      while let group = lines[category]?.parked.first, let claim = group.claims.first {
        looks += 1
        if let held = group.common.first(where: { lines[$0]?.holder != nil }) {
          move(group, to: held)
          continue
        }
        guard canTake(claim) else {
          unpark(claim)
          park(claim, behind: group.common)
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
      if !woken.isEmpty, lines[category]?.parked.isEmpty == false { needsWatch = true }
    }
    return woken
  }
}
