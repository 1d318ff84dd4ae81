// The tasks of a workflow as numbers: the edges between them, and the state of each.
//
// A pure value. It has no lock, calls no other object and holds no reference. Tasks are
// numbered in the order in which they are added. An edge leads from a prerequisite to a
// dependent and is on two lists, threaded through `edges`: the dependent's prerequisites
// and the prerequisite's dependents. A task costs one node and an edge sixteen bytes,
// whatever their number.
//
// Dependents count the *end* of a task. A task that waits in vain (its rule can no longer
// be met) also has an end. While every task has the default rule and no task is skipped,
// finishing is the only end that matters. The other ends are then left out
// (`TaskGraph+Rules.swift`).
//
// Counted, never searched for: the unfinished prerequisites of each task, the tasks in
// each state, and the *active* tasks. A task is active if it has been handed to its
// context, or waits for its next attempt, or executes and is sure to end. When no task is
// active, the workflow is quiescent: nothing happens until a call from outside.
//
// The file is long because states and flags change only here. A change that bypasses
// `update` would leave a counter wrong.

/// A task's number in its workflow.
typealias TaskIndex = Int32

struct TaskGraph {
  /// What is known of a task besides its state.
  struct Flags: OptionSet {
    let rawValue: UInt8
    /// The task has been handed to its context, or waits for its next attempt.
    static let isHandedOver = Flags(rawValue: 1)
    /// The task is in a list of ready tasks, perhaps left over from an earlier time.
    static let isListed = Flags(rawValue: 2)
    /// The next attempt of the task comes after a delay.
    static let isDelayed = Flags(rawValue: 4)
    /// No work is left that could finish this run of the task.
    static let isAbandoned = Flags(rawValue: 8)
    /// The task executes but takes no room: it waits for a fulfillment or an inner
    /// workflow.
    static let isWaiting = Flags(rawValue: 16)
    /// The task is not part of the current run of the workflow and does not start by
    /// itself.
    static let isExcluded = Flags(rawValue: 64)
    /// Every message is passed on to the task object, whether or not the state changes.
    static let hearsMessages = Flags(rawValue: 32)
    /// The work of the task is over, and its result is being recorded.
    static let isRecording = Flags(rawValue: 128)
  }

  struct Node {
    var state = WorkflowTaskState.ready
    var flags = Flags()
    var priority: Int8 = 0
    var conditions = Conditions()
    var pool: UInt32 = 0
    /// The pool whose list of ready tasks holds this task.
    ///
    /// Valid while `isListed` is set.
    var listedPool: UInt32 = 0
    /// Counts the runs of the task.
    ///
    /// Its value identifies a run.
    var run: UInt32 = 0
    /// How many prerequisites have not finished.
    var unfinishedPrerequisites: Int32 = 0
    /// While rules are in use: how many of these have ended otherwise, by their ends.
    var skippedPrerequisites: Int32 = 0
    var failedPrerequisites: Int32 = 0
    var cancelledPrerequisites: Int32 = 0
    var firstPrerequisite: Int32 = -1
    var lastPrerequisite: Int32 = -1
    var firstDependent: Int32 = -1
    var lastDependent: Int32 = -1
    /// For walking the graph: the last walk that visited this node, and how many edges
    /// into the node that walk has yet to follow.
    var walk: UInt32 = 0
    var edgesToWalk: Int32 = 0
    /// When the last run began and ended (monotonic clock), and its end as a calendar
    /// date.
    var began: UInt64 = 0
    var ended: UInt64 = 0
    var endDate: Double = .nan

    var isActive: Bool {
      switch state {
      case .ready: flags.contains(.isHandedOver)
      case .executing: isSureToEnd
      default: false
      }
    }
    /// Whether a cancellation of all concerns the task.
    var isCancellable: Bool { isCancellable(in: state) }

    func isCancellable(in state: WorkflowTaskState) -> Bool {
      guard conditions.isDisjoint(with: .rules) else { return false }
      return state == .pending || state == .ready || state == .executing
    }
    /// Whether the task executes, and is sure to end.
    var isSureToEnd: Bool { state == .executing && !flags.contains(.isAbandoned) }
    var takesRoom: Bool {
      state == .executing && flags.isDisjoint(with: [.isWaiting, .isRecording, .isAbandoned])
    }
  }

  struct Edge {
    let prerequisite: TaskIndex
    let dependent: TaskIndex
    var nextPrerequisite: Int32 = -1
    var nextDependent: Int32 = -1
  }

  // `TaskGraph+Rules.swift` changes nodes too, except for states and flags.
  var nodes: ContiguousArray<Node> = []
  private(set) var edges: ContiguousArray<Edge> = []
  /// How many tasks are in each state.
  private var counts = (0, 0, 0, 0, 0, 0, 0)
  /// How many tasks are active.
  private(set) var activeCount = 0
  /// How many executing tasks count against the limit.
  private(set) var occupiedCount = 0
  /// How many tasks a cancellation of all concerns: those with the default rule that have not
  /// ended.
  private(set) var cancellableCount = 0
  /// Whether every edge leads from an earlier to a later task.
  private var isOrdered = true
  private var lastWalk: UInt32 = 0
  /// Some tasks are not part of the current run.
  private(set) var hasExcluded = false
  /// A task has another rule than the default, or was skipped.
  var usesRules = false
  /// See `TaskGraph+Marks.swift`.
  var marks = Marks()
  /// The tasks without dependents, if they have been looked for since the last task or edge
  /// was added.
  private(set) var knownLastTasks: ContiguousArray<TaskIndex>?

  // MARK: Counting

  var count: Int { nodes.count }
  /// How many tasks have neither finished nor been skipped.
  var unfinishedCount: Int { nodes.count - counts.4 - counts.6 }
  var skippedCount: Int { counts.6 }
  var executingCount: Int { counts.2 }
  var cancelledCount: Int { counts.3 }
  var failedCount: Int { counts.5 }
  /// Whether tasks have failed or were cancelled.
  var hasUnsuccessful: Bool { failedCount > 0 || cancelledCount > 0 }

  private mutating func count(_ state: WorkflowTaskState, by amount: Int) {
    switch state {
    case .pending: counts.0 += amount
    case .ready: counts.1 += amount
    case .executing: counts.2 += amount
    case .cancelled: counts.3 += amount
    case .finished: counts.4 += amount
    case .failed: counts.5 += amount
    case .skipped: counts.6 += amount
    }
  }

  subscript(index: TaskIndex) -> Node {
    @inline(__always) get { nodes[Int(index)] }
  }

  /// Changes a node and updates the counters.
  @inline(__always)
  mutating func update(_ index: TaskIndex, _ change: (inout Node) -> Void) {
    let i = Int(index)
    let (state, wasActive, tookRoom) = (nodes[i].state, nodes[i].isActive, nodes[i].takesRoom)
    change(&nodes[i])
    if nodes[i].state != state {
      count(state, by: -1)
      count(nodes[i].state, by: 1)
      if nodes[i].conditions.contains(.isMarked), endMarks(before: state, now: nodes[i].state) {
        removeMarks()
      }
      // Rules never change.
      let wasCancellable = nodes[i].isCancellable(in: state)
      if nodes[i].isCancellable != wasCancellable { cancellableCount += wasCancellable ? -1 : 1 }
    }
    if nodes[i].isActive != wasActive { activeCount += wasActive ? -1 : 1 }
    if nodes[i].takesRoom != tookRoom { occupiedCount += tookRoom ? -1 : 1 }
  }

  // MARK: Building

  /// Returns the tasks without repetitions, in the same order.
  mutating func unique(_ tasks: ContiguousArray<TaskIndex>) -> ContiguousArray<TaskIndex> {
    let walk = nextWalk()
    return tasks.filter { visits($0, in: walk) }
  }

  /// Notes that a walk has reached a task; `false` if it had before.
  private mutating func visits(_ task: TaskIndex, in walk: UInt32) -> Bool {
    if nodes[Int(task)].walk == walk { return false }
    (nodes[Int(task)].walk, nodes[Int(task)].edgesToWalk) = (walk, 0)
    return true
  }

  /// Adds a task that has the given state so far; its prerequisites may change that.
  mutating func addTask(
    state: WorkflowTaskState, rule: TriggerRule = .whenAllSucceed,
    prerequisites: some Sequence<TaskIndex>, hearsMessages: Bool, runsWorkflow: Bool = false
  ) -> TaskIndex {
    if rule != .whenAllSucceed { useRules() }
    let index = TaskIndex(nodes.count)
    var flags: Flags = hearsMessages ? .hearsMessages : []
    if hasExcluded, prerequisites.contains(where: isExcluded) { flags.insert(.isExcluded) }
    var conditions = Conditions(rawValue: rule.rawValue)
    if runsWorkflow { conditions.insert(.runsWorkflow) }
    nodes.append(Node(state: state, flags: flags, conditions: conditions))
    knownLastTasks = nil
    count(state, by: 1)
    if self[index].isCancellable { cancellableCount += 1 }
    for prerequisite in prerequisites { appendEdge(from: prerequisite, to: index) }
    if let transition = state.transition(on: .added, verdict: self[index].verdict) {
      update(index) { $0.state = transition.state }
    }
    return index
  }

  /// Adds a prerequisite to a task that has not run.
  ///
  /// The caller has checked for a cycle.
  ///
  /// - Parameter reached: Called with each task that can run now or is skipped, because
  ///   the dependent is skipped or waits in vain.
  /// - Returns: Whether the state of the dependent changed: it is no longer ready.
  mutating func addEdge(
    from prerequisite: TaskIndex, to dependent: TaskIndex,
    reached: (TaskIndex) -> Void = { _ in }
  ) -> Bool {
    let end = self[dependent].end
    appendEdge(from: prerequisite, to: dependent)
    if prerequisite >= dependent { isOrdered = false }
    let node = self[dependent]
    let transition = node.state.transition(on: .added, verdict: node.verdict)
    if let transition {
      update(dependent) { node in
        node.state = transition.state
        node.flags.subtract([.isHandedOver, .isDelayed])
      }
    }
    if usesRules { spreadEnd(of: dependent, before: end, reached: reached) }
    return transition != nil
  }

  private mutating func appendEdge(from prerequisite: TaskIndex, to dependent: TaskIndex) {
    let edge = Int32(edges.count)
    edges.append(Edge(prerequisite: prerequisite, dependent: dependent))
    let (p, d) = (Int(prerequisite), Int(dependent))
    if nodes[p].conditions.contains(.isMarked) { removeMarks() }
    knownLastTasks = nil
    if nodes[p].lastDependent >= 0 {
      edges[Int(nodes[p].lastDependent)].nextDependent = edge
    } else {
      nodes[p].firstDependent = edge
    }
    nodes[p].lastDependent = edge
    if nodes[d].lastPrerequisite >= 0 {
      edges[Int(nodes[d].lastPrerequisite)].nextPrerequisite = edge
    } else {
      nodes[d].firstPrerequisite = edge
    }
    nodes[d].lastPrerequisite = edge
    nodes[d].count(usesRules || nodes[p].state == .finished ? nodes[p].end : .none, by: 1)
  }

  /// Whether one task is a direct prerequisite of another.
  ///
  /// Takes as long as the shorter of the two lists that the edge is on.
  func hasEdge(from prerequisite: TaskIndex, to dependent: TaskIndex) -> Bool {
    var up = self[dependent].firstPrerequisite
    var down = self[prerequisite].firstDependent
    while up >= 0, down >= 0 {
      if edges[Int(up)].prerequisite == prerequisite { return true }
      if edges[Int(down)].dependent == dependent { return true }
      up = edges[Int(up)].nextPrerequisite
      down = edges[Int(down)].nextDependent
    }
    return false
  }

  /// Returns a path from one task to another along dependents, both included, or `nil`.
  ///
  /// Linear in the number of tasks reachable from the origin.
  mutating func path(from origin: TaskIndex, to goal: TaskIndex) -> [TaskIndex]? {
    if origin == goal { return [origin] }
    // The usual case: a later task cannot be a prerequisite of an earlier one.
    if isOrdered, origin > goal { return nil }
    let walk = nextWalk()
    var cameFrom: [TaskIndex: TaskIndex] = [:]
    var next = [origin]
    nodes[Int(origin)].walk = walk
    while let task = next.popLast() {
      var edge = self[task].firstDependent
      while edge >= 0 {
        let (dependent, following) = (
          edges[Int(edge)].dependent, edges[Int(edge)].nextDependent
        )
        edge = following
        guard visits(dependent, in: walk) else { continue }
        cameFrom[dependent] = task
        if dependent == goal {
          var path = [goal]
          while let previous = cameFrom[path[path.count - 1]] { path.append(previous) }
          return path.reversed()
        }
        next.append(dependent)
      }
    }
    return nil
  }

  // MARK: Looking

  func prerequisites(of index: TaskIndex) -> [TaskIndex] {
    var found: [TaskIndex] = []
    var edge = self[index].firstPrerequisite
    while edge >= 0 {
      found.append(edges[Int(edge)].prerequisite)
      edge = edges[Int(edge)].nextPrerequisite
    }
    return found
  }

  func dependents(of index: TaskIndex) -> [TaskIndex] {
    var found: [TaskIndex] = []
    var edge = self[index].firstDependent
    while edge >= 0 {
      found.append(edges[Int(edge)].dependent)
      edge = edges[Int(edge)].nextDependent
    }
    return found
  }

  /// Returns the tasks without dependents.
  ///
  /// Linear in the number of tasks after a task or an edge was added, and otherwise constant.
  mutating func lastTasks() -> ContiguousArray<TaskIndex> {
    if let knownLastTasks { return knownLastTasks }
    let last = ContiguousArray((0..<TaskIndex(count)).filter { self[$0].firstDependent < 0 })
    knownLastTasks = last
    return last
  }

  /// When the first of the tasks began that execute and are sure to end; `nil` if none does.
  ///
  /// Linear in the number of tasks if a task is active, and otherwise constant.
  var earliestBeginning: UInt64? {
    if activeCount == 0 { return nil }
    return nodes.lazy.filter(\.isSureToEnd).map(\.began).min()
  }

  // MARK: Running

  /// Returns a task and all its direct and indirect prerequisites.
  mutating func ancestors(of index: TaskIndex) -> ContiguousArray<TaskIndex> {
    let walk = nextWalk()
    var found: ContiguousArray = [index]
    nodes[Int(index)].walk = walk
    var next = 0
    while next < found.count {
      var edge = self[found[next]].firstPrerequisite
      next += 1
      while edge >= 0 {
        let prerequisite = edges[Int(edge)].prerequisite
        edge = edges[Int(edge)].nextPrerequisite
        guard visits(prerequisite, in: walk) else { continue }
        found.append(prerequisite)
      }
    }
    return found
  }

  /// Limits the run that begins to these tasks, and to tasks that are added later and need
  /// no other: the others do not start by themselves.
  mutating func exclude(allBut wanted: ContiguousArray<TaskIndex>) {
    for i in nodes.indices { nodes[i].flags.insert(.isExcluded) }
    for index in wanted { nodes[Int(index)].flags.remove(.isExcluded) }
    hasExcluded = true
  }

  /// Adds these tasks to the current run.
  mutating func include(_ wanted: ContiguousArray<TaskIndex>) {
    guard hasExcluded else { return }
    for index in wanted { nodes[Int(index)].flags.remove(.isExcluded) }
  }

  /// Whether a task does not belong to the current run.
  func isExcluded(_ index: TaskIndex) -> Bool {
    hasExcluded && self[index].flags.contains(.isExcluded)
  }

  /// Makes all tasks part of the run again.
  mutating func includeAll() {
    guard hasExcluded else { return }
    for i in nodes.indices { nodes[i].flags.remove(.isExcluded) }
    hasExcluded = false
  }

  /// Hands a ready task to its context.
  ///
  /// Returns `false` if the task is not ready or has already been handed over.
  mutating func start(_ index: TaskIndex) -> Bool {
    let node = self[index]
    guard !node.flags.contains(.isHandedOver),
      let transition = node.state.transition(on: .start, verdict: .runs),
      transition.runs
    else { return false }
    update(index) { $0.flags.insert(.isHandedOver) }
    return true
  }

  /// Whether a task in a list of ready tasks can still begin.
  @inline(__always)
  func mayBegin(_ index: TaskIndex) -> Bool {
    let node = self[index]
    return node.state == .ready && node.flags.contains(.isHandedOver)
      && !node.flags.contains(.isDelayed)
  }

  /// Begins a task that its context has reached.
  ///
  /// Returns `false` if the task can no longer begin.
  @inline(__always)
  mutating func begin(_ index: TaskIndex, at time: UInt64) -> Bool {
    let node = self[index]
    guard mayBegin(index),
      let transition = node.state.transition(on: .begin, verdict: .runs)
    else { return false }
    update(index) { node in
      node.state = transition.state
      node.flags.subtract([.isHandedOver, .isAbandoned, .isWaiting])
      node.run &+= 1
      node.began = time
      node.ended = 0
    }
    return true
  }

  /// Whether a task executes the given run (any run if `nil`) and its work is not over.
  @inline(__always)
  func isExecuting(_ index: TaskIndex, run: UInt32?) -> Bool {
    let node = self[index]
    return node.state == .executing && (run == nil || node.run == run)
      && !node.flags.contains(.isRecording)
  }

  /// Finishes an executing task.
  ///
  /// Calls `readied` with each dependent that can run now, in the order in which they
  /// were added, and with each that is skipped. Linear in the number of dependents.
  @inline(__always)
  mutating func finish(
    _ index: TaskIndex, at time: UInt64, on date: Double, readied: (TaskIndex) -> Void
  ) {
    guard end(index, by: .finish, at: time, on: date) else { return }
    tellDependents(ofFinished: index, reached: readied)
  }

  /// Updates all dependents of a task that has finished.
  @inline(__always)
  private mutating func tellDependents(
    ofFinished index: TaskIndex, reached: (TaskIndex) -> Void
  ) {
    if usesRules { return spreadEnd(of: index, reached: reached) }
    var edge = self[index].firstDependent
    while edge >= 0 {
      let dependent = edges[Int(edge)].dependent
      edge = edges[Int(edge)].nextDependent
      nodes[Int(dependent)].unfinishedPrerequisites -= 1
      if prerequisiteHasEnded(of: dependent, mayRun: true) { reached(dependent) }
    }
  }

  /// Fails an executing task.
  ///
  /// Calls `reached` with each task that can run now because all its prerequisites have
  /// ended, and with each that is skipped. If rules are in use, linear in the number of
  /// tasks that now wait in vain.
  mutating func fail(
    _ index: TaskIndex, at time: UInt64, on date: Double,
    reached: (TaskIndex) -> Void = { _ in }
  ) {
    guard end(index, by: .fail, at: time, on: date), usesRules else { return }
    spreadEnd(of: index, reached: reached)
  }

  /// Skips an executing task.
  ///
  /// Calls `reached` with each task that can run now and with each that is skipped as
  /// well.
  mutating func skip(
    _ index: TaskIndex, at time: UInt64, reached: (TaskIndex) -> Void = { _ in }
  ) {
    useRules()
    guard end(index, by: .skip, at: time, on: .nan) else { return }
    spreadEnd(of: index, reached: reached)
  }

  /// Ends an executing task as its own work decides.
  @inline(__always)
  private mutating func end(
    _ index: TaskIndex, by message: TaskMessage, at time: UInt64, on date: Double
  ) -> Bool {
    guard let transition = self[index].state.transition(on: message, verdict: .runs) else {
      return false
    }
    update(index) { node in
      node.state = transition.state
      node.flags.subtract([.isAbandoned, .isWaiting])
      node.ended = time
      node.endDate = date
    }
    return true
  }

  /// Updates a task after one of its prerequisites has ended.
  ///
  /// - Parameter mayRun: Whether the task is handed over if it can run.
  /// - Returns: Whether the task has been handed over or is skipped.
  @inline(__always)
  mutating func prerequisiteHasEnded(of index: TaskIndex, mayRun: Bool = true) -> Bool {
    let node = self[index]
    guard
      let transition = node.state.transition(on: .prerequisiteFinished, verdict: node.verdict)
    else { return false }
    let runs = transition.runs && mayRun && !node.flags.contains(.isExcluded)
    update(index) { node in
      node.state = transition.state
      if runs { node.flags.insert(.isHandedOver) }
    }
    return runs || transition.state == .skipped
  }

  /// Makes an executing task ready for its next attempt, after a delay if `isDelayed`.
  mutating func tryAgain(_ index: TaskIndex, isDelayed: Bool, at time: UInt64) {
    update(index) { node in
      node.state = .ready
      node.flags.subtract([.isAbandoned, .isWaiting])
      node.flags.insert(.isHandedOver)
      if isDelayed { node.flags.insert(.isDelayed) }
      node.ended = time
    }
  }

  /// Ends the delay before the next attempt.
  ///
  /// Returns `false` if the task has been cancelled or reset meanwhile.
  mutating func delayIsOver(_ index: TaskIndex, after run: UInt32) -> Bool {
    let node = self[index]
    guard node.run == run, node.state == .ready, node.flags.contains(.isDelayed) else {
      return false
    }
    update(index) { $0.flags.remove(.isDelayed) }
    return true
  }

  /// Notes that no work is left that could finish a run.
  mutating func abandon(_ index: TaskIndex, run: UInt32) -> Bool {
    guard isExecuting(index, run: run) else { return false }
    setAbandoned(index, true)
    return true
  }

  /// Notes whether work is left that could finish a task.
  mutating func setAbandoned(_ index: TaskIndex, _ isAbandoned: Bool) {
    update(index) { node in
      if isAbandoned { node.flags.insert(.isAbandoned) } else { node.flags.remove(.isAbandoned) }
    }
  }

  /// Notes that an executing task only waits from now on.
  mutating func wait(_ index: TaskIndex) { update(index) { $0.flags.insert(.isWaiting) } }

  // MARK: Journals

  /// Notes that the result of an executing task is being recorded, or that recording has
  /// ended (with or without success).
  mutating func setRecording(_ index: TaskIndex, _ isRecording: Bool) {
    update(index) { node in
      node.flags.subtract([.isAbandoned, .isWaiting, .isRecording])
      if isRecording { node.flags.insert(.isRecording) }
    }
  }

  // MARK: Lists of ready tasks

  /// Notes that a task enters the list of its pool.
  ///
  /// Returns `false` if it is already in that list. It may still be in the list of
  /// another pool, from an earlier time; that pool skips it.
  @inline(__always)
  mutating func list(_ index: TaskIndex) -> Bool {
    let i = Int(index)
    if nodes[i].flags.contains(.isListed), nodes[i].listedPool == nodes[i].pool { return false }
    nodes[i].flags.insert(.isListed)
    nodes[i].listedPool = nodes[i].pool
    return true
  }

  /// Notes that a task has been taken out of the list of a pool.
  ///
  /// Returns `false` if the task has entered another list since then.
  @inline(__always)
  mutating func unlist(_ index: TaskIndex, from pool: Int) -> Bool {
    let i = Int(index)
    guard nodes[i].flags.contains(.isListed), nodes[i].listedPool == UInt32(pool) else {
      return false
    }
    nodes[i].flags.remove(.isListed)
    return true
  }

  mutating func setPriority(_ index: TaskIndex, _ priority: Int8) {
    nodes[Int(index)].priority = priority
  }

  mutating func setPool(_ index: TaskIndex, _ pool: UInt32) { nodes[Int(index)].pool = pool }

  // MARK: Messages that travel

  /// The effect of a travelling message on one task.
  struct Step {
    let task: TaskIndex
    /// The message that took effect: the message that was sent; or `reset`, because a
    /// prerequisite runs again; or `prerequisiteFinished`.
    let message: TaskMessage
    /// The state before the transition, or `nil` if there was no transition.
    let before: WorkflowTaskState?
    /// Whether the task is handed to its context.
    let runs: Bool
  }

  /// Sends `cancel`, `reset` or `retry` to tasks and to all their dependents, once to
  /// each, prerequisites first.
  ///
  /// Tasks behind which the message would change nothing may be left out. Linear in the
  /// tasks reached and their edges; no recursion.
  ///
  /// - Parameters:
  ///   - mayRun: Whether a `cancel` may start tasks whose prerequisites have now all ended.
  ///   - staysInRun: Whether tasks that are not part of the current run stay as they are.
  mutating func propagate(
    _ message: TaskMessage, from origins: some Collection<TaskIndex>, at time: UInt64,
    mayRun: Bool = true, staysInRun: Bool = false, _ report: (Step) -> Void
  ) {
    if usesRules {
      return propagateByRules(
        message, from: origins, at: time, mayRun: mayRun, staysInRun: staysInRun, report)
    }
    let order = inOrder(of: message, from: origins)
    for task in order where !(staysInRun && isExcluded(task)) {
      let step = apply(message, to: task, at: time)
      report(step)
      if step.before == .finished, message != .cancel {
        // The task no longer has a result: its dependents wait for it again.
        var edge = self[task].firstDependent
        while edge >= 0 {
          nodes[Int(edges[Int(edge)].dependent)].unfinishedPrerequisites += 1
          edge = edges[Int(edge)].nextDependent
        }
      }
    }
    mark(order, reachedBy: message, isComplete: !(staysInRun && hasExcluded))
  }

  /// Returns all tasks reachable along dependents, prerequisites first.
  ///
  /// - Parameter isBarrier: Whether the walk ends at a task. The task itself is included.
  mutating func inOrder(
    from origins: some Sequence<TaskIndex>, isBarrier: (Node) -> Bool = { _ in false }
  ) -> ContiguousArray<TaskIndex> {
    let found = reachable(from: origins, isBarrier)
    // Kahn's algorithm: a task is next when all edges into it within the walk have been
    // followed.
    var ready: ContiguousArray<TaskIndex> = []
    ready.reserveCapacity(found.count)
    for task in found where self[task].edgesToWalk == 0 { ready.append(task) }
    var next = 0
    while next < ready.count {
      let node = self[ready[next]]
      next += 1
      if isBarrier(node) { continue }
      var edge = node.firstDependent
      while edge >= 0 {
        let dependent = Int(edges[Int(edge)].dependent)
        edge = edges[Int(edge)].nextDependent
        nodes[dependent].edgesToWalk -= 1
        if nodes[dependent].edgesToWalk == 0 { ready.append(TaskIndex(dependent)) }
      }
    }
    return ready
  }

  /// Returns all tasks reachable along dependents, and counts the edges among them that
  /// lead into each.
  private mutating func reachable(
    from origins: some Sequence<TaskIndex>, _ isBarrier: (Node) -> Bool
  ) -> ContiguousArray<TaskIndex> {
    let walk = nextWalk()
    var found: ContiguousArray<TaskIndex> = []
    for origin in origins where visits(origin, in: walk) { found.append(origin) }
    var next = 0
    while next < found.count {
      let node = self[found[next]]
      next += 1
      if isBarrier(node) { continue }
      var edge = node.firstDependent
      while edge >= 0 {
        let dependent = edges[Int(edge)].dependent
        edge = edges[Int(edge)].nextDependent
        if visits(dependent, in: walk) { found.append(dependent) }
        nodes[Int(dependent)].edgesToWalk += 1
      }
    }
    return found
  }

  private mutating func nextWalk() -> UInt32 {
    lastWalk &+= 1
    if lastWalk == 0 {
      for i in nodes.indices { nodes[i].walk = 0 }
      lastWalk = 1
    }
    return lastWalk
  }

  /// Applies a message to one task.
  mutating func apply(_ message: TaskMessage, to index: TaskIndex, at time: UInt64) -> Step {
    let node = self[index]
    guard let transition = node.state.transition(on: message, verdict: node.verdict) else {
      return Step(task: index, message: message, before: nil, runs: false)
    }
    update(index) { node in
      if node.state == .executing { node.ended = time }
      node.state = transition.state
      node.flags.subtract([.isHandedOver, .isDelayed, .isAbandoned, .isWaiting, .isRecording])
      if transition.runs { node.flags.insert(.isHandedOver) }
      if message != .cancel { node.endDate = .nan }
    }
    return Step(task: index, message: message, before: node.state, runs: transition.runs)
  }
}
