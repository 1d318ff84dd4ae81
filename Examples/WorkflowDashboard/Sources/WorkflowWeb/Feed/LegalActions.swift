import Properations

// What can be done in which state. The buttons of the page and the server's refusals follow
// from the same tables.

extension TaskAction {
  /// The actions that have a meaning for a task.
  ///
  /// - Parameter isOpen: Whether the task is a condition without a value.
  static func legal(in state: WorkflowTaskState, isOpen: Bool) -> [TaskAction] {
    let fulfill: [TaskAction] = isOpen ? [.fulfill] : []
    return switch state {
    case .pending: fulfill + [.cancel]
    // A condition starts when it is fulfilled.
    case .ready: fulfill + [.start, .cancel]
    case .executing: fulfill + [.cancel, .reset]
    case .finished, .skipped: [.reset]
    case .failed, .cancelled: fulfill + [.retry, .reset]
    }
  }

  /// The actions that have a meaning for a task now.
  static func legal(for task: AnyWorkflowTask, in state: WorkflowTaskState) -> [TaskAction] {
    let condition = task as? any Condition
    return legal(in: state, isOpen: condition.map { !$0.isFulfilled } ?? false)
  }
}

extension RunAction {
  /// The actions that have a meaning for the run of a workflow now.
  static func legal(for workflow: Workflow) -> [RunAction] {
    let tasks = workflow.allTasks
    let states = Set(tasks.map(\.state))
    let hasUnended = !states.isDisjoint(with: [.pending, .ready, .executing])
    var legal: [RunAction] = []
    if states.contains(.ready) || hasReadyInside(tasks) { legal.append(.start) }
    if workflow.isPaused { legal.append(.resume) } else if hasUnended { legal.append(.pause) }
    if hasUnended { legal.append(.cancel) }
    if !states.isDisjoint(with: [.failed, .cancelled]) { legal.append(.retry) }
    if !states.isSubset(of: [.pending, .ready]) { legal.append(.reset) }
    return legal
  }

  /// Whether a workflow inside an executing task has a ready task, which a start of the outer
  /// workflow would start.
  private static func hasReadyInside(_ tasks: [AnyWorkflowTask]) -> Bool {
    var next = tasks
    while let task = next.popLast() {
      guard let inner = (task as? any Subworkflow)?.subworkflow, task.isExecuting else { continue }
      let tasks = inner.allTasks
      if tasks.contains(where: \.isReady) { return true }
      next += tasks
    }
    return false
  }
}
