// A task does not run again before its hooks have been told what happened to it, and
// before its record is out of the journal.
//
// News are told one after the other, perhaps on another thread, and a run may be
// due before: such a task is taken out of its line and comes back when it has
// been told.

extension WorkflowCore {
  /// With the lock held: whether a task's hooks have yet to be told of what
  /// happened before the run that it is ready for.
  @inline(__always)
  func isHeldByHooks(_ index: TaskIndex, _ state: borrowing State) -> Bool {
    !state.untoldHooks.isEmpty && state.untoldHooks[index] != nil
  }

  /// With the lock held: news for a task's hooks that come before its next run.
  func noteUntoldHook(_ task: AnyWorkflowTask, _ state: inout State) {
    if task.hasHooks { state.untoldHooks[task.index, default: 0] += 1 }
  }

  /// A hook has been told; the task may run if that was what it waited for.
  func hookWasTold(_ task: AnyWorkflowTask) {
    perform { state, effects in
      endHold(of: task.index, &state, &effects)
      // Work on this very thread comes when all is told.
      state.spawnsAfterTelling += effects.lateSpawns
      effects.lateSpawns = []
    }
  }

  /// With the lock held: one thing less for which a task must not run; it may if that
  /// was the last.
  func endHold(of index: TaskIndex, _ state: inout State, _ effects: inout Effects) {
    guard let count = state.untoldHooks[index] else { return }
    state.untoldHooks[index] = count > 1 ? count - 1 : nil
    let node = state.graph[index]
    guard count == 1, !state.isReleased, node.state == .ready,
      node.flags.contains(.isHandedOver), !node.flags.contains(.isDelayed)
    else { return }
    enqueue(index, &state, &effects)
  }
}
