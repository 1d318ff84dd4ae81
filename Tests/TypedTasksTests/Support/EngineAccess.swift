import Futures

@testable import TypedTasks

/// Whether the work of a task goes on although its `execute()` has returned.
///
/// Nothing public tells.
func hasReturned(_ task: AnyFuture) -> Bool {
  task.isSettled
    || task.taskCore?.state.withLock { $0.slot != nil || $0.isStartedByForeignQueue } == true
}

/// How many edges in the process make tasks look for circles when they are
/// enqueued.
func forwardEdgeCount() -> Int { WaitGraph.forwardEdgeCount }
