import Properations

extension TaskTree {
  /// Returns the identifiers of the tasks on the critical path of a workflow's last run.
  ///
  /// The library computes the path of one workflow and counts a task around a workflow as a
  /// whole. Here the critical path of the inner workflow follows such a task, at any depth.
  func criticalPath(of workflow: Workflow) -> [String] {
    var path: [String] = []
    // The tasks that are still to come, last to first; no recursion, since workflows may be
    // nested deeply.
    var rest = workflow.criticalTasksLastToFirst
    while let task = rest.popLast() {
      // A task that was added a moment ago is not in the tree yet.
      guard let position = position(of: task) else { continue }
      path.append(nodes[position].id)
      if let inner = (task as? any Subworkflow)?.subworkflow {
        rest += inner.criticalTasksLastToFirst
      }
    }
    return path
  }
}

extension Workflow {
  fileprivate var criticalTasksLastToFirst: [AnyWorkflowTask] {
    traceSummary.criticalPath.reversed().map(\.task)
  }
}
