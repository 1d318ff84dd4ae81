import Futures

@testable import TypedTasks

/// Whether the work of a task goes on although its `execute()` has returned.
///
/// Nothing public tells.
func hasReturned(_ task: AnyFuture) -> Bool {
  task.isSettled || task.taskCore?.state.withLock { $0.machine.hasReturned } == true
}

/// Whether no task of the process holds a category, or waits for one.
func noCategoryIsClaimed() -> Bool { CategoryTable.isUnused }
