import Properations

/// The result of a target.
struct Built: Sendable {
  /// The current stamp of the target.
  let stamp: Stamp
  /// The work that the target needed.
  let work: Work

  enum Work: Sendable {
    /// None: the target has no commands.
    case nothing
    /// None: the target was up to date.
    case done
    /// The target's commands ran.
    case run(Reason, Shell.Outcome)
  }
}

/// A plan as a workflow with a task for each target.
struct Graph: Sendable {
  let workflow: Workflow
  private let tasks: [AnyWorkflowTask: FutureWorkflowTask<Built>]

  /// - Parameter build: Builds a target from the results of its prerequisites in their
  ///   order; `nil` stands for a prerequisite that is a file.
  init(
    of plan: Plan, name: String,
    build: @escaping @Sendable (Rule, [Built?]) throws -> Future<Built>
  ) throws {
    // Inline: a task only looks at files and starts a script. The thread that has noticed
    // the end of another script does that at once.
    workflow = Workflow(name: name, context: .inline)
    var tasks: [String: FutureWorkflowTask<Built>] = [:]
    // A plan lists prerequisites first.
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

  /// Returns the result of the target of a task that has finished.
  func built(by task: AnyWorkflowTask) -> Built? { tasks[task]?.result }
}
