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
// skipped if its rule says so now that its prerequisites have ended (see
// `TaskGraph.Node.verdict`). "run": the task is handed to its context, which begins it
// when there is room, unless the task has been cancelled or reset by then.
// `prerequisiteFinished` changes nothing while the task waits for another prerequisite.
//
// `cancel`, `reset` and `retry` travel on to all dependents, whether or not the task
// itself changed; the other messages do not. Tasks that run when all prerequisites are
// done, or when any fails, receive a travelling `cancel` only if it was sent to them;
// otherwise they receive `prerequisiteFinished`.

/// A message to a task.
package enum TaskMessage: CaseIterable {
  /// The task was added to a workflow.
  case added
  /// A prerequisite has finished, or has ended otherwise.
  case prerequisiteFinished
  /// A prerequisite that had ended will run again.
  case prerequisiteRunsAgain
  /// The task is told to run.
  case start
  /// The task's context begins it: the second half of `start`.
  case begin
  case cancel
  case reset
  case retry
  case finish
  case fail
  /// The task's work decides to skip the task.
  case skip
}

/// What the prerequisites of a task mean for it.
package enum TaskVerdict: CaseIterable {
  /// The task waits for a prerequisite.
  case waits
  /// The task can run.
  case runs
  /// The task does not run.
  case skipped
}

/// The effect of a message on a task.
package struct TaskTransition: Equatable {
  /// The new state, which may be the same as the old one.
  package let state: WorkflowTaskState
  /// Whether the task is then handed to its context.
  package let runs: Bool

  package init(_ state: WorkflowTaskState, runs: Bool = false) {
    self.state = state
    self.runs = runs
  }
}

extension WorkflowTaskState {
  /// Whether the task has ended and does not run again by itself.
  var isOver: Bool {
    switch self {
    case .cancelled, .finished, .failed, .skipped: true
    case .pending, .ready, .executing: false
    }
  }

  /// Looks up the table above.
  ///
  /// - Parameters:
  ///   - message: The message.
  ///   - verdict: What the prerequisites mean for the task.
  /// - Returns: The transition, or `nil` if the message has no effect in this state.
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
  /// The state of a task that has not run.
  var state: WorkflowTaskState {
    switch self {
    case .waits: .pending
    case .runs: .ready
    case .skipped: .skipped
    }
  }
}
