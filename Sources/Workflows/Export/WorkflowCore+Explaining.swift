import Futures

// What the future of a workflow's task waits for, in sentences.

extension WorkflowCore {
  /// What has to happen before a task ends; `nil` if the workflow has been released.
  ///
  /// - Complexity: O(the number of tasks and prerequisites in front of the task).
  func reasonToWait(for index: TaskIndex) -> FutureExplanation.Reason? {
    let read = read {
      state -> (own: Standing, awaited: [Standing], front: [Standing], isPaused: Bool)? in
      if state.isReleased { return nil }
      let awaited = state.unendedPrerequisites(of: index)
      let front = state.tasksInFront(of: awaited)
      return (
        state.standing(of: index), awaited.map(state.standing), front.map(state.standing),
        state.room.isPaused
      )
    }
    // Names have a lock of their own.
    guard let (own, awaited, front, isPaused) = read else { return nil }
    let title = "The workflow task \(TaskNames.quoted(own.task.name))"
    let text =
      switch own.state {
      case .executing where own.isWaiting: "\(title) waits to be fulfilled."
      case .executing: "\(title) executes."
      case .ready where isPaused: "\(title) is ready. Its workflow is paused."
      case .ready: "\(title) is ready. It waits to be started, and for room in its context."
      case .pending where !awaited.isEmpty:
        "\(title) waits for \(titles(of: awaited))."
          + (front.isEmpty ? "" : " In front of these: \(titles(of: front)).")
      case .pending: "\(title) is pending."
      case .finished, .failed, .cancelled, .skipped: "\(title) has just ended."
      }
    return .init(.workflow, text)
  }

  /// What has to happen before a run ends.
  ///
  /// - Complexity: O(the number of tasks).
  func reasonForRun(of name: String) -> FutureExplanation.Reason? {
    let (executing, waiting, isStopping, isPaused) = read { state in
      var tasks: [WorkflowTaskState: [Standing]] = [:]
      for index in 0..<TaskIndex(state.graph.count) where !state.graph.isExcluded(index) {
        let standing = state.standing(of: index)
        tasks[standing.state, default: []].append(standing)
      }
      let begun = tasks[.executing, default: []]
      let conditions = begun.filter(\.isWaiting)
      let waiting = conditions + tasks[.ready, default: []] + tasks[.pending, default: []]
      return (begun.filter { !$0.isWaiting }, waiting, state.stopping > 0, state.room.isPaused)
    }
    var text = "The workflow \(TaskNames.quoted(name)) \(isPaused ? "is paused" : "runs")."
    if !executing.isEmpty { text += " These tasks execute: \(titles(of: executing))." }
    if !waiting.isEmpty { text += " These tasks wait: \(titles(of: waiting))." }
    if isStopping { text += " Work that was cancelled has not ended." }
    return .init(.workflow, text)
  }

  fileprivate typealias Standing = (
    task: AnyWorkflowTask, state: WorkflowTaskState, isWaiting: Bool
  )

  private func titles(of tasks: [Standing]) -> String {
    TaskNames.list(tasks.count, limit: 4) { position in
      let (task, state, isWaiting) = tasks[position]
      let standing = isWaiting ? "waits to be fulfilled" : state.description.lowercased()
      return "\(TaskNames.quoted(task.name)) (\(standing))"
    }
  }
}

extension WorkflowCore.State {
  fileprivate func standing(of index: TaskIndex) -> WorkflowCore.Standing {
    let node = graph[index]
    let task = tasks[Int(index)]
    // A task that runs a workflow does not count as executing either, because the tasks inside
    // do.
    let isWaiting = node.flags.contains(.isWaiting) && task.nesting == nil
    return (task, node.state, node.state == .executing && isWaiting)
  }

  fileprivate func unendedPrerequisites(of index: TaskIndex) -> [TaskIndex] {
    graph.prerequisites(of: index).filter { !graph[$0].state.isOver }
  }

  /// The tasks that wait for no other task, and for which some tasks wait, directly or not.
  fileprivate func tasksInFront(of indices: [TaskIndex]) -> [TaskIndex] {
    let known = Set(indices)
    var seen = known
    var (stack, front) = (indices, [TaskIndex]())
    while let next = stack.popLast() {
      let awaited = unendedPrerequisites(of: next)
      if awaited.isEmpty, !known.contains(next) { front.append(next) }
      stack += awaited.filter { seen.insert($0).inserted }
    }
    return front.sorted()
  }
}
