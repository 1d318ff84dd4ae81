import Futures

/// A workflow at one moment, for drawings and traces.
struct Snapshot {
  struct Task {
    let task: AnyWorkflowTask
    let state: WorkflowTaskState
    let prerequisites: [Int]
    let rule: TriggerRule
    /// The failed attempts before the last one, as far as they are kept.
    let failedAttempts: [TaskAttempt]
    /// How long the failed attempts took that are no longer kept.
    let droppedWork: UInt64
    /// When the first attempt began; zero if none has.
    let firstBegan: UInt64
    /// When the last attempt began and ended, in nanoseconds; zero if it has not.
    let began: UInt64
    let ended: UInt64
    let runs: UInt32

    /// How long the last attempt took, or has taken until now.
    func duration(now: UInt64) -> UInt64 {
      guard began > 0 else { return 0 }
      let end = ended > 0 ? ended : state == .executing ? now : began
      return end > began ? end - began : 0
    }

    /// How long all attempts took, including the waits between them.
    func fullDuration(now: UInt64) -> UInt64 {
      began > 0 ? began - min(firstBegan, began) + duration(now: now) : 0
    }

    /// How long the work of all attempts took.
    func work(now: UInt64) -> UInt64 {
      failedAttempts.reduce(droppedWork &+ duration(now: now)) { $0 &+ ($1.ended &- $1.began) }
    }
  }

  let name: String
  let tasks: [Task]

  /// - Parameter start: A time since which the attempts count, also those before the last run of
  ///   the workflow.
  init(of workflow: Workflow, since start: UInt64 = .max) {
    name = workflow.name
    tasks = workflow.core.read { state in
      let start = min(state.runBegan, start)
      return state.tasks.indices.map { i in
        let index = TaskIndex(i)
        let node = state.graph[index]
        // Attempts of an earlier run of the workflow are left out.
        let isRecent = node.began >= start
        let attempts = isRecent ? state.attempts[index] : nil
        var failed = attempts?.failed ?? []
        // If the last failed attempt is not followed by another yet, it is the last run
        // itself.
        if failed.last?.began == node.began { failed.removeLast() }
        return Task(
          task: state.tasks[i], state: node.state,
          prerequisites: state.graph.prerequisites(of: index).map { Int($0) }, rule: node.rule,
          failedAttempts: failed, droppedWork: attempts?.droppedWork ?? 0,
          firstBegan: attempts?.began ?? (isRecent ? node.began : 0),
          began: isRecent ? node.began : 0, ended: isRecent ? node.ended : 0, runs: node.run)
      }
    }
  }

  /// The numbers of the tasks, prerequisites first.
  var order: [Int] { prerequisitesFirst(tasks.map(\.prerequisites)) }
}
