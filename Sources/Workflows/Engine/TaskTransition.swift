// What a message does to one task, in each of its states.
//
//                       pending    ready      executing  cancelled  finished  failed
//   added                  -        P, or -       -          -         -        -
//   prerequisiteFinished  R, run     -            -          -         -        -
//   start                  -        run           -          -         -        -
//   begin                  -         X            -          -         -        -
//   cancel                 C         C            C          -         -        -
//   reset                  -        P or R      P or R     P or R    P or R   P or R
//   retry                  -         -            -        P or R,run  -      P or R,run
//   finish                 -         -            F          -         -        -
//   fail                   -         -            E          -         -        -
//
// "P or R": ready if all prerequisites have finished, else pending. "run": the
// task is handed to its context, which begins it when there is room; a task
// that has been cancelled or reset meanwhile is not begun. `prerequisiteFinished`
// changes nothing while another prerequisite has not finished. `cancel`,
// `reset` and `retry` go on to all dependents, whether or not the task itself
// changed; the others do not.

/// Something that happens to a task.
package enum TaskMessage: CaseIterable {
  /// It was put into a workflow.
  case added
  /// One of its prerequisites has finished.
  case prerequisiteFinished
  /// It is to run.
  case start
  /// Its context has come to it: the second half of `start`.
  case begin
  case cancel
  case reset
  case retry
  case finish
  case fail
}

/// What a message makes of a task.
package struct TaskTransition: Equatable {
  /// The new state; it may be the old one.
  package let state: WorkflowTaskState
  /// Whether the task is then handed to its context.
  package let runs: Bool

  package init(_ state: WorkflowTaskState, runs: Bool = false) {
    self.state = state
    self.runs = runs
  }
}

extension WorkflowTaskState {
  /// The table above.
  ///
  /// - Parameters:
  ///   - message: What happens.
  ///   - isUnblocked: Whether all prerequisites have finished.
  /// - Returns: `nil` if the message means nothing in this state.
  package func transition(on message: TaskMessage, isUnblocked: Bool) -> TaskTransition? {
    switch (message, self) {
    case (.added, .ready):
      isUnblocked ? nil : TaskTransition(.pending)
    case (.prerequisiteFinished, .pending):
      isUnblocked ? TaskTransition(.ready, runs: true) : nil
    case (.start, .ready):
      TaskTransition(.ready, runs: true)
    case (.begin, .ready):
      TaskTransition(.executing)
    case (.cancel, .pending), (.cancel, .ready), (.cancel, .executing):
      TaskTransition(.cancelled)
    case (.reset, .ready), (.reset, .executing), (.reset, .cancelled), (.reset, .finished),
      (.reset, .failed):
      TaskTransition(isUnblocked ? .ready : .pending)
    case (.retry, .cancelled), (.retry, .failed):
      isUnblocked ? TaskTransition(.ready, runs: true) : TaskTransition(.pending)
    case (.finish, .executing):
      TaskTransition(.finished)
    case (.fail, .executing):
      TaskTransition(.failed)
    default:
      nil
    }
  }
}
