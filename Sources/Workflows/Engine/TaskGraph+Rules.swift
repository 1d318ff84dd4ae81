// Tasks that run although not all their prerequisites succeeded, and tasks that are
// skipped.
//
// The *verdict* says what a task's prerequisites mean for it. It follows only from their
// ends and the task's rule, not from their order:
//
//                     one has no end   else: all finished   one skipped   one failed*  one cancelled*
//   whenAllSucceed    waits            runs                 skipped       waits        waits
//   whenAllDone       waits            runs                 runs          runs         runs
//   whenAnyFails      waits            skipped              skipped       runs         skipped
//
// (*: or waits in vain because of a failure or a cancellation, which is an end as well.
// Where several columns apply, the failure counts first, then the cancellation.)
//
// When runs end, ends come one by one and each is added to the counts of the dependents.
// A travelling message can also take ends away. The counts of a task are then computed
// anew when the message reaches it, after all its prerequisites.

extension TaskGraph {
  /// What decides whether a task runs, besides the counts of its prerequisites.
  struct Conditions: OptionSet {
    let rawValue: UInt8
    static let runsWhenAllDone = Conditions(rawValue: 1)
    static let runsWhenAnyFails = Conditions(rawValue: 2)
    /// A prerequisite has failed, was cancelled or waits in vain.
    static let hasUnsuccessful = Conditions(rawValue: 4)
    /// A prerequisite has failed, or waits in vain because of a failure.
    static let hasFailure = Conditions(rawValue: 8)
    /// A travelling message was sent to this task itself.
    static let isOrigin = Conditions(rawValue: 16)

    static let rules: Conditions = [.runsWhenAllDone, .runsWhenAnyFails]
    fileprivate static let ends: Conditions = [.hasUnsuccessful, .hasFailure]
  }

  /// How a task has ended, as its dependents see it.
  enum End {
    case none, finished, skipped, failed, cancelled
  }
}

extension TaskGraph.Conditions {
  init(_ rule: TriggerRule) {
    switch rule {
    case .whenAllSucceed: self = []
    case .whenAllDone: self = .runsWhenAllDone
    case .whenAnyFails: self = .runsWhenAnyFails
    }
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
    if unfinishedPrerequisites > 0 { return .waits }
    return conditions.isDisjoint(with: [.runsWhenAllDone, .hasFailure]) ? .skipped : .runs
  }

  /// How the task has ended, as its dependents see it.
  var end: TaskGraph.End {
    switch state {
    case .finished: return .finished
    case .skipped: return .skipped
    case .failed: return .failed
    case .cancelled: return .cancelled
    case .pending:
      guard conditions.isDisjoint(with: .rules), conditions.contains(.hasUnsuccessful) else {
        return .none
      }
      return conditions.contains(.hasFailure) ? .failed : .cancelled
    case .ready, .executing: return .none
    }
  }

  /// Adds the end of one more prerequisite to the counts.
  mutating func count(_ end: TaskGraph.End) {
    if conditions.isDisjoint(with: .rules) {
      if end != .finished { unfinishedPrerequisites += 1 }
      if end == .skipped { skippedPrerequisites += 1 }
    } else if end == .none {
      unfinishedPrerequisites += 1
    }
    if end == .failed || end == .cancelled { conditions.insert(.hasUnsuccessful) }
    if end == .failed { conditions.insert(.hasFailure) }
  }
}

extension TaskGraph {
  /// Counts all ends from now on, not only those of tasks that finish.
  mutating func useRules() {
    if usesRules { return }
    usesRules = true
    for task in inOrder(from: 0..<TaskIndex(count)) { countAgain(task) }
  }

  /// Computes the counts of a task's prerequisites anew.
  private mutating func countAgain(_ index: TaskIndex) {
    let i = Int(index)
    nodes[i].unfinishedPrerequisites = 0
    nodes[i].skippedPrerequisites = 0
    nodes[i].conditions.subtract(.ends)
    var edge = nodes[i].firstPrerequisite
    while edge >= 0 {
      nodes[i].count(self[edges[Int(edge)].prerequisite].end)
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

  /// Updates all dependents of a task that now has an end, and everything that follows
  /// from it.
  ///
  /// Linear in the number of tasks that get an end by this and of their dependents; no
  /// recursion.
  ///
  /// - Parameters:
  ///   - mayRun: Whether tasks that can run now are handed over.
  ///   - reached: Called with each task that is handed over or skipped.
  mutating func spreadEnd(
    of index: TaskIndex, mayRun: Bool = true, reached: (TaskIndex) -> Void
  ) {
    var ended: ContiguousArray = [index]
    var next = 0
    while next < ended.count {
      let node = self[ended[next]]
      next += 1
      let end = node.end
      var edge = node.firstDependent
      while edge >= 0 {
        let dependent = edges[Int(edge)].dependent
        edge = edges[Int(edge)].nextDependent
        let before = self[dependent].end
        nodes[Int(dependent)].unfinishedPrerequisites -= 1
        nodes[Int(dependent)].count(end)
        if prerequisiteHasEnded(of: dependent, mayRun: mayRun) { reached(dependent) }
        if before == .none, self[dependent].end != .none { ended.append(dependent) }
        if before == .cancelled { spreadFailure(of: dependent) }
      }
    }
  }

  /// Updates the dependents of a task that waited in vain because of a cancellation and
  /// now also does so because of a failure.
  ///
  /// Does nothing if the task's end is not a failure.
  mutating func spreadFailure(of index: TaskIndex) {
    var failed: ContiguousArray = [index]
    while let index = failed.popLast() {
      guard self[index].end == .failed else { continue }
      var edge = self[index].firstDependent
      while edge >= 0 {
        let dependent = edges[Int(edge)].dependent
        edge = edges[Int(edge)].nextDependent
        if self[dependent].end == .cancelled { failed.append(dependent) }
        nodes[Int(dependent)].conditions.insert(.hasFailure)
      }
    }
  }

  /// Sends `cancel`, `reset` or `retry` to tasks and to their dependents.
  mutating func propagateByRules(
    _ message: TaskMessage, from origins: some Sequence<TaskIndex>, at time: UInt64,
    mayRun: Bool, staysInRun: Bool, _ report: (Step) -> Void
  ) {
    let origins = ContiguousArray(origins)
    for origin in origins { nodes[Int(origin)].conditions.insert(.isOrigin) }
    let order = inOrder(from: origins) { message == .cancel && $0.isShielded }
    var shielded: ContiguousArray<TaskIndex> = []
    for task in order {
      let before = self[task].verdict
      countAgain(task)
      if message == .cancel, self[task].isShielded {
        shielded.append(task)
        continue
      }
      // Its dependents come later in the order and count what it now waits for.
      if staysInRun, isExcluded(task) { continue }
      var step = apply(message, to: task, at: time)
      // A task that was restored from a journal may have had a `waits` verdict before.
      if message == .retry, step.before == nil, before != .waits {
        let taken = apply(.prerequisiteRunsAgain, to: task, at: time)
        if taken.before != nil {
          step = Step(task: task, message: .reset, before: taken.before, runs: false)
        }
      }
      report(step)
      // All dependents come later in the order and count this end then.
      if prerequisiteHasEnded(of: task, mayRun: false) { reportEnd(of: task, report) }
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
  /// Whether the task is exempt from a cancellation that was sent to other tasks.
  fileprivate var isShielded: Bool {
    !conditions.isDisjoint(with: .rules) && !conditions.contains(.isOrigin)
  }
}
