import Futures

/// Who waits for whom, as far as it could go round in a circle.
///
/// Tasks that wait in a circle would wait for ever. The last one of them to be
/// enqueued finds out, fails, and so lets the others go on.
///
/// Looking costs time, and mostly there is nothing to find: a circle needs at
/// least one task that waits for one made *after* it, or for its turn in a
/// category. As long as there is no such *forward edge* in the process, nobody
/// looks. And nobody looks behind a task that is *closed*: one that had only
/// closed or settled tasks to wait for when it was enqueued, and is not of a
/// kind that comes to wait for more (groups, `flatMap`). A task that gets a
/// dependency when it is enqueued already may be closed, and others behind it:
/// as long as there is such a *late edge* in the process, closed means nothing.
enum WaitGraph {
  /// The edges of a task that are counted.
  struct Count {
    let forward: Int
    let late: Int
  }

  private static let forwardEdges = Atomic<Int>(0)
  private static let lateEdges = Atomic<Int>(0)

  /// A task that is enqueued gets a dependency; called before it has it.
  ///
  /// With the task's lock held.
  static func noteLate() { lateEdges.wrappingAdd(1, ordering: .sequentiallyConsistent) }

  /// How many there are: for tests, which expect none to be left over.
  static var forwardEdgeCount: Int { forwardEdges.load(ordering: .relaxed) }

  /// A task has been made to wait for another one.
  static func note(from task: AnyFuture, to other: AnyFuture?) {
    guard let other, let core = task.taskCore else { return }
    // What is no task may stand for any.
    guard (other.taskCore?.number ?? .max) >= core.number else { return }
    add(to: core)
  }

  /// A task waits for its turn.
  static func categoryWaits(_ task: AnyFuture) {
    if let core = task.taskCore { add(to: core) }
  }

  /// A group has been made to wait for a task that waits for a group.
  static func noteForwardEdge(from core: TaskCore) { add(to: core) }

  private static func add(to core: TaskCore) {
    let isCounted = core.state.withLock { state in
      if state.machine.phase == .ended { return false }
      state.forwardEdges += 1
      return true
    }
    if isCounted { forwardEdges.wrappingAdd(1, ordering: .relaxed) }
  }

  /// Some of those who waited have ended.
  static func forget(_ count: Count) {
    if count.forward > 0 { forwardEdges.wrappingSubtract(count.forward, ordering: .relaxed) }
    if count.late > 0 { lateEdges.wrappingSubtract(count.late, ordering: .relaxed) }
  }

  /// The names on the way from a task that has just been enqueued, or has got a
  /// dependency, back to itself.
  static func cycle(from task: AnyFuture, pruning: Bool) -> [String]? {
    guard forwardEdges.load(ordering: .relaxed) > 0, let core = task.taskCore else { return nil }
    let ancestors = ancestors(of: task)
    let isPruning = pruning && lateEdges.load(ordering: .sequentiallyConsistent) == 0
    if let path = search(from: task, ancestors, pruning: isPruning) { return path }
    if core.mayWaitForMore { return nil }
    let isClosed = task.futuresWaitedFor.allSatisfy { other in
      other.isSettled || other.taskCore?.state.withLock { $0.isClosed } == true
    }
    if isClosed { core.state.withLock { $0.isClosed = true } }
    return nil
  }

  /// The names on the way from a task that waits for its turn.
  static func categoryCycle(from task: AnyFuture) -> [String]? {
    let ancestors = ancestors(of: task)
    // Most tasks are waited for by nobody, and belong to nobody.
    if ancestors.isEmpty, !task.hasWaiters, !task.isAwaitedAsMember { return nil }
    return search(from: task, ancestors, pruning: false)
  }

  /// The groups that the task is in, from the inside out.
  private static func ancestors(of task: AnyFuture) -> [AnyFuture] {
    var ancestors: [AnyFuture] = []
    var current = task
    while let owner = current.taskCore?.home?.owner?.ownerTask, !owner.isSettled {
      ancestors.append(owner)
      current = owner
    }
    return ancestors
  }

  private static func search(
    from task: AnyFuture, _ ancestors: [AnyFuture], pruning: Bool
  ) -> [String]? {
    let home = task.taskCore?.home
    let ends = Set(([task] + ancestors).map(ObjectIdentifier.init))
    var previous: [ObjectIdentifier: AnyFuture] = [:]
    var stack = [task]
    while let current = stack.popLast() {
      for next in waitedFor(by: current) where !next.isSettled {
        if ends.contains(ObjectIdentifier(next)) {
          return path(to: next, by: current, previous, from: task, ancestors)
        }
        guard previous[ObjectIdentifier(next)] == nil else { continue }
        previous[ObjectIdentifier(next)] = current
        if let core = next.taskCore {
          let (isClosed, isEnqueued, itsHome, isMember) = core.state.withLock {
            ($0.isClosed, $0.machine.isEnqueued, $0.home, $0.lobby != nil)
          }
          // What is in no queue is waited for by nobody's fault but its owner's;
          // a member is put in one by its group.
          if !isEnqueued, !isMember { continue }
          if pruning, isClosed, ancestors.isEmpty || itsHome === home { continue }
        }
        stack.append(next)
      }
    }
    return nil
  }

  /// What a task waits for; a member of a group that has not begun, for that.
  private static func waitedFor(by task: AnyFuture) -> [AnyFuture] {
    let lobby = task.taskCore?.state.withLock { $0.lobby }
    guard let group = lobby?.owner?.ownerTask else { return task.futuresWaitedFor }
    return [group] + task.futuresWaitedFor
  }

  private static func path(
    to end: AnyFuture, by last: AnyFuture, _ previous: [ObjectIdentifier: AnyFuture],
    from task: AnyFuture, _ ancestors: [AnyFuture]
  ) -> [String] {
    var path = [end, last]
    while let current = path.last, current !== task,
      let before = previous[ObjectIdentifier(current)]
    {
      path.append(before)
    }
    path.reverse()
    // From a group down to its member that began.
    if end !== task, let depth = ancestors.firstIndex(where: { $0 === end }) {
      path += ancestors[..<depth].reversed()
      path.append(task)
    }
    return path.map(\.taskName)
  }
}

extension AnyFuture {
  /// Whether groups wait for the task that do not own its queue.
  fileprivate var isAwaitedAsMember: Bool {
    taskCore?.state.withLock { !$0.afterwards.isEmpty } == true
  }
}
