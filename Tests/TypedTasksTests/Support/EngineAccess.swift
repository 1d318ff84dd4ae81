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

/// Whether no task of the process holds a category, or waits for one.
func noCategoryIsClaimed() -> Bool { CategoryTable.isUnused }
