import Futures

/// The permits of a named group of tasks, and the tasks that wait for one.
///
/// A task takes a permit before it begins and keeps it while it executes. If no permit is
/// free, the task waits in the line of the limit, in no list of ready tasks. When it is first
/// in line and a permit is free, the permit is reserved for it, and it returns to its list:
///
///   no place ── no permit is free ──▶ in line ── one is ──▶ reserved ── begins ──▶ no place
///                                       ▲                      │
///                                       └─── came too late ────┘
///
/// A newcomer gets a permit only if none waits and one is neither taken nor reserved. The
/// context of a task may be suspended or busy. A reservation that has not been used for two
/// to four milliseconds therefore ends. A task that comes later and finds no permit stands in
/// front of those that have not been called yet.
final class NamedLimit: @unchecked Sendable {
  // Sendable: only accessed with the lock of the tree held.

  /// A task that waits for a permit.
  ///
  /// It may have been cancelled since it entered the line.
  struct Waiter {
    let core: WorkflowCore
    let task: TaskIndex
  }

  /// How a task that found no permit stands with the limit.
  struct Place {
    let limit: NamedLimit
    /// The round in which a permit was reserved for the task; `nil` while it is in line.
    var round: UInt64?
  }

  var maximum: Int
  private(set) var taken = 0
  private(set) var line = FIFO<Waiter>()
  /// The tasks that came too late for the permits reserved for them: in front of the line.
  private var lateLine = FIFO<Waiter>()
  /// A check whether reserved permits have been taken is scheduled.
  var isWatched = false
  /// The number of these checks.
  private var round: UInt64 = 0
  /// How many permits were reserved in this round and in the one before.
  private var reserved = (now: 0, before: 0)

  /// How many permits are neither taken nor reserved.
  var free: Int { maximum - taken - reserved.now - reserved.before }
  var isLineEmpty: Bool { line.isEmpty && lateLine.isEmpty }
  var hasReservations: Bool { reserved.now + reserved.before > 0 }

  init(maximum: Int) { self.maximum = maximum }

  /// - Parameter isInFront: Whether the task comes before those that only stand in line.
  func takePermit(isInFront: Bool) -> Bool {
    guard free > 0, isInFront || isLineEmpty else { return false }
    taken += 1
    return true
  }

  func returnPermit() { taken -= 1 }

  func enterLine(_ waiter: Waiter, isLate: Bool) {
    if isLate { lateLine.append(waiter) } else { line.append(waiter) }
  }

  func popFirst() -> Waiter? { lateLine.popFirst() ?? line.popFirst() }

  /// Reserves a permit.
  ///
  /// - Returns: The round of the reservation.
  func reserve() -> UInt64 {
    reserved.now += 1
    return round
  }

  /// Ends a reservation, unless it has ended by itself.
  func endReservation(of round: UInt64) {
    if round == self.round { reserved.now -= 1 }
    if round &+ 1 == self.round { reserved.before -= 1 }
  }

  /// Ends the reservations of the round before.
  func beginRound() {
    round &+= 1
    reserved = (now: 0, before: reserved.now)
  }
}

/// The named limits of a workflow, and how its tasks stand with them and with those around.
struct NamedLimits {
  /// The workflow's own limits, for its tasks and those of the workflows inside it.
  var byName: [String: NamedLimit] = [:]
  /// The name of the limit of each task that has one.
  var names: [TaskIndex: String] = [:]
  /// The limit of each executing task that holds a permit.
  var permits: [TaskIndex: NamedLimit] = [:]
  /// The place of each task that waits for a permit, or for which one is reserved.
  var places: [TaskIndex: NamedLimit.Place] = [:]

  /// Whether a task holds or waits for a permit.
  var areUsed: Bool { !permits.isEmpty || !places.isEmpty }
}

extension WorkflowCore {
  /// With the lock held: whether a ready task has a permit of its limit, or needs none.
  ///
  /// If not, the task enters the line of the limit.
  func takePermit(_ index: TaskIndex, _ state: inout State, _ effects: inout Effects) -> Bool {
    guard let name = state.limits.names[index], let limit = limit(named: name, state) else {
      return true
    }
    let wasCalled = endReservation(of: index, &state, &effects) === limit
    if limit.takePermit(isInFront: wasCalled) {
      state.limits.permits[index] = limit
      return true
    }
    // A task that was cancelled and retried in line has kept its place.
    if state.limits.places[index]?.limit !== limit {
      state.limits.places[index] = NamedLimit.Place(limit: limit)
      limit.enterLine(NamedLimit.Waiter(core: self, task: index), isLate: wasCalled)
    }
    // Free permits and reservations need a look now that a task waits.
    if limit.maximum > limit.taken { effects.steps.append(.permit(limit)) }
    return false
  }

  /// With the lock held: ends the reservation of a task.
  ///
  /// - Returns: The limit that had called the task, if one had.
  @discardableResult
  private func endReservation(
    of index: TaskIndex, _ state: inout State, _ effects: inout Effects
  ) -> NamedLimit? {
    guard !state.limits.places.isEmpty, let place = state.limits.places[index],
      let round = place.round
    else {
      return nil
    }
    state.limits.places[index] = nil
    place.limit.endReservation(of: round)
    effects.steps.append(.permit(place.limit))
    return place.limit
  }

  /// Returns the limit with a name: of this workflow, or else of the nearest workflow
  /// around it that has one.
  private func limit(named name: String, _ state: borrowing State) -> NamedLimit? {
    if let own = state.limits.byName[name] { return own }
    var next = state.owner?.core
    while let outer = next {
      if let limit = outer.state.limits.byName[name] { return limit }
      next = outer.state.owner?.core
    }
    return nil
  }

  /// With the lock held: gives back the permit of a task that has stopped executing, or that
  /// was reserved for a task that does not begin.
  func returnPermit(_ index: TaskIndex, _ state: inout State, _ effects: inout Effects) {
    endReservation(of: index, &state, &effects)
    guard let limit = state.limits.permits.removeValue(forKey: index) else { return }
    limit.returnPermit()
    effects.steps.append(.permit(limit))
  }

  /// With the lock held: notes that an executing task only waits from now on (for its
  /// fulfillment or for an inner workflow) and takes no room.
  func waits(_ index: TaskIndex, _ state: inout State, _ effects: inout Effects) {
    state.graph.wait(index)
    returnPermit(index, &state, &effects)
  }

  /// With the lock held: reserves free permits for the first tasks in line, which return to
  /// their lists of ready tasks.
  func offerPermits(_ limit: NamedLimit, _ effects: inout Effects) {
    while limit.free > 0, let waiter = limit.popFirst() {
      let (core, task) = (waiter.core, waiter.task)
      // The task may have entered the line of another limit meanwhile.
      guard let place = core.state.limits.places[task], place.limit === limit, place.round == nil
      else {
        continue
      }
      core.state.limits.places[task] = nil
      // A task that was cancelled or reset meanwhile no longer waits.
      guard !core.state.isReleased, core.state.graph.mayBegin(task) else { continue }
      core.state.limits.places[task] = NamedLimit.Place(limit: limit, round: limit.reserve())
      effects.hasChanged(core)
      core.enqueue(task, &core.state, &effects)
    }
    if limit.hasReservations, !limit.isLineEmpty, !limit.isWatched {
      limit.isWatched = true
      effects.looks.append(
        Look(core: self) { _, effects in
          limit.isWatched = false
          limit.beginRound()
          effects.steps.append(.permit(limit))
        })
    }
  }
}

extension Workflow {
  /// Limits how many tasks of a named group execute at the same time.
  ///
  /// A task belongs to the group that its ``AnyWorkflowTask/limitName`` names. The limit
  /// also holds for tasks of workflows inside this one, unless a nearer workflow has a
  /// limit of that name. A task whose work goes on elsewhere, such as an async one,
  /// counts while it executes. A condition that waits does not count, and neither does a
  /// subworkflow task whose inner workflow runs. A task that waits for a permit holds up
  /// no other task: it takes neither a slot of its context nor room under
  /// ``maxConcurrentTaskCount``.
  ///
  /// Set a limit before tasks of the group begin. Tasks that execute when it is set for the
  /// first time do not count, and one that waits for a permit of a workflow around this one
  /// goes on waiting for that.
  ///
  /// ```swift
  /// workflow.limit("network", to: 4)
  /// for page in pages { page.limitName = "network" }
  /// ```
  ///
  /// - Parameters:
  ///   - name: The name of the group.
  ///   - maximum: How many tasks may execute; less than one counts as one. A new maximum
  ///     applies from now on and stops no executing task.
  public func limit(_ name: String, to maximum: Int) {
    core.perform { state, effects in
      let limit = state.limits.byName[name] ?? NamedLimit(maximum: 1)
      state.limits.byName[name] = limit
      limit.maximum = max(maximum, 1)
      effects.steps.append(.permit(limit))
    }
  }
}

extension AnyWorkflowTask {
  /// The name of the group with a common limit that the task belongs to, if any; see
  /// ``Workflow/limit(_:to:)``.
  ///
  /// Set it before the task begins; a change applies from the task's next start. A name
  /// without a limit has no effect.
  public final var limitName: String? {
    get { settingsIfAny?.get(\.limitName) }
    set {
      settingsMade.set { $0.limitName = newValue }
      applyScheduling()
    }
  }
}
