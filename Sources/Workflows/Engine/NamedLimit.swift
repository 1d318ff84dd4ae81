import Futures

/// The permits of a named group of tasks, and the tasks that wait for one.
///
/// A task takes a permit before it begins and keeps it while it executes. If no permit is
/// free, the task waits in the line of the limit, in no list of ready tasks. It returns
/// to its list when it is first in line and a permit is free.
final class NamedLimit: @unchecked Sendable {
  // Sendable: only accessed with the lock of the tree held.

  /// A task that waits for a permit.
  ///
  /// It may have been cancelled since it entered the line.
  struct Waiter {
    let core: WorkflowCore
    let task: TaskIndex
  }

  var maximum: Int
  private(set) var taken = 0
  var line = FIFO<Waiter>()
  /// A check whether offered permits have been taken is scheduled.
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
  /// If not, the task enters the line of the limit.
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

  /// Returns the limit with a name: of this workflow, or else of the nearest workflow
  /// around it that has one.
  private func limit(named name: String, _ state: borrowing State) -> NamedLimit? {
    if let own = state.limits[name] { return own }
    var next = state.owner?.core
    while let outer = next {
      if let limit = outer.state.limits[name] { return limit }
      next = outer.state.owner?.core
    }
    return nil
  }

  /// With the lock held: gives back the permit of a task that has stopped executing.
  func returnPermit(_ index: TaskIndex, _ state: inout State, _ effects: inout Effects) {
    guard let limit = state.permits.removeValue(forKey: index) else { return }
    limit.returnPermit()
    effects.steps.append(.permit(limit))
  }

  /// With the lock held: notes that an executing task only waits from now on (for its
  /// fulfillment or for an inner workflow) and takes no room.
  func waits(_ index: TaskIndex, _ state: inout State, _ effects: inout Effects) {
    state.graph.wait(index)
    returnPermit(index, &state, &effects)
  }

  /// With the lock held: returns the first tasks in line to their lists of ready tasks.
  func offerPermits(_ limit: NamedLimit, _ effects: inout Effects) {
    var free = limit.free
    while free > 0, let waiter = limit.line.popFirst() {
      let (core, node) = (waiter.core, waiter.core.state.graph[waiter.task])
      // A task that was cancelled or reset meanwhile no longer waits.
      guard !core.state.isReleased, node.state == .ready,
        node.flags.isDisjoint(with: [.isDelayed, .isListed]), node.flags.contains(.isHandedOver)
      else { continue }
      effects.hasChanged(core)
      core.enqueue(waiter.task, &core.state, &effects)
      free -= 1
    }
    // The context of the tasks above may be suspended or busy.
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
  /// A task belongs to the group that its ``AnyWorkflowTask/limitName`` names. The limit
  /// also holds for tasks of workflows inside this one, unless a nearer workflow has a
  /// limit of that name. A task whose work goes on elsewhere, such as an async one,
  /// counts while it executes. A condition that waits does not count, and neither does a
  /// subworkflow task whose inner workflow runs. A task that waits for a permit holds up
  /// no other task: it takes neither a slot of its context nor room under
  /// ``maxConcurrentTaskCount``.
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
      let limit = state.limits[name] ?? NamedLimit(maximum: 1)
      state.limits[name] = limit
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
