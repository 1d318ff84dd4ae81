import Futures

/// How many tasks of a named group may execute at the same time, and which wait for it.
///
/// A task whose turn comes takes a permit, and keeps it for as long as it executes. If
/// there is none, the task waits in the line of the limit, in no list of ready tasks, and
/// goes back to its list when it has become first and a permit has been returned.
final class NamedLimit: @unchecked Sendable {
  // Sendable: only touched with the lock of the tree held.

  /// A task that waits, or did: it may have been cancelled since.
  struct Waiter {
    let core: WorkflowCore
    let task: TaskIndex
  }

  var maximum: Int
  private(set) var taken = 0
  var line = FIFO<Waiter>()
  /// A look is taken soon whether permits that were offered have been taken.
  var isWatched = false

  var free: Int { maximum - taken }

  init(maximum: Int) { self.maximum = maximum }

  func takePermit() -> Bool {
    guard free > 0 else { return false }
    taken += 1
    return true
  }

  func returnPermit() { taken -= 1 }
}

extension WorkflowCore {
  /// With the lock held: whether a ready task has a permit of its limit, or needs none.
  ///
  /// If not, it waits for one.
  func takePermit(_ index: TaskIndex, _ state: inout State) -> Bool {
    guard let name = state.limitNames[index], let limit = limit(named: name, state) else {
      return true
    }
    if limit.takePermit() {
      state.permits[index] = limit
      return true
    }
    limit.line.append(NamedLimit.Waiter(core: self, task: index))
    return false
  }

  /// The limit of this workflow that has a name, or of the nearest one around it that
  /// has one of that name.
  private func limit(named name: String, _ state: borrowing State) -> NamedLimit? {
    if let own = state.limits[name] { return own }
    var next = state.owner?.core
    while let outer = next {
      if let limit = outer.state.limits[name] { return limit }
      next = outer.state.owner?.core
    }
    return nil
  }

  /// With the lock held: a task has stopped executing.
  func returnPermit(_ index: TaskIndex, _ state: inout State, _ effects: inout Effects) {
    guard let limit = state.permits.removeValue(forKey: index) else { return }
    limit.returnPermit()
    effects.steps.append(.permit(limit))
  }

  /// With the lock held: an executing task only waits from now on, for its fulfilment or
  /// for the workflow inside, and takes no room.
  func waits(_ index: TaskIndex, _ state: inout State, _ effects: inout Effects) {
    state.graph.wait(index)
    returnPermit(index, &state, &effects)
  }

  /// With the lock held: the first tasks in line get in their lists of ready tasks again.
  func offerPermits(_ limit: NamedLimit, _ effects: inout Effects) {
    var free = limit.free
    while free > 0, let waiter = limit.line.popFirst() {
      let (core, node) = (waiter.core, waiter.core.state.graph[waiter.task])
      // (One that was cancelled or reset meanwhile does not wait any more.)
      guard !core.state.isReleased, node.state == .ready,
        node.flags.isDisjoint(with: [.isDelayed, .isListed]), node.flags.contains(.isHandedOver)
      else { continue }
      effects.hasChanged(core)
      core.enqueue(waiter.task, &core.state, &effects)
      free -= 1
    }
    // (The context of those before may be suspended, or busy.)
    if limit.free > 0, !limit.line.isEmpty, !limit.isWatched {
      limit.isWatched = true
      effects.looks.append(
        Look(core: self) { _, effects in
          limit.isWatched = false
          effects.steps.append(.permit(limit))
        })
    }
  }
}

extension Workflow {
  /// Limits how many tasks of a named group execute at the same time.
  ///
  /// Tasks belong to the group by their ``AnyWorkflowTask/limitName``; those of workflows
  /// inside this one as well, unless a nearer workflow limits a group of that name. Tasks
  /// whose work goes on elsewhere, such as async ones, count for as long as they execute;
  /// conditions that wait, and subworkflow tasks whose inner workflow goes on, do not.
  /// A task that waits for its turn holds nothing up: it takes neither a slot of its
  /// context nor room under ``maxConcurrentTaskCount``.
  ///
  /// ```swift
  /// workflow.limit("network", to: 4)
  /// for page in pages { page.limitName = "network" }
  /// ```
  ///
  /// - Parameters:
  ///   - name: The name of the group.
  ///   - maximum: How many may execute; less than one counts as one. A new maximum holds
  ///     from now on: tasks that execute are not stopped.
  public func limit(_ name: String, to maximum: Int) {
    core.perform { state, effects in
      let limit = state.limits[name] ?? NamedLimit(maximum: 1)
      state.limits[name] = limit
      limit.maximum = max(maximum, 1)
      effects.steps.append(.permit(limit))
    }
  }
}

extension AnyWorkflowTask {
  /// The group of tasks whose number is limited together, if the task belongs to one; see
  /// ``Workflow/limit(_:to:)``.
  ///
  /// Set it before the task begins; a change counts from its next start on. A name for
  /// which there is no limit limits nothing.
  public final var limitName: String? {
    get { settingsIfAny?.get(\.limitName) }
    set {
      settingsMade.set { $0.limitName = newValue }
      applyScheduling()
    }
  }
}
