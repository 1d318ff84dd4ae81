// What a message does to one task, in each of its states.
//
//                       pending    ready      executing  cancelled  finished  failed      skipped
//   added                  -        P or S, -    -          -         -        -           -
//   prerequisiteFinished  R,run/S    -           -          -         -        -           -
//   prerequisiteRunsAgain  -         P          P           -         P        P           P
//   start                  -         run         -          -         -        -           -
//   begin                  -         X           -          -         -        -           -
//   cancel                 C         C           C          -         -        -           -
//   reset                  -         P, R, S    P, R, S    P, R, S   P, R, S  P, R, S     P or R
//   retry                  -         -           -        P, R,run, S  -      P, R,run, S  -
//   finish                 -         -           F          -         -        -           -
//   fail                   -         -           E          -         -        -           -
//   skip                   -         -           S          -         -        -           -
//
// "P, R, S": pending if the task has to wait for a prerequisite, ready if it can run,
// skipped if its prerequisites have ended so that it is not to run; its rule says which
// (see `TaskGraph.Node.verdict`). "run": the task is handed to its context, which begins
// it when there is room; a task that has been cancelled or reset meanwhile is not begun.
// `prerequisiteFinished` changes nothing while another prerequisite is waited for.
// `cancel`, `reset` and `retry` go on to all dependents, whether or not the task itself
// changed; the others do not. But `cancel` does not come to tasks that run when all are
// done, or when any fails, unless they are meant themselves: they are told that a
// prerequisite has ended.

/// Something that happens to a task.
package enum TaskMessage: CaseIterable {
  /// It was put into a workflow.
  case added
  /// One of its prerequisites has finished, or has ended otherwise.
  case prerequisiteFinished
  /// One of its prerequisites had ended, and is to run again.
  case prerequisiteRunsAgain
  /// It is to run.
  case start
  /// Its context has come to it: the second half of `start`.
  case begin
  case cancel
  case reset
  case retry
  case finish
  case fail
  /// Its work says that it is not to be done.
  case skip
}

/// What the prerequisites of a task mean for it.
package enum TaskVerdict: CaseIterable {
  /// It waits for one of them.
  case waits
  /// It can run.
  case runs
  /// It is not to run.
  case skipped
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
  ///   - verdict: What the prerequisites mean.
  /// - Returns: `nil` if the message means nothing in this state.
  package func transition(on message: TaskMessage, verdict: TaskVerdict) -> TaskTransition? {
    switch (message, self) {
    case (.added, .ready):
      verdict == .runs ? nil : TaskTransition(verdict.state)
    case (.prerequisiteFinished, .pending):
      verdict == .waits ? nil : TaskTransition(verdict.state, runs: verdict == .runs)
    case (.prerequisiteRunsAgain, .ready), (.prerequisiteRunsAgain, .executing),
      (.prerequisiteRunsAgain, .finished), (.prerequisiteRunsAgain, .failed),
      (.prerequisiteRunsAgain, .skipped):
      verdict == .waits ? TaskTransition(.pending) : nil
    case (.start, .ready):
      TaskTransition(.ready, runs: true)
    case (.begin, .ready):
      TaskTransition(.executing)
    case (.cancel, .pending), (.cancel, .ready), (.cancel, .executing):
      TaskTransition(.cancelled)
    case (.reset, .skipped) where verdict == .skipped:
      nil
    case (.reset, .ready), (.reset, .executing), (.reset, .cancelled), (.reset, .finished),
      (.reset, .failed), (.reset, .skipped):
      TaskTransition(verdict.state)
    case (.retry, .cancelled), (.retry, .failed):
      TaskTransition(verdict.state, runs: verdict == .runs)
    case (.finish, .executing):
      TaskTransition(.finished)
    case (.fail, .executing):
      TaskTransition(.failed)
    case (.skip, .executing):
      TaskTransition(.skipped)
    default:
      nil
    }
  }
}

extension TaskVerdict {
  /// Where a task stands that has not run.
  fileprivate var state: WorkflowTaskState {
    switch self {
    case .waits: .pending
    case .runs: .ready
    case .skipped: .skipped
    }
  }
}
