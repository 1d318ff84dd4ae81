// Invariants of a graph: they hold after every event, whatever the order of events.
//
// The tests of the graph check them after every event in every state of small graphs. In
// builds with `-Xswiftc -DPROPERATIONS_INVARIANTS` (the sanitizer stages of `.ci/run`),
// the core of every workflow checks them too, with its lock held, while the tests use
// real threads. Ordinary builds leave the checks out.
//
// Checking the counters takes constant time; checking all tasks and edges does not. The
// core therefore checks a large graph less often: on average an event costs the same in a
// graph of ten tasks as in one of a million.

extension TaskGraph {
  /// The invariant that this state violates, or `nil`.
  ///
  /// Linear in the tasks and edges.
  var brokenInvariant: String? {
    if let violation = boundsViolation { return violation }
    var (states, active, occupied) = (WorkflowTaskState.allCases.map { _ in 0 }, 0, 0)
    for index in 0..<TaskIndex(count) {
      let node = self[index]
      if let violation = violation(by: node) ?? edgeViolation(at: index) {
        return "task \(index) is \(node.state) and \(violation)"
      }
      states[Int(node.state.rawValue)] += 1
      if node.isActive { active += 1 }
      if node.takesRoom { occupied += 1 }
    }
    if states[Int(WorkflowTaskState.failed.rawValue)] != failedCount
      || states[Int(WorkflowTaskState.cancelled.rawValue)] != cancelledCount
      || states[Int(WorkflowTaskState.skipped.rawValue)] != skippedCount
      || count - states[Int(WorkflowTaskState.finished.rawValue)] - skippedCount
        != unfinishedCount
    {
      return "the states are counted wrong"
    }
    if let last = knownLastTasks,
      last.contains(where: { self[$0].firstDependent >= 0 })
        || last.count != nodes.count(where: { $0.firstDependent < 0 })
    {
      return "the last tasks are not the last"
    }
    let cancellable = nodes.count { $0.isCancellable }
    if cancellable != cancellableCount {
      return "\(cancellable) can be cancelled, \(cancellableCount) counted"
    }
    if active != activeCount { return "\(active) are active, \(activeCount) counted" }
    return occupied == occupiedCount ? nil : "\(occupied) take room, \(occupiedCount) counted"
  }

  /// The same, as far as the counters show it, in constant time.
  var boundsViolation: String? {
    if activeCount < 0 || activeCount > count { return "\(activeCount) are active" }
    if occupiedCount < 0 || occupiedCount > count { return "\(occupiedCount) take room" }
    let ended = failedCount + cancelledCount
    if ended < 0 || unfinishedCount < ended || unfinishedCount > count {
      return "\(unfinishedCount) unfinished, \(ended) of them failed or cancelled"
    }
    return nil
  }

  /// Checks the state, the flags and the counts of a node against each other.
  private func violation(by node: Node) -> String? {
    let flags = node.flags
    if flags.contains(.isHandedOver), node.state != .ready { return "handed over" }
    if flags.contains(.isDelayed), !flags.contains(.isHandedOver) { return "delayed for nothing" }
    if !flags.isDisjoint(with: [.isAbandoned, .isWaiting, .isRecording]),
      node.state != .executing
    {
      return "keeps what belongs to a run"
    }
    switch node.state {
    case .pending: if node.verdict != .waits { return "waits for nothing" }
    case .ready, .executing, .finished:
      // A task that was restored from a journal may have prerequisites that run again.
      // And a task that runs because of a failure continues if the failed task is then
      // cancelled.
      let isWaited = node.rule == .whenAllSucceed ? node.verdict != .runs : node.verdict == .waits
      if isWaited, node.state != .finished || node.run > 0 {
        return "has \(node.unfinishedPrerequisites) to wait for"
      }
    case .skipped: if node.verdict == .waits { return "has prerequisites that run" }
    case .cancelled, .failed: break
    }
    let hasEnd = node.state == .finished || node.state == .failed
    return node.endDate.isNaN == hasEnd ? "its end is dated \(node.endDate)" : nil
  }

  /// Checks the two lists of edges and the counts of prerequisites.
  private func edgeViolation(at index: TaskIndex) -> String? {
    let node = self[index]
    var (expected, last) = (Node(conditions: node.conditions.intersection(.rules)), Int32(-1))
    var edge = node.firstPrerequisite
    while edge >= 0 {
      if edges[Int(edge)].dependent != index { return "waits on an edge of another" }
      let prerequisite = self[edges[Int(edge)].prerequisite]
      expected.count(usesRules || prerequisite.state == .finished ? prerequisite.end : .none, by: 1)
      last = edge
      edge = edges[Int(edge)].nextPrerequisite
    }
    if last != node.lastPrerequisite { return "has lost the end of its prerequisites" }
    if expected.unfinishedPrerequisites != node.unfinishedPrerequisites
      || expected.skippedPrerequisites != node.skippedPrerequisites
    {
      return "waits for \(expected.unfinishedPrerequisites), "
        + "\(node.unfinishedPrerequisites) counted"
    }
    if expected.failedPrerequisites != node.failedPrerequisites
      || expected.cancelledPrerequisites != node.cancelledPrerequisites
    {
      return "does not know how others have ended"
    }
    if expected.conditions != node.conditions.subtracting([.isMarked, .runsWorkflow]) {
      return "is an origin"
    }
    let isMarked = node.conditions.contains(.isMarked)
    last = -1
    edge = node.firstDependent
    while edge >= 0 {
      if edges[Int(edge)].prerequisite != index { return "is waited for on an edge of another" }
      if isMarked, mayChange(self[edges[Int(edge)].dependent]) { return "is marked too early" }
      last = edge
      edge = edges[Int(edge)].nextDependent
    }
    return last == node.lastDependent ? nil : "has lost the end of its dependents"
  }

  /// Whether the message that has left the marks may change a task, or one behind it.
  private func mayChange(_ node: Node) -> Bool {
    let hasMark = node.conditions.contains(.isMarked)
    switch marks.message {
    case .cancel: return !node.isShielded && !(hasMark && node.state.isOver)
    case .reset: return !(hasMark && node.state == .pending)
    default: return !hasMark || node.state == .failed || node.state == .cancelled
    }
  }
}
