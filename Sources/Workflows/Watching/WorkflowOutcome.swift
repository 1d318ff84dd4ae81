/// How a run of a workflow ended: when no task goes on by itself any more.
public enum WorkflowOutcome: Sendable {
  /// Every task has finished.
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
  /// Whether every task has finished.
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

extension WorkflowOutcome: CustomStringConvertible {
  /// A sentence that names the tasks, in the order of their names; if there are
  /// many, the first twenty.
  public var description: String {
    switch self {
    case .finished: "finished"
    case .failed(let errors):
      "failed: " + Self.list(errors.map { "\($0.key.name) (\($0.value))" })
    case .cancelled(let tasks):
      "cancelled: " + Self.list(tasks.map(\.name))
    case .stuck(let waiting):
      "stuck: "
        + Self.list(
          waiting.map { task, others in
            others.isEmpty
              ? "\(task.name) (\(task.state))"
              : "\(task.name) waits for \(others.map(\.name).joined(separator: " and "))"
          })
    }
  }

  private static func list(_ names: [String]) -> String {
    let limit = 20
    let named = names.sorted().prefix(limit).joined(separator: ", ")
    return names.count > limit ? named + " and \(names.count - limit) more" : named
  }
}
