// A task does not run again before its hooks have received the earlier news, and before
// its record has been removed from the journal.
//
// News is delivered in order, perhaps on another thread, and the task may be due earlier.
// Such a task is taken out of its list and returns to it when the news has been
// delivered.

extension WorkflowCore {
  /// With the lock held: whether a task's hooks still have to receive news from before
  /// the run that it is ready for.
  @inline(__always)
  func isHeldByHooks(_ index: TaskIndex, _ state: borrowing State) -> Bool {
    !state.untoldHooks.isEmpty && state.untoldHooks[index] != nil
  }

  /// With the lock held: counts news that a task's hooks have to receive before its next
  /// run.
  func noteUntoldHook(_ task: AnyWorkflowTask, _ state: inout State) {
    if task.hasHooks { state.untoldHooks[task.index, default: 0] += 1 }
  }

  /// Notes that a hook has received its news.
  ///
  /// The task may run if that was the last.
  func hookWasTold(_ task: AnyWorkflowTask) {
    perform { state, effects in
      endHold(of: task.index, &state, &effects)
      // A worker on this very thread starts after all news has been delivered. (If no thread
      // delivers any, the hook was called in a context of its own.)
      guard state.isTelling else { return }
      state.spawnsAfterTelling += effects.lateSpawns
      effects.lateSpawns = []
    }
  }

  /// With the lock held: removes one reason to hold a task back.
  ///
  /// The task may run if that was the last.
  func endHold(of index: TaskIndex, _ state: inout State, _ effects: inout Effects) {
    guard let count = state.untoldHooks[index] else { return }
    state.untoldHooks[index] = count > 1 ? count - 1 : nil
    guard count == 1, !state.isReleased, state.graph.mayBegin(index) else { return }
    enqueue(index, &state, &effects)
  }
}
