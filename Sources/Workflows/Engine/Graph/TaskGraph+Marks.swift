// Where a travelling message need not go again.
//
// A program may cancel, reset or retry every task of a long chain, one by one. Each of these
// messages would walk to the end of the chain. The graph therefore marks the tasks that a
// message has reached, and the walk of the next such message to a single task ends at them:
//
//   message    behind a marked task              the marks go when a marked task
//   cancel     all tasks have ended              had ended and no longer has
//   reset      all tasks are pending             is no longer pending
//   retry      no task has failed or was         fails or is cancelled
//              cancelled
//
// A task without a mark is behind no marked one, so its changes do not matter. The marks also go
// with a message of another kind, with a new edge that leads from a marked task, and when a
// condition is fulfilled, because a reset revokes that. A walk that meets a task which runs a
// workflow leaves no marks: tasks inside may have changed since. In a graph with rules only
// `cancel` leaves marks, because a task that is reset or retried there may change the ends of
// tasks far behind it. A `cancel` does not pass tasks that are exempt from it, and marks none of
// them.

extension TaskGraph {
  struct Marks {
    /// The message that has left the marks.
    var message: TaskMessage?
    var tasks: ContiguousArray<TaskIndex> = []
  }

  /// Returns the tasks that a message reaches, prerequisites first.
  ///
  /// The message itself leaves the marks valid, so none goes until `mark` is called.
  mutating func inOrder(
    of message: TaskMessage, from origins: some Collection<TaskIndex>
  ) -> ContiguousArray<TaskIndex> {
    if marks.message != message { removeMarks() }
    marks.message = nil
    // With several origins, the tasks behind a marked one are in order only if it is passed.
    let endsAtMarks = origins.count == 1
    return inOrder(from: origins) { node in
      endsAtMarks && node.conditions.contains(.isMarked)
        || message == .cancel && node.isShielded
    }
  }

  /// Marks tasks after a message has reached them.
  ///
  /// - Parameter isComplete: Whether the message was sent to all of them.
  mutating func mark(
    _ order: ContiguousArray<TaskIndex>, reachedBy message: TaskMessage, isComplete: Bool
  ) {
    marks.message = message
    guard isComplete, !usesRules || message == .cancel,
      !order.contains(where: { self[$0].conditions.contains(.runsWorkflow) })
    else { return }
    for task in order {
      let node = self[task]
      if node.conditions.contains(.isMarked) || message == .cancel && node.isShielded { continue }
      nodes[Int(task)].conditions.insert(.isMarked)
      marks.tasks.append(task)
    }
  }

  /// Whether the change of a marked task makes the marks invalid.
  func endMarks(before: WorkflowTaskState, now: WorkflowTaskState) -> Bool {
    switch marks.message {
    case .cancel: before.isOver
    case .reset: now != .pending
    case .retry: now == .failed || now == .cancelled
    default: false
    }
  }

  mutating func removeMarks() {
    for task in marks.tasks { nodes[Int(task)].conditions.remove(.isMarked) }
    marks = Marks()
  }
}
