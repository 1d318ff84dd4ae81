import Workflows

/// A workflow with a subworkflow that three threads cancel, reset, retry and start at the
/// same time.
///
/// The workflow is then brought to its end.
package enum RestlessSubworkflow {
  private struct Failure: Error {}

  /// Plays one round.
  ///
  /// - Parameter round: The number of the round; it decides the order of the calls.
  /// - Returns: The fault at the end, if there is one.
  package static func play(_ round: Int) async throws -> String? {
    let inner = Workflow(name: "inner")
    let before = try inner.add(BlockWorkflowTask<Int>(name: "before") { $0.finish(with: 1) })
    let runs = Counter()
    let shaky = try inner.add(
      AsyncWorkflowTask<Int>(name: "shaky") { _ in
        if runs.add() % 2 == 1 { throw Failure() }
        return 1
      }, prerequisites: before)
    let workflow =
      round % 2 == 0 ? Workflow(name: "outer", context: .inline) : Workflow(name: "outer")
    let task = try workflow.add(SubworkflowTask(name: "sub", subworkflow: inner))
    await withTaskGroup(of: Void.self) { group in
      for thread in 0..<3 {
        group.addTask {
          for step in 0..<12 {
            switch (step * 7 + thread * 5 + round) % 5 {
            case 0: task.cancel()
            case 1: task.reset()
            case 2: task.retry()
            default: workflow.start()
            }
          }
        }
      }
    }
    for _ in 0..<10 where !task.isFinished {
      _ = try await workflow.retry().value
      _ = try await workflow.start().value
    }
    if task.isFinished, !inner.hasUnfinishedTasks { return nil }
    return "round \(round): \(task.state) outside; \(before.state), \(shaky.state) inside"
  }
}
