/// How a run of a workflow ended.
///
/// A run ends when no task executes or can start.
public enum WorkflowOutcome: Sendable {
  /// Every task has finished or was skipped.
  case finished
  /// Some tasks have failed, with these errors. Their dependents without a rule of their own
  /// are pending, or cancelled if ``Workflow/failFast``, the timeout or a `cancel()` has ended
  /// the run.
  case failed([AnyWorkflowTask: any Error])
  /// No task has failed, but these were cancelled, in the order in which they were added.
  case cancelled([AnyWorkflowTask])
  /// No task has failed or was cancelled, but some have not finished.
  ///
  /// Each task comes with its unfinished prerequisites. A task without any executes an
  /// abandoned run (its closure released the run without ending it), runs a workflow that
  /// is stuck itself, or is ready: it was not started, or was reset during the run.
  case stuck([AnyWorkflowTask: [AnyWorkflowTask]])
}

extension WorkflowOutcome {
  /// Whether every task has finished or was skipped.
  public var isFinished: Bool { if case .finished = self { true } else { false } }

  /// The errors by task; empty unless some have failed.
  public var errors: [AnyWorkflowTask: any Error] {
    if case .failed(let errors) = self { return errors }
    return [:]
  }
}

extension WorkflowOutcome: Hashable {
  /// Compares the cases and the tasks, and errors by domain and code.
  public static func == (lhs: Self, rhs: Self) -> Bool {
    switch (lhs, rhs) {
    case (.finished, .finished): true
    case (.failed(let a), .failed(let b)):
      a.count == b.count
        && a.allSatisfy { task, error in
          guard let other = b[task] else { return false }
          return areSame(error, other)
        }
    case (.cancelled(let a), .cancelled(let b)): a == b
    case (.stuck(let a), .stuck(let b)): a == b
    default: false
    }
  }

  /// Hashes the case and the tasks.
  public func hash(into hasher: inout Hasher) {
    switch self {
    case .finished: hasher.combine(0)
    case .failed(let errors): hasher.combine(Set(errors.keys))
    case .cancelled(let tasks): hasher.combine(tasks)
    case .stuck(let waiting): hasher.combine(waiting)
    }
  }
}

extension WorkflowOutcome: CustomStringConvertible {
  /// A sentence with the names of the tasks, for people.
  ///
  /// It names the first twenty tasks, in the order of their names, and the first five
  /// unfinished prerequisites of each. The length is bounded, however many tasks there
  /// are. A name that is not a single word is in quotes, and a long name is cut. For a
  /// failure inside a subworkflow, it also names the inner tasks of the
  /// ``AnyWorkflowTask/failurePath``. An error stands there as its own message, if it is a
  /// `LocalizedError`, and is cut if it is long.
  public var description: String {
    switch self {
    case .finished: "finished"
    case .failed(let errors):
      "failed: "
        + Self.list(errors.map(\.key)) { name, task in
          let inner = TaskNames.innerPath(task.failurePath.dropFirst())
          return "\(name)\(inner) (\(errors[task].map { shortText(of: $0) } ?? ""))"
        }
    case .cancelled(let tasks):
      "cancelled: " + Self.list(tasks) { name, _ in name }
    case .stuck(let waiting):
      "stuck: "
        + Self.list(waiting.map(\.key)) { name, task in
          let others = waiting[task] ?? []
          guard !others.isEmpty else { return "\(name) (\(task.state))" }
          let names = TaskNames.list(others.count, limit: 5, separator: " and ") {
            TaskNames.plain(others[$0].name)
          }
          return "\(name) waits for \(names)"
        }
    }
  }

  /// - Parameter text: Receives the name as it is written, and the task.
  private static func list(
    _ tasks: [AnyWorkflowTask], _ text: (String, AnyWorkflowTask) -> String
  ) -> String {
    // Sorted by the full name, not by the text that is shown.
    let sorted = tasks.map { (name: $0.name, task: $0) }.sorted { $0.name < $1.name }
    return TaskNames.list(sorted.count, limit: 20) { place in
      text(TaskNames.plain(sorted[place].name), sorted[place].task)
    }
  }

}
