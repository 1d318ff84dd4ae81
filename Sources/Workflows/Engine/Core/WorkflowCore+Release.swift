import Futures

// The end of a workflow to which there is no reference any more.

extension WorkflowCore {
  /// Lets go of the tasks while the workflow is released.
  func release() {
    closeJournal()
    let (tasks, broken, streams, errors, attempts) = perform { state, effects in
      state.isReleased = true
      endNesting(&state, &effects)
      // Abandoned runs never end by themselves: their work is stopped here.
      effects.stopped += state.extras.values
      state.extras = [:]
      state.limits = NamedLimits()
      for (index, error) in state.errors {
        let task = state.tasks[Int(index)]
        task.keptError = KeptError(error, of: task)
      }
      let waiters = state.taskWaiters.values.flatMap { $0.values.map(\.future) }
      let released = (
        state.tasks, state.takeOutcomes() + waiters, Array(state.streams.values), state.errors,
        state.attempts
      )
      state.taskWaiters = [:]
      state.tasks = []
      state.errors = [:]
      // The errors may hold tasks, and tasks hold this core.
      state.attempts = [:]
      state.streams = [:]
      return released
    }
    for stream in streams { stream.continuation.finish() }
    for future in broken { future.breakPromise() }
    withExtendedLifetime((errors, attempts)) {}
    guard !tasks.isEmpty else { return }
    // The closures of tasks hold their prerequisites, and tasks hold inner workflows.
    // Releasing them one by one, last first, avoids recursion.
    let remains = Remains(consume tasks)
    WorkflowThread.current.call { remains.release() }
  }

  /// The tasks of a released workflow.
  ///
  /// No other reference to the array exists.
  private final class Remains {
    private var tasks: ContiguousArray<AnyWorkflowTask>
    init(_ tasks: consuming ContiguousArray<AnyWorkflowTask>) { self.tasks = tasks }
    func release() {
      for task in tasks {
        task.settingsIfAny?.dropPolicy()
        task.workflowIsGone()
      }
      while tasks.popLast() != nil {}
    }
  }
}
