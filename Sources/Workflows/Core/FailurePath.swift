extension AnyWorkflowTask {
  /// The tasks through which the failure of this task came, from the outside inwards.
  ///
  /// The first is the task itself. If it runs a subworkflow, the inner task that failed
  /// first follows, and so on. Empty unless the task has failed. Each access looks the
  /// path up: an inner task that has been reset or retried since is left out.
  ///
  /// - Complexity: O(the number of failed tasks in the workflows inside).
  public final var failurePath: [AnyWorkflowTask] {
    var path: [AnyWorkflowTask] = []
    var next = isFailed ? self : nil
    while let task = next {
      path.append(task)
      next = task.nesting?.inner.core.read { $0.earliestFailure }?.task
    }
    return path
  }
}

extension WorkflowCore.State {
  /// The task that failed first, and its error.
  var earliestFailure: (task: AnyWorkflowTask, error: any Error)? {
    errors.min { graph[$0.key].endDate < graph[$1.key].endDate }
      .map { (tasks[Int($0.key)], $0.value) }
  }
}
