import Futures

@testable import TypedTasks

/// Whether the work of a task goes on although its `execute()` has returned.
///
/// Nothing public tells. (For tasks that are no blocks: these work until they finish.)
func hasReturned(_ task: AnyFuture) -> Bool {
  task.isSettled
    || task.taskCore?.state.withLock { state in
      state.machine.phase == .executing && state.machine.working == 0
    } == true
}

/// Whether a group executes and depends on its members, which its queue has started.
func waitsForMembers(_ group: AnyFuture) -> Bool {
  guard let core = group.taskCore, !core.parts.isEmpty else { return false }
  // (Two works go on while the group begins: the group's, and this beginning.)
  return core.state.withLock { $0.machine.phase == .executing && $0.machine.working == 1 }
}

/// Whether no task of the process holds a category, or waits for one.
func noCategoryIsClaimed() -> Bool { CategoryTable.isUnused }

/// The number of tasks and operations that a queue keeps for the time after its barriers.
func heldByBarriers(of queue: TaskQueue) -> Int {
  queue.state.withLock { $0.epochs.elements.reduce(0) { $0 + $1.held.count } }
}
