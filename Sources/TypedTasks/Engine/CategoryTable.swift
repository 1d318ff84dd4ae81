import Futures

/// The table of categories as a pure value: which task holds which category, and which
/// tasks wait for one.
///
/// A task that has a slot takes all its categories in one step, or none of them. If it
/// gets none, it gives its slot back, waits here, and asks for a slot again when its
/// categories are free. So waiting tasks hold nothing that other tasks wait for.
///
/// Among the claims that could take all their categories now, the claim that was enqueued
/// first asks for a slot. If its queue has no free slot, the next claim asks too, and so
/// on: a busy or suspended queue does not hold up other queues. A queue whose threads are
/// blocked looks as if it had a free slot. If a task of such a queue does not use its
/// slot for some time, the other claims stop waiting for it, and then for its whole queue.
///
/// A waiting claim is *parked* at one of its categories: a category that is held, or one
/// for which a task has asked for a slot. Only an event that frees this category looks at
/// the claim again, and parks it at another category if that one is held. So tasks that
/// wait for a category that stays held cost nothing when their other categories come and
/// go.
///
/// Claims are parked in groups. All claims of a group need its *common* categories. If a
/// common category is held, the whole group moves there. If all are free, the claims are
/// looked at one by one, and a claim that needs another held category moves to a group
/// with one more common category. So a claim moves at most once for each of its
/// categories, however often these come and go.
struct CategoryTable {
  private struct Line {
    var holder: CategoryClaim?
    /// All waiting claims, wherever they are parked.
    var waiting = NumberedList<CategoryClaim>()
    /// The groups that are parked here, in the order of their first claims.
    var parked = NumberedList<ParkedClaims>()
    var asking = NumberedList<CategoryClaim>()
    var isEmpty: Bool { holder == nil && waiting.isEmpty && asking.isEmpty }
  }

  private var lines: [TaskCategory: Line] = [:]
  /// The groups of parked claims by their common categories.
  private var groups: [Set<TaskCategory>: ParkedClaims] = [:]
  /// How often a claim has begun or ceased to hold its categories.
  private var changesOfHolders = 0
  /// How often waiting claims and groups of them have been looked at; for tests.
  private(set) var looks = 0

  /// Whether no task holds a category or waits for one.
  var isEmpty: Bool { lines.isEmpty }

  /// Lets a claim wait for its categories.
  ///
  /// - Returns: The claims that ask for a slot now, perhaps including this one.
  mutating func enter(_ claim: CategoryClaim) -> [CategoryClaim] {
    guard claim.phase == .idle else { return [] }
    claim.phase = .waiting
    for category in claim.categories {
      lines[category, default: Line()].waiting.insert(claim)
    }
    park(claim)
    return wake(claim.categories)
  }

  /// Takes all categories for a task that has a slot, or lets the claim wait for them.
  ///
  /// - Returns: Whether the claim holds its categories, and the claims that ask for a
  ///   slot now.
  mutating func take(_ claim: CategoryClaim) -> (isTaken: Bool, asking: [CategoryClaim]) {
    guard claim.phase == .asking else { return (false, []) }
    remove(claim)
    guard canTake(claim), !yields(claim) else {
      // `enter` also wakes the claims that have yielded to this one.
      claim.phase = .idle
      return (false, enter(claim))
    }
    claim.phase = .holding
    changesOfHolders += 1
    for category in claim.categories { lines[category, default: Line()].holder = claim }
    return (true, [])
  }

  /// Ends a claim in any phase.
  ///
  /// - Parameter slots: The slots among which that of the claim's task is about to be free.
  /// - Returns: The claims that ask for a slot now.
  mutating func leave(_ claim: CategoryClaim, freeing slots: SlotUse? = nil) -> [CategoryClaim] {
    end(claim, as: .over, freeing: slots)
  }

  /// Starts a claim anew, because its task has something else to wait for.
  ///
  /// - Returns: The claims that ask for a slot now.
  mutating func withdraw(_ claim: CategoryClaim) -> [CategoryClaim] {
    claim.phase == .over ? [] : end(claim, as: .idle)
  }

  private mutating func end(
    _ claim: CategoryClaim, as phase: CategoryClaim.Phase, freeing slots: SlotUse? = nil
  ) -> [CategoryClaim] {
    if claim.phase == .idle || claim.phase == .over {
      claim.phase = phase
      return []
    }
    remove(claim)
    claim.phase = phase
    return wake(claim.categories, freeing: slots)
  }

  /// Lets other claims ask, because a queue has no free slots for some time.
  mutating func slotsAreGone(_ slots: SlotUse) -> [CategoryClaim] {
    var affected: [TaskCategory] = []
    for (category, line) in lines {
      let asking = line.asking.elements.filter { $0.slots === slots }
      if asking.isEmpty { continue }
      affected.append(category)
      // A suspension passes; a lower limit stays.
      if !slots.hasRoomForLastRequest, !slots.isHalted {
        for claim in asking { claim.hadRoom = false }
      }
    }
    return wake(affected)
  }

  /// The claims that hold the categories that a claim waits for.
  func holders(for claim: CategoryClaim) -> [CategoryClaim] {
    claim.categories.compactMap { category in
      guard let holder = lines[category]?.holder, holder !== claim else { return nil }
      return holder
    }
  }

  /// The first claims that wait for the categories that a claim holds.
  ///
  /// - Parameter limit: How many, at most: a search reads no more of them than it needs.
  func waiting(behind claim: CategoryClaim, limit: Int = .max) -> [CategoryClaim] {
    guard claim.phase == .holding else { return [] }
    var all: [CategoryClaim] = []
    for category in claim.categories where all.count < limit {
      guard let line = lines[category] else { continue }
      all += line.waiting.elements.prefix(limit - all.count)
      all += line.asking.elements.prefix(limit - all.count)
    }
    return all
  }

  // MARK: Inside

  private func canTake(_ claim: CategoryClaim) -> Bool { heldCategory(of: claim) == nil }

  private func heldCategory(of claim: CategoryClaim) -> TaskCategory? {
    // Looked up once for each change: a claim of many categories is asked for each of them.
    if claim.lastLook.change != changesOfHolders {
      let held = claim.categories.first { lines[$0]?.holder != nil }
      claim.lastLook = (held, changesOfHolders)
      claim.looks += 1
    }
    return claim.lastLook.held
  }

  /// Parks a claim at a category whose release lets the claim continue.
  ///
  /// - Parameter known: The common categories of the group that the claim was in.
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

  /// Parks a group whose first claim or whose place has changed.
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

  /// Whether an earlier task is about to take a category of the claim.
  private func yields(_ claim: CategoryClaim) -> Bool {
    claim.categories.contains { isAbout(toTake: $0, before: claim.number) }
  }

  /// Whether a task that could take this category and all its others has asked for a slot
  /// that is free.
  ///
  /// Looking at a few claims is enough: one request for a slot too many does no harm.
  private func isAbout(toTake category: TaskCategory, before number: Int = .max) -> Bool {
    lines[category]?.asking.elements.prefix(8).contains { claim in
      claim.number < number && claim.hasRoom && canTake(claim)
    } == true
  }

  /// Lets other claims ask where a task has asked for a slot and has not used it.
  ///
  /// A queue is *stuck* if one of its claims was late at the look before. If claims of other
  /// queues wait too, those of a stuck queue are late from the beginning: otherwise each of
  /// them would hold up the other queues for one more look.
  ///
  /// - Returns: The claims that ask for a slot now.
  mutating func lookAgain() -> [CategoryClaim] {
    var late: [TaskCategory] = []
    var asking: [CategoryClaim] = []
    for (category, line) in lines where line.holder == nil && !line.asking.isEmpty {
      late.append(category)
      asking += line.asking.elements
    }
    // Before any of them is marked: a claim of several categories is in several lines.
    let stuck = Set(asking.lazy.filter(\.isLate).compactMap(\.queue))
    for claim in asking { claim.isLate = true }
    let holdsUpOthers = !stuck.isEmpty && late.contains { isAwaited($0, besides: stuck) }
    return wake(late, stuck: holdsUpOthers ? stuck : [])
  }

  /// Whether a task that is in none of some queues, as far as is known, waits for a category.
  private func isAwaited(
    _ category: TaskCategory, besides queues: Set<ObjectIdentifier>
  ) -> Bool {
    lines[category]?.waiting.elements.contains { claim in
      claim.queue.map { !queues.contains($0) } ?? true
    } == true
  }

  /// Whether tasks wait behind a task that has asked for a slot and has not used it yet.
  private(set) var needsWatch = false

  mutating func watchBegins() -> Bool {
    defer { needsWatch = false }
    return needsWatch
  }

  private mutating func remove(_ claim: CategoryClaim) {
    unpark(claim)
    if claim.phase == .holding { changesOfHolders += 1 }
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

  /// For each free category, lets the first claim that could take everything ask for a
  /// slot, and the next claims until one of them has room.
  ///
  /// - Parameters:
  ///   - slots: The slots one of which is about to be free.
  ///   - stuck: The queues whose claims are late from the beginning.
  private mutating func wake(
    _ categories: [TaskCategory], freeing slots: SlotUse? = nil,
    stuck: Set<ObjectIdentifier> = []
  ) -> [CategoryClaim] {
    var woken: [CategoryClaim] = []
    var freed = slots
    for category in categories {
      guard lines[category]?.holder == nil else { continue }
      if isAbout(toTake: category) {
        needsWatch = needsWatch || lines[category]?.parked.isEmpty == false
        continue
      }
      // One at a time: iterating over the list would make a copy of it.
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
        claim.isLate = claim.queue.map(stuck.contains) ?? false
        let isOneFreed = freed != nil && claim.slots === freed
        if isOneFreed { freed = nil }
        claim.hadRoom = claim.slots?.hasRoom(besidesOneToBeFree: isOneFreed) ?? true
        woken.append(claim)
        if claim.hasRoom { break }
      }
      if !woken.isEmpty, lines[category]?.parked.isEmpty == false { needsWatch = true }
    }
    return woken
  }
}
