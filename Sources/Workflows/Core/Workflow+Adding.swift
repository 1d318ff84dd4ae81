import Futures

extension Workflow {
  /// Adds a task that runs after its prerequisites.
  ///
  /// If the workflow is running and the prerequisites have finished, the task starts at
  /// once; otherwise it starts as soon as they have. A prerequisite that is given twice
  /// counts once.
  ///
  /// - Parameters:
  ///   - task: A task that is in no workflow.
  ///   - prerequisites: Tasks of this workflow that have to finish first.
  /// - Returns: The task.
  /// - Throws: A ``WorkflowError`` if the task is already in a workflow, if a
  ///   prerequisite is not in this one, if keys are missing, or if the task runs a
  ///   workflow that belongs to another task or contains this one. The workflow is then
  ///   unchanged.
  /// - Complexity: O(the number of prerequisites). For a ``SubworkflowTask`` whose inner
  ///   workflow contains others, in addition O(the number of workflows around this one,
  ///   or inside that one, whichever is less); under a limit, and while there are `events`,
  ///   O(the number of workflows inside). For every subworkflow task, with a progress or a
  ///   journal, also O(the number of tasks inside).
  @discardableResult
  public func add<Task: AnyWorkflowTask>(
    _ task: Task, prerequisites: AnyWorkflowTask...
  ) throws -> Task {
    try insert(task, prerequisites, [])
  }

  /// Adds a task that runs after its prerequisites, given as an array.
  ///
  /// - Parameters:
  ///   - task: A task that is in no workflow.
  ///   - prerequisites: Tasks of this workflow that have to finish first.
  /// - Returns: The task.
  /// - Throws: A ``WorkflowError``, as the variadic form does.
  @discardableResult
  public func add<Task: AnyWorkflowTask>(
    _ task: Task, prerequisites: [AnyWorkflowTask]
  ) throws -> Task {
    try insert(task, prerequisites, [])
  }

  /// Adds a task that runs after its prerequisites, given as a set.
  ///
  /// - Parameters:
  ///   - task: A task that is in no workflow.
  ///   - prerequisites: Tasks of this workflow that have to finish first.
  /// - Returns: The task.
  /// - Throws: A ``WorkflowError``, as the variadic form does.
  @discardableResult
  @_disfavoredOverload
  public func add<Task: AnyWorkflowTask>(
    _ task: Task, prerequisites: Set<AnyWorkflowTask>
  ) throws -> Task {
    try insert(task, Array(prerequisites), [])
  }

  /// Adds a task that finds its prerequisites by key.
  ///
  /// The work gets their results with ``AnyWorkflowTask/prerequisiteResult(forKey:)`` or,
  /// with a typed key, ``AnyWorkflowTask/result(forKey:)``.
  ///
  /// - Parameters:
  ///   - task: A task that is in no workflow.
  ///   - prerequisites: Tasks of this workflow that have to finish first. A task that
  ///     also has a key counts as keyed.
  ///   - keyedPrerequisites: Further prerequisites, by key.
  /// - Returns: The task.
  /// - Throws: A ``WorkflowError`` if the task is already in a workflow, if a
  ///   prerequisite is not in this one, if required keys are missing, or if a typed key
  ///   and its task do not fit. The workflow is then unchanged.
  /// - Complexity: O(the number of prerequisites).
  @discardableResult
  public func add<Task: AnyWorkflowTask>(
    _ task: Task, prerequisites: AnyWorkflowTask...,
    keyedPrerequisites: KeyValuePairs<AnyHashable, AnyWorkflowTask>
  ) throws -> Task {
    try insert(task, prerequisites, keyedPrerequisites.map { ($0.key, $0.value) })
  }

  /// Adds a task that finds its prerequisites by key, with further prerequisites as an
  /// array.
  ///
  /// - Parameters:
  ///   - task: A task that is in no workflow.
  ///   - prerequisites: Tasks of this workflow that have to finish first.
  ///   - keyedPrerequisites: Further prerequisites, by key.
  /// - Returns: The task.
  /// - Throws: A ``WorkflowError``.
  @discardableResult
  public func add<Task: AnyWorkflowTask>(
    _ task: Task, prerequisites: [AnyWorkflowTask],
    keyedPrerequisites: KeyValuePairs<AnyHashable, AnyWorkflowTask>
  ) throws -> Task {
    try insert(task, prerequisites, keyedPrerequisites.map { ($0.key, $0.value) })
  }

  /// Adds a task that finds its prerequisites by key, given as a dictionary.
  ///
  /// The keyed prerequisites are ordered by the descriptions of their keys.
  ///
  /// - Parameters:
  ///   - task: A task that is in no workflow.
  ///   - prerequisites: Tasks of this workflow that have to finish first.
  ///   - keyedPrerequisites: Further prerequisites, by key.
  /// - Returns: The task.
  /// - Throws: A ``WorkflowError``.
  @discardableResult
  @_disfavoredOverload
  public func add<Task: AnyWorkflowTask>(
    _ task: Task, prerequisites: [AnyWorkflowTask] = [],
    keyedPrerequisites: [AnyHashable: AnyWorkflowTask]
  ) throws -> Task {
    let sorted = keyedPrerequisites.map { (text: keyText($0.key), $0) }.sorted { $0.text < $1.text }
    return try insert(task, prerequisites, sorted.map { ($0.1.key, $0.1.value) })
  }

  /// Adds a task that runs according to a rule.
  ///
  /// The work can read the states of its prerequisites. With `add(_:after:when:on:body:)`
  /// it receives their results and errors instead.
  ///
  /// - Parameters:
  ///   - task: A task that is in no workflow.
  ///   - prerequisites: Tasks of this workflow that have to end first.
  ///   - rule: The rule that decides whether the task runs.
  /// - Returns: The task.
  /// - Throws: A ``WorkflowError``, as the form without a rule does.
  /// - Complexity: O(the number of prerequisites); for the first task with another rule
  ///   than ``TriggerRule/whenAllSucceed``, O(tasks + edges).
  @discardableResult
  public func add<Task: AnyWorkflowTask>(
    _ task: Task, prerequisites: [AnyWorkflowTask], when rule: TriggerRule
  ) throws -> Task {
    try insert(task, prerequisites, [], rule)
  }

  /// Adds a prerequisite to a task of this workflow.
  ///
  /// If the task waits for its next attempt (see ``AnyWorkflowTask/retryPolicy``) and the
  /// prerequisite has not finished, the rest of that delay is dropped: the attempt begins when
  /// the prerequisite has finished. It is still the next attempt.
  ///
  /// - Parameters:
  ///   - prerequisite: A task of this workflow that has to finish first.
  ///   - task: A task of this workflow that neither executes nor has finished and was not
  ///     skipped. A task that has failed or was cancelled is accepted: a retry of it waits
  ///     for the prerequisite. If the prerequisite is already one of its prerequisites,
  ///     nothing changes.
  /// - Throws: ``WorkflowError/cycle(_:)`` if the prerequisite waits for the task;
  ///   ``WorkflowError/taskAlreadyBegun(_:)``;
  ///   ``WorkflowError/foreignPrerequisite(_:of:)`` if one of them is not in this
  ///   workflow. The workflow is then unchanged.
  /// - Complexity: O(the number of the task's prerequisites) if this prerequisite was added
  ///   before the task, and so were those of all earlier calls for this workflow. From the
  ///   first prerequisite that was added after its task, each call looks at all tasks that
  ///   depend on the task, directly or indirectly: O(these tasks and the edges between
  ///   them). The same holds where the task comes to wait in vain and a task has a rule, and in
  ///   a run of `start(only:)` for all tasks in front of the prerequisite.
  public func addPrerequisite(
    _ prerequisite: AnyWorkflowTask, to task: AnyWorkflowTask
  ) throws {
    guard contains(prerequisite), contains(task) else {
      throw WorkflowError.foreignPrerequisite(contains(task) ? prerequisite : task, of: task)
    }
    try core.perform { state, effects in
      let (from, to) = (prerequisite.index, task.index)
      if let path = state.graph.path(from: to, to: from) {
        throw WorkflowError.cycle(path.map { state.tasks[Int($0)] } + [task])
      }
      guard !state.graph.hasEdge(from: from, to: to) else { return }
      switch state.graph[to].state {
      case .executing, .finished, .skipped: throw WorkflowError.taskAlreadyBegun(task)
      case .pending, .ready, .cancelled, .failed: break
      }
      var reached: [TaskIndex] = []
      if state.graph.addEdge(from: from, to: to, reached: { reached.append($0) }) {
        core.endRun(to, &state, &effects)
        if state.graph[to].state == .skipped { reached.insert(to, at: 0) }
      }
      for index in reached { core.prerequisiteHasEnded(of: index, &state, &effects) }
      if state.graph.isExcluded(from), !state.graph.isExcluded(to) {
        core.join(state.graph.ancestors(of: from), &state, &effects)
      }
      if !reached.isEmpty, state.graph.unfinishedCount == 0 {
        core.allHaveFinished(&state, &effects)
      }
    }
  }

  // MARK: One way in

  private func insert<Task: AnyWorkflowTask>(
    _ task: Task, _ unkeyed: [AnyWorkflowTask],
    _ keyed: [(AnyHashable, AnyWorkflowTask)], _ rule: TriggerRule = .whenAllSucceed
  ) throws -> Task {
    // A thread that goes on adding tasks inside must not hold this one up for ever.
    for _ in 0..<8 where try inserts(task, unkeyed, keyed, rule, isLastTry: false) { return task }
    _ = try inserts(task, unkeyed, keyed, rule, isLastTry: true)
    return task
  }

  /// Inserts a task, unless another thread adds a task inside it that would not be recorded.
  ///
  /// - Returns: Whether the task was inserted.
  private func inserts(
    _ task: AnyWorkflowTask, _ unkeyed: [AnyWorkflowTask],
    _ keyed: [(AnyHashable, AnyWorkflowTask)], _ rule: TriggerRule, isLastTry: Bool
  ) throws -> Bool {
    // Calls that may run user code come before the lock.
    let required = task.requiredPrerequisiteKeys
    var byKey: [AnyHashable: AnyWorkflowTask] = [:]
    if !keyed.isEmpty || !required.isEmpty {
      byKey = try checked(keyed, required: required, of: task)
    }
    let nesting = task.nesting
    if let nesting { WorkflowTree.join(core.tree, nesting.inner.core.tree) }
    let scheduling = task.settingsIfAny?.current
    let core = core
    let journaling = rule == .whenAllSucceed ? task.journaling : nil
    let codings = core.codings(inside: task)
    let isIn = try core.perform { state, effects in
      if nesting != nil, !isLastTry, !core.canShareJournal(with: codings, state) { return false }
      if let other = task.core {
        throw other === core
          ? WorkflowError.taskAlreadyAdded(task) : WorkflowError.taskInAnotherWorkflow(task)
      }
      // Each prerequisite once, keyed or not, in the order given.
      var indices: ContiguousArray<TaskIndex> = []
      for prerequisite in unkeyed { try append(prerequisite, to: &indices, of: task) }
      for (_, prerequisite) in keyed { try append(prerequisite, to: &indices, of: task) }
      if indices.count > 1 { indices = state.graph.unique(indices) }
      if let nesting { try core.checkNesting(nesting, in: task, state) }
      guard let before = task.enter(core) else {
        throw WorkflowError.taskInAnotherWorkflow(task)
      }
      let index = state.graph.addTask(
        state: before, rule: rule, prerequisites: indices, hearsMessages: task.hearsMessages,
        runsWorkflow: nesting != nil)
      task.index = index
      state.tasks.append(task)
      state.finishIsTold = false
      if let nesting {
        core.shareJournal(with: codings, state)
        core.nest(nesting, in: task, &state)
        effects.hasChanged(nesting.inner.core)
      }
      if before == .cancelled, state.owner != nil {
        effects.steps.append(.innerTaskGot(.cancel, core))
      }
      if !byKey.isEmpty { state.keys[index] = byKey.mapValues { $0.index } }
      // A new task leaves no other context, so nothing has to be released.
      if let scheduling { _ = core.schedule(index, scheduling, &state) }
      if let journaling { state.journal?.add(journaling, for: index) }
      if state.graph[index].state == .skipped {
        core.prerequisiteHasEnded(of: index, &state, &effects)
      }
      if state.isRunning, !state.graph.isExcluded(index), state.graph.start(index) {
        core.enqueue(index, &state, &effects)
      }
      return true
    }
    guard isIn else { return false }
    // Another thread may have changed the settings while the task was being added.
    if let settings = task.settingsIfAny, settings.current.changes != scheduling?.changes ?? 0 {
      task.applyScheduling()
    }
    core.taskWasAdded(task)
    return true
  }

  /// With the lock held: checks a prerequisite and appends it to the list.
  private func append(
    _ prerequisite: AnyWorkflowTask, to indices: inout ContiguousArray<TaskIndex>,
    of task: AnyWorkflowTask
  ) throws {
    guard prerequisite !== task else { throw WorkflowError.cycle([task, task]) }
    guard prerequisite.core === core else {
      throw WorkflowError.foreignPrerequisite(prerequisite, of: task)
    }
    indices.append(prerequisite.index)
  }

  /// Checks the keyed prerequisites and returns them by plain key.
  private func checked(
    _ keyed: [(AnyHashable, AnyWorkflowTask)], required: Set<AnyHashable>, of task: AnyWorkflowTask
  ) throws -> [AnyHashable: AnyWorkflowTask] {
    var byKey: [AnyHashable: AnyWorkflowTask] = [:]
    for (key, prerequisite) in keyed {
      try check(prerequisite, fits: key, of: task)
      if let other = byKey.updateValue(prerequisite, forKey: key.plainKey), other !== prerequisite {
        throw WorkflowError.duplicatePrerequisiteKey(keyText(key), of: task)
      }
    }
    var missing: [String] = []
    for key in required {
      if let prerequisite = byKey[key.plainKey] {
        try check(prerequisite, fits: key, of: task)
      } else {
        missing.append(keyText(key))
      }
    }
    guard missing.isEmpty else {
      throw WorkflowError.missingPrerequisiteKeys(missing.sorted(), of: task)
    }
    return byKey
  }

  private func check(
    _ prerequisite: AnyWorkflowTask, fits key: AnyHashable, of task: AnyWorkflowTask
  ) throws {
    guard let expected = key.expectedOutput, expected != prerequisite.outputType else { return }
    throw WorkflowError.wrongPrerequisiteType(
      key: keyText(key), prerequisite: prerequisite, expected: String(describing: expected),
      of: task)
  }

  private func keyText(_ key: AnyHashable) -> String { String(describing: key.plainKey.base) }
}
