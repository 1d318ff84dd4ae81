import Properations

/// What became of a target.
struct Built: Sendable {
  /// What it is now.
  let stamp: Stamp
  /// What there was to do for it.
  let work: Work

  enum Work: Sendable {
    /// Nothing: it is a mere name, without commands.
    case nothing
    /// Nothing any more: it was up to date.
    case done
    /// Its commands were run.
    case run(Reason, Shell.Outcome)
  }
}

/// A plan as a workflow: a task for each target.
struct Graph: Sendable {
  let workflow: Workflow
  private let tasks: [AnyWorkflowTask: FutureWorkflowTask<Built>]

  /// - Parameter build: Builds a target, given what became of its
  ///   prerequisites in their order; `nil` for one that is no target.
  init(
    of plan: Plan, name: String,
    build: @escaping @Sendable (Rule, [Built?]) throws -> Future<Built>
  ) throws {
    // Inline: a task only looks at files and starts a script, which the thread that has
    // noticed the end of another one does at once.
    workflow = Workflow(name: name, context: .inline)
    var tasks: [String: FutureWorkflowTask<Built>] = [:]
    // Prerequisites come first in a plan.
    for rule in plan.rules {
      let needed = rule.prerequisites.map { tasks[$0] }
      let task = FutureWorkflowTask(name: rule.target) { run in
        try build(rule, needed.map { try $0.map(run.result) })
      }
      try workflow.add(task, prerequisites: needed.compactMap { $0 })
      tasks[rule.target] = task
    }
    self.tasks = Dictionary(uniqueKeysWithValues: tasks.values.map { ($0, $0) })
  }

  /// What became of the target of a task that has finished.
  func built(by task: AnyWorkflowTask) -> Built? { tasks[task]?.result }
}
