// Tasks that run although not all their prerequisites succeeded, and tasks that are
// skipped.
//
// The *verdict* says what a task's prerequisites mean for it. It follows only from the
// task's rule and from their ends at one moment, not from their order. The verdict at the
// moment when all have ended decides. A prerequisite that waits in vain for a cancelled task
// may later wait for a failed one, too; a task that was skipped before stays skipped:
//
//                     one has no end   else: all finished   one skipped   one failed*  one cancelled*
//   whenAllSucceed    waits            runs                 skipped       waits        waits
//   whenAllDone       waits            runs                 runs          runs         runs
//   whenAnyFails      waits            skipped              skipped       runs         skipped
//
// (*: or waits in vain because of a failure or a cancellation, which is an end as well.
// Where several columns apply, the failure counts first, then the cancellation.)
//
// Each task counts its prerequisites by their ends. When the end of a task changes, it moves
// from one count of its dependents to another, and this may change their ends. When runs
// end, such changes spread one by one. A travelling message changes many ends in one walk:
// it reaches a task after all its prerequisites, whose changes it finds counted.

extension TaskGraph {
  /// What decides whether a task runs, besides the counts of its prerequisites.
  struct Conditions: OptionSet {
    let rawValue: UInt8
    // 1 and 2 are the raw values of `TriggerRule`.
    static let runsWhenAllDone = Conditions(rawValue: 1)
    static let runsWhenAnyFails = Conditions(rawValue: 2)
    /// A travelling message was sent to this task itself.
    static let isOrigin = Conditions(rawValue: 4)
    /// The last travelling message would change nothing behind this task.
    static let isMarked = Conditions(rawValue: 8)
    /// The work of the task is a workflow.
    static let runsWorkflow = Conditions(rawValue: 16)

    static let rules: Conditions = [.runsWhenAllDone, .runsWhenAnyFails]
  }

  /// How a task has ended, as its dependents see it.
  enum End {
    case none, finished, skipped, failed, cancelled
  }
}

extension TaskGraph.Node {
  var rule: TriggerRule {
    if conditions.contains(.runsWhenAllDone) { return .whenAllDone }
    return conditions.contains(.runsWhenAnyFails) ? .whenAnyFails : .whenAllSucceed
  }

  /// The verdict, from the table above.
  @inline(__always)
  var verdict: TaskVerdict {
    if conditions.isDisjoint(with: .rules) {
      if unfinishedPrerequisites == 0 { return .runs }
      return unfinishedPrerequisites == skippedPrerequisites ? .skipped : .waits
    }
    if prerequisitesWithoutEnd > 0 { return .waits }
    return conditions.contains(.runsWhenAllDone) || failedPrerequisites > 0 ? .runs : .skipped
  }

  /// How many prerequisites have no end.
  var prerequisitesWithoutEnd: Int32 {
    unfinishedPrerequisites - skippedPrerequisites - failedPrerequisites
      - cancelledPrerequisites
  }

  /// How the task has ended, as its dependents see it.
  var end: TaskGraph.End {
    switch state {
    case .finished: return .finished
    case .skipped: return .skipped
    case .failed: return .failed
    case .cancelled: return .cancelled
    case .pending:
      guard conditions.isDisjoint(with: .rules) else { return .none }
      if failedPrerequisites > 0 { return .failed }
      return cancelledPrerequisites > 0 ? .cancelled : .none
    case .ready, .executing: return .none
    }
  }

  /// Adds prerequisites with an end to the counts, or takes them away.
  mutating func count(_ end: TaskGraph.End, by amount: Int32) {
    switch end {
    case .finished: return
    case .none: break
    case .skipped: skippedPrerequisites += amount
    case .failed: failedPrerequisites += amount
    case .cancelled: cancelledPrerequisites += amount
    }
    unfinishedPrerequisites += amount
  }
}

extension TaskGraph {
  /// Counts all ends from now on, not only those of tasks that finish.
  mutating func useRules() {
    if usesRules { return }
    usesRules = true
    removeMarks()
    for task in inOrder(from: 0..<TaskIndex(count)) { countAgain(task) }
  }

  /// Computes the counts of a task's prerequisites anew.
  private mutating func countAgain(_ index: TaskIndex) {
    let i = Int(index)
    (nodes[i].unfinishedPrerequisites, nodes[i].skippedPrerequisites) = (0, 0)
    (nodes[i].failedPrerequisites, nodes[i].cancelledPrerequisites) = (0, 0)
    var edge = nodes[i].firstPrerequisite
    while edge >= 0 {
      nodes[i].count(self[edges[Int(edge)].prerequisite].end, by: 1)
      edge = edges[Int(edge)].nextPrerequisite
    }
  }

  /// Marks tasks as finished in an earlier process.
  ///
  /// No task has run yet. The tasks' own prerequisites need not have finished in this
  /// process, and may have been skipped from the beginning. All other tasks are then in the
  /// state that follows from their prerequisites.
  mutating func restore(_ ends: some Collection<(task: TaskIndex, date: Double)>) {
    if ends.isEmpty { return }
    for end in ends {
      update(end.task) { node in
        node.state = .finished
        node.endDate = end.date
      }
    }
    for task in inOrder(from: 0..<TaskIndex(count)) {
      countAgain(task)
      if self[task].state == .finished { continue }
      update(task) { $0.state = $0.verdict.state }
    }
  }

  /// Returns the tasks behind a task that may have results of an earlier process: those that were
  /// restored, and those that run workflows, with restored tasks perhaps, have not begun, and are
  /// behind no restored task.
  mutating func restored(
    behind index: TaskIndex
  ) -> (tasks: [TaskIndex], workflows: [TaskIndex]) {
    let all = inOrder(from: dependents(of: index))
    let restored = all.filter { self[$0].isRestored }
    let workflows = all.filter { self[$0].run == 0 && self[$0].conditions.contains(.runsWorkflow) }
    if workflows.isEmpty { return (restored, []) }
    let reached = Set(inOrder(from: restored))
    return (restored, workflows.filter { !reached.contains($0) })
  }

  /// Updates all dependents of a task whose end may have changed, and everything that
  /// follows from it.
  ///
  /// Linear in the number of tasks whose ends change by this and of their dependents; no
  /// recursion.
  ///
  /// - Parameters:
  ///   - before: The end that the dependents have counted so far.
  ///   - mayRun: Whether tasks that can run now are handed over.
  ///   - reached: Called with each task that is handed over or skipped.
  mutating func spreadEnd(
    of index: TaskIndex, before: End = .none, mayRun: Bool = true, reached: (TaskIndex) -> Void
  ) {
    var changes: ContiguousArray = [(task: index, before: before, now: self[index].end)]
    var next = 0
    while next < changes.count {
      let change = changes[next]
      next += 1
      recount(change.task, before: change.before, now: change.now) { graph, dependent, before in
        if graph.prerequisiteHasEnded(of: dependent, mayRun: mayRun) { reached(dependent) }
        let now = graph[dependent].end
        if now != before { changes.append((dependent, before, now)) }
      }
    }
  }

  /// Moves a task from one count of its dependents to another.
  ///
  /// - Parameter recounted: Called with each dependent and the end that it had before.
  private mutating func recount(
    _ index: TaskIndex, before: End, now: End,
    recounted: (inout TaskGraph, TaskIndex, End) -> Void = { _, _, _ in }
  ) {
    if before == now { return }
    var edge = self[index].firstDependent
    while edge >= 0 {
      let dependent = edges[Int(edge)].dependent
      edge = edges[Int(edge)].nextDependent
      let end = self[dependent].end
      nodes[Int(dependent)].count(before, by: -1)
      nodes[Int(dependent)].count(now, by: 1)
      recounted(&self, dependent, end)
    }
  }

  /// Sends `cancel`, `reset` or `retry` to tasks and to their dependents.
  mutating func propagateByRules(
    _ message: TaskMessage, from origins: some Collection<TaskIndex>, at time: UInt64,
    mayRun: Bool, staysInRun: Bool, _ report: (Step) -> Void
  ) {
    for origin in origins { nodes[Int(origin)].conditions.insert(.isOrigin) }
    let order = inOrder(of: message, from: origins)
    // Before any end changes: a task's own end may follow from its prerequisites.
    let untouched = order.map { (task: $0, end: self[$0].end) }
    var shielded: ContiguousArray<TaskIndex> = []
    for (task, end) in untouched {
      if message == .cancel, self[task].isShielded {
        shielded.append(task)
        continue
      }
      if !(staysInRun && isExcluded(task)) {
        var step = apply(message, to: task, at: time)
        // A task that was restored from a journal does not wait for what is not recorded.
        if message == .retry, step.before == nil, !self[task].isRestored {
          let taken = apply(.prerequisiteRunsAgain, to: task, at: time)
          if taken.before != nil {
            step = Step(task: task, message: .reset, before: taken.before, runs: false)
          }
        }
        report(step)
        if prerequisiteHasEnded(of: task, mayRun: false) { reportEnd(of: task, report) }
      }
      recount(task, before: end, now: self[task].end)
    }
    for origin in origins { nodes[Int(origin)].conditions.remove(.isOrigin) }
    for task in shielded where self[task].state == .pending {
      guard prerequisiteHasEnded(of: task, mayRun: mayRun) else { continue }
      reportEnd(of: task, report)
      if self[task].state != .skipped { continue }
      var reached: ContiguousArray<TaskIndex> = []
      spreadEnd(of: task, mayRun: mayRun) { reached.append($0) }
      for task in reached { reportEnd(of: task, report) }
    }
    mark(order, reachedBy: message, isComplete: !(staysInRun && hasExcluded))
  }

  /// Reports a task that was pending until all its prerequisites had ended.
  private func reportEnd(of task: TaskIndex, _ report: (Step) -> Void) {
    report(
      Step(
        task: task, message: .prerequisiteFinished, before: .pending,
        runs: self[task].state == .ready))
  }
}

extension TaskGraph.Node {
  /// Whether the task has finished in an earlier process: it has not run in this one.
  var isRestored: Bool { state == .finished && run == 0 }

  /// Whether the task is exempt from a cancellation that was sent to other tasks.
  var isShielded: Bool {
    !conditions.isDisjoint(with: .rules) && !conditions.contains(.isOrigin)
  }
}
