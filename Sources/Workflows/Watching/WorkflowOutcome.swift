/// How a run of a workflow ended: when no task goes on by itself any more.
public enum WorkflowOutcome: Sendable {
  /// Every task has finished, or was skipped.
  case finished
  /// Some tasks have failed, with these errors; what depends on them is
  /// pending.
  case failed([AnyWorkflowTask: any Error])
  /// No task has failed, but these were cancelled; in the order in which they
  /// were added.
  case cancelled([AnyWorkflowTask])
  /// No task has failed and none was cancelled, and yet some are not finished.
  ///
  /// Each with the unfinished tasks that it waits for. A task that waits for
  /// none either executes, but nobody is left who could finish it (a block
  /// that forgot to), or is ready and was never started.
  case stuck([AnyWorkflowTask: [AnyWorkflowTask]])
}

extension WorkflowOutcome {
  /// Whether every task has finished, or was skipped.
  public var isFinished: Bool {
    if case .finished = self { return true }
    return false
  }

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
  /// A sentence that names the tasks, in the order of their names: the first twenty,
  /// and of each the first five tasks that it waits for.
  ///
  /// Its length is bounded, however many tasks there are. A name that is more than
  /// a word is in quotes, and a long one is cut. A failure inside a subworkflow names
  /// the tasks through which it came, as ``AnyWorkflowTask/failurePath`` does.
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

  /// - Parameter text: Gets the name as it is written, and the task.
  private static func list(
    _ tasks: [AnyWorkflowTask], _ text: (String, AnyWorkflowTask) -> String
  ) -> String {
    // (Sorted by name, whatever is written of a name.)
    let sorted = tasks.map { (name: $0.name, task: $0) }.sorted { $0.name < $1.name }
    return TaskNames.list(sorted.count, limit: 20) { place in
      text(TaskNames.plain(sorted[place].name), sorted[place].task)
    }
  }

}
