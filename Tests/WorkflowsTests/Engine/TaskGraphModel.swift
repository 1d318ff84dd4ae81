@testable import Workflows

/// An event in the life of a graph, as the workflow's core passes it on.
enum GraphEvent {
  case start(Int), begin(Int), finish(Int), fail(Int), skip(Int)
  case tryAgain(Int, isDelayed: Bool), delayIsOver(Int)
  case abandon(Int), wait(Int)
  case message(TaskMessage, to: [Int])
  case addEdge(from: Int, to: Int)
  case addTask(WorkflowTaskState, behind: [Int])

  /// What can happen to one task, but for messages.
  static func own(_ task: Int) -> [GraphEvent] {
    [.start(task), .begin(task), .finish(task), .fail(task)]
  }

  /// The same, of a task that may be skipped.
  static func skippable(_ task: Int) -> [GraphEvent] { own(task) + [.skip(task)] }

  /// What happens to a run beside its end.
  static func rare(_ task: Int) -> [GraphEvent] {
    [
      .tryAgain(task, isDelayed: false), .tryAgain(task, isDelayed: true), .delayIsOver(task),
      .abandon(task), .wait(task),
    ]
  }

  static func messages(_ task: Int) -> [GraphEvent] {
    [TaskMessage.cancel, .reset, .retry].map { .message($0, to: [task]) }
  }
}

/// What the graph promises, written down without counters, lists and walks, and
/// the graph itself, driven together.
///
/// The model keeps names and edges in plain arrays and looks everything up anew
/// each time. What a message does follows from rules in words, not from a table.
struct TaskGraphModel {
  struct Task: Hashable {
    var state: WorkflowTaskState
    var rule = TriggerRule.whenAllSucceed
    /// Handed to its context, or promised to it.
    var isHandedOver = false
    var isDelayed = false
    var isAbandoned = false
    var isWaiting = false

    mutating func leave(to new: WorkflowTaskState) {
      self = Task(state: new, rule: rule)
    }
  }

  /// All that makes a difference.
  struct Key: Hashable {
    let tasks: [Task]
    let edges: [[Int]]
  }

  private(set) var graph = TaskGraph()
  private(set) var tasks: [Task] = []
  /// From a prerequisite to a dependent, in the order in which they came.
  private var edges: [(from: Int, to: Int)] = []
  private var disagreement: String?

  /// The same, and where a message need not go again.
  var keyWithMarks: [AnyHashable] {
    let marked = tasks.indices.filter { graph[TaskIndex($0)].conditions.contains(.isMarked) }
    return [key, marked, graph.marks.message]
  }

  var key: Key { Key(tasks: tasks, edges: edges.map { [$0.from, $0.to] }) }

  /// Tasks with numbers from zero; each with those that it waits for.
  init(_ prerequisites: [[Int]], rules: [TriggerRule] = []) {
    for (number, before) in prerequisites.enumerated() {
      add(.ready, number < rules.count ? rules[number] : .whenAllSucceed, behind: before)
    }
  }

  private mutating func expect(_ isRight: Bool, _ what: @autoclosure () -> String) {
    if !isRight, disagreement == nil { disagreement = what() }
  }

  // MARK: Looking

  private func prerequisites(of task: Int) -> [Int] { edges.filter { $0.to == task }.map(\.from) }
  private func dependents(of task: Int) -> [Int] { edges.filter { $0.from == task }.map(\.to) }

  private func isUnblocked(_ task: Int) -> Bool { verdict(of: task) == .runs }

  /// How a task has ended for those that wait for it, if it has.
  private func end(of task: Int) -> WorkflowTaskState? {
    switch tasks[task].state {
    case .finished, .failed, .cancelled, .skipped: return tasks[task].state
    case .ready, .executing: return nil
    case .pending:
      if tasks[task].rule != .whenAllSucceed { return nil }
      let ends = prerequisites(of: task).map { end(of: $0) }
      if ends.contains(.failed) { return .failed }
      return ends.contains(.cancelled) ? .cancelled : nil
    }
  }

  private func verdict(of task: Int) -> TaskVerdict {
    let ends = prerequisites(of: task).map { end(of: $0) }
    switch tasks[task].rule {
    case .whenAllSucceed:
      if ends.contains(where: { $0 == nil || $0 == .failed || $0 == .cancelled }) { return .waits }
      return ends.contains(.skipped) ? .skipped : .runs
    case .whenAllDone: return ends.contains(nil) ? .waits : .runs
    case .whenAnyFails:
      return ends.contains(nil) ? .waits : ends.contains(.failed) ? .runs : .skipped
    }
  }

  /// Where a task stands that has not run.
  private func rest(of task: Int) -> WorkflowTaskState {
    switch verdict(of: task) {
    case .waits: .pending
    case .runs: .ready
    case .skipped: .skipped
    }
  }

  /// Lets all pending tasks know that others have ended, until nothing changes.
  ///
  /// - Returns: Those that run or are skipped.
  private mutating func settle(mayRun: Bool = true) -> Set<Int> {
    var changed: Set<Int> = []
    while let task = tasks.indices.first(where: {
      tasks[$0].state == .pending && verdict(of: $0) != .waits
    }) {
      tasks[task].leave(to: rest(of: task))
      if tasks[task].state == .ready { tasks[task].isHandedOver = mayRun }
      if mayRun || tasks[task].state == .skipped { changed.insert(task) }
    }
    return changed
  }

  /// All that wait for some tasks, directly or not, and the tasks themselves.
  private func reached(from origins: [Int]) -> Set<Int> {
    var found = Set(origins)
    while true {
      let more = found.union(edges.filter { found.contains($0.from) }.map(\.to))
      if more == found { return found }
      found = more
    }
  }

  // MARK: Events

  /// Lets something happen to both; returns what they disagree on.
  ///
  /// What no caller does, is not done.
  mutating func apply(_ event: GraphEvent) -> String? {
    disagreement = nil
    switch event {
    case .start(let task): start(task)
    case .begin(let task): begin(task)
    case .finish(let task): finish(task)
    case .fail(let task):
      var reached: [Int] = []
      graph.fail(TaskIndex(task), at: 1, on: 1) { reached.append(Int($0)) }
      ends(task, as: .failed, reached)
    case .skip(let task):
      var reached: [Int] = []
      graph.skip(TaskIndex(task), at: 1) { reached.append(Int($0)) }
      ends(task, as: .skipped, reached)
    case .tryAgain(let task, let isDelayed):
      guard tasks[task].state == .executing else { return nil }
      graph.tryAgain(TaskIndex(task), isDelayed: isDelayed, at: 1)
      let rule = tasks[task].rule
      tasks[task] = Task(state: .ready, rule: rule, isHandedOver: true, isDelayed: isDelayed)
    case .delayIsOver(let task):
      let index = TaskIndex(task)
      expect(!graph.delayIsOver(index, after: graph[index].run &- 1), "the delay of an older run")
      let isOver = graph.delayIsOver(index, after: graph[index].run)
      expect(isOver == tasks[task].isDelayed, "a delay is over: \(isOver)")
      tasks[task].isDelayed = false
    case .abandon(let task):
      let index = TaskIndex(task)
      expect(!graph.abandon(index, run: graph[index].run &- 1), "an older run was abandoned")
      let isExecuting = tasks[task].state == .executing
      expect(graph.abandon(index, run: graph[index].run) == isExecuting, "abandoned, or not")
      if isExecuting { tasks[task].isAbandoned = true }
    case .wait(let task):
      guard tasks[task].state == .executing else { return nil }
      graph.wait(TaskIndex(task))
      tasks[task].isWaiting = true
    case .message(let message, let origins): propagate(message, from: origins)
    case .addEdge(let from, let to): addEdge(from: from, to: to)
    case .addTask(let state, let before):
      guard tasks.count < 4 else { return nil }
      add(state, behind: before)
    }
    compare()
    return disagreement
  }

  private mutating func start(_ task: Int) {
    let starts = tasks[task].state == .ready && !tasks[task].isHandedOver
    expect(graph.start(TaskIndex(task)) == starts, "started: \(!starts)")
    if starts { tasks[task].isHandedOver = true }
  }

  private mutating func begin(_ task: Int) {
    let begins = tasks[task].isHandedOver && !tasks[task].isDelayed
    let run = graph[TaskIndex(task)].run
    expect(graph.begin(TaskIndex(task), at: 1) == begins, "began: \(!begins)")
    expect((graph[TaskIndex(task)].run != run) == begins, "a run has the number of another")
    if begins { tasks[task].leave(to: .executing) }
  }

  private mutating func finish(_ task: Int) {
    var readied: [Int] = []
    graph.finish(TaskIndex(task), at: 1, on: 1) { readied.append(Int($0)) }
    ends(task, as: .finished, readied)
  }

  /// A task that executes has ended, and the graph says which tasks that has reached.
  private mutating func ends(_ task: Int, as state: WorkflowTaskState, _ reached: [Int]) {
    guard tasks[task].state == .executing else {
      return expect(reached.isEmpty, "what does not execute ends")
    }
    tasks[task].leave(to: state)
    let isPlain = tasks.allSatisfy { $0.rule == .whenAllSucceed && $0.state != .skipped }
    let free = dependents(of: task).filter { tasks[$0].state == .pending && isUnblocked($0) }
    let expected = settle()
    expect(
      isPlain
        ? reached == free : Set(reached) == expected && reached.count == expected.count,
      "\(reached) were reached, and should be \(expected)")
  }

  /// All that a message comes to.
  private func meant(by message: TaskMessage, from origins: [Int]) -> Set<Int> {
    guard message == .cancel else { return reached(from: origins) }
    // (It does not come to those that run whatever happens to others.)
    var found = Set(origins)
    while true {
      let more = found.union(
        edges.filter { found.contains($0.from) && tasks[$0.to].rule == .whenAllSucceed }
          .map(\.to))
      if more == found { return found }
      found = more
    }
  }

  private mutating func propagate(_ message: TaskMessage, from origins: [Int]) {
    var steps: [TaskGraph.Step] = []
    graph.propagate(message, from: origins.map { TaskIndex($0) }, at: 1) { steps.append($0) }
    let ended = steps.filter { $0.message == .prerequisiteFinished }.map { Int($0.task) }
    steps.removeAll { $0.message == .prerequisiteFinished }
    let order = steps.map { Int($0.task) }
    let meant = meant(by: message, from: origins)
    // The graph may leave out tasks that would not change.
    let left = meant.subtracting(order).sorted()
    expect(
      Set(order).isSubset(of: meant) && order.count + left.count == meant.count,
      "\(message) came to \(order)")
    // (The order of tasks that do not change makes no difference.)
    for (place, task) in order.enumerated() where steps[place].before != nil {
      let early = prerequisites(of: task).filter { order[place...].contains($0) }
      expect(early.isEmpty, "\(message) came to \(task) before \(early)")
    }
    let verdicts = tasks.indices.map { verdict(of: $0) }
    for step in steps { hear(message, step, before: verdicts[Int(step.task)]) }
    for task in left {
      let step = TaskGraph.Step(
        task: TaskIndex(task), message: message, before: nil, runs: false)
      hear(message, step, before: verdicts[task])
    }
    let settled = settle(mayRun: message == .cancel)
    expect(
      Set(ended) == settled && ended.count == settled.count,
      "\(ended) heard of an end, and should be \(settled)")
  }

  /// The rules of the three messages, for one task.
  private mutating func hear(
    _ message: TaskMessage, _ step: TaskGraph.Step, before verdict: TaskVerdict
  ) {
    let task = Int(step.task)
    let before = tasks[task].state
    let again = rest(of: task)
    let isOver =
      before == .finished || before == .failed || before == .cancelled || before == .skipped
    var changes = false
    var runs = false
    switch message {
    case .cancel where !isOver:
      changes = true
      tasks[task].leave(to: .cancelled)
    case .reset where before != .pending && !(before == .skipped && again == .skipped):
      changes = true
      tasks[task].leave(to: again)
    case .retry where before == .cancelled || before == .failed:
      changes = true
      runs = again == .ready
      tasks[task].leave(to: again)
      tasks[task].isHandedOver = runs
    case .retry where before != .pending && verdict != .waits && again == .pending:
      // What it has run behind runs again.
      changes = true
      expect(step.message == .reset, "\(task) was taken back, and not reset")
      tasks[task].leave(to: .pending)
    default: break
    }
    expect(step.before == (changes ? before : nil), "\(message) changed \(task), or did not")
    expect(step.runs == runs, "\(message) runs \(task): \(step.runs)")
  }

  private mutating func addEdge(from: Int, to: Int) {
    let (p, d) = (TaskIndex(from), TaskIndex(to))
    let path = graph.path(from: d, to: p)?.map { Int($0) }
    let closesCycle = reached(from: [to]).contains(from)
    expect((path != nil) == closesCycle, "from \(from) to \(to) is a cycle: \(!closesCycle)")
    if let path {
      let isWay = zip(path, path.dropFirst()).allSatisfy { dependents(of: $0).contains($1) }
      expect(isWay && path.first == to && path.last == from, "\(path) is no way")
      return
    }
    let isThere = edges.contains { $0 == (from, to) }
    expect(graph.hasEdge(from: p, to: d) == isThere, "there is such an edge: \(!isThere)")
    if isThere || tasks[to].state == .executing || tasks[to].state == .finished { return }
    if tasks[to].state == .skipped { return }
    var found: [Int] = []
    let waits = graph.addEdge(from: p, to: d) { found.append(Int($0)) }
    edges.append((from, to))
    let mustWait = tasks[to].state == .ready && !isUnblocked(to)
    expect(waits == mustWait, "\(to) has to wait: \(waits)")
    if mustWait { tasks[to].leave(to: rest(of: to)) }
    let settled = settle()
    expect(Set(found) == settled, "\(found) were reached, and should be \(settled)")
  }

  private mutating func add(
    _ state: WorkflowTaskState, _ rule: TriggerRule = .whenAllSucceed, behind before: [Int]
  ) {
    let index = graph.addTask(
      state: state, rule: rule, prerequisites: before.map { TaskIndex($0) }, hearsMessages: false)
    expect(Int(index) == tasks.count, "a number was given twice")
    tasks.append(Task(state: state, rule: rule))
    for other in before { edges.append((other, Int(index))) }
    if state == .ready { tasks[Int(index)].leave(to: rest(of: Int(index))) }
  }

  // MARK: Comparing

  private mutating func compare() {
    if let broken = graph.brokenInvariant { expect(false, broken) }
    for (number, task) in tasks.enumerated() {
      let (index, node) = (TaskIndex(number), graph[TaskIndex(number)])
      let found = Task(
        state: node.state, rule: node.rule, isHandedOver: node.flags.contains(.isHandedOver),
        isDelayed: node.flags.contains(.isDelayed),
        isAbandoned: node.flags.contains(.isAbandoned), isWaiting: node.flags.contains(.isWaiting))
      expect(found == task, "\(number) is \(found), not \(task)")
      let isExecuting = task.state == .executing
      expect(graph.isExecuting(index, run: nil) == isExecuting, "\(number) executes, or not")
      expect(graph.isExecuting(index, run: node.run) == isExecuting, "\(number), or another run")
      expect(!graph.isExecuting(index, run: node.run &- 1), "\(number) executes an older run")
      let waits = prerequisites(of: number).count { tasks[$0].state != .finished }
      expect(Int(node.unfinishedPrerequisites) == waits, "\(number) waits for \(waits)")
      let open = prerequisites(of: number).count { end(of: $0) == nil }
      expect(
        !graph.usesRules || Int(node.prerequisitesWithoutEnd) == open,
        "\(open) prerequisites of \(number) have no end")
      expect(
        graph.prerequisites(of: index).map { Int($0) } == prerequisites(of: number),
        "the prerequisites of \(number)")
      expect(
        graph.dependents(of: index).map { Int($0) } == dependents(of: number),
        "the dependents of \(number)")
    }
    let last = tasks.indices.filter { dependents(of: $0).isEmpty }
    expect(graph.lastTasks().map { Int($0) } == last, "\(last) have no dependents")
    expect(graph.count == tasks.count, "tasks are lost, or made up")
    func count(_ state: WorkflowTaskState) -> Int { tasks.count { $0.state == state } }
    expect(
      graph.unfinishedCount == tasks.count - count(.finished) - count(.skipped),
      "how many have not finished")
    expect(graph.failedCount == count(.failed), "how many have failed")
    expect(graph.cancelledCount == count(.cancelled), "how many are cancelled")
    let active = tasks.count { $0.isHandedOver || $0.state == .executing && !$0.isAbandoned }
    expect(graph.activeCount == active, "\(active) are active")
    let occupied = tasks.count { $0.state == .executing && !$0.isWaiting && !$0.isAbandoned }
    expect(graph.occupiedCount == occupied, "\(occupied) take room")
  }

  /// Lets a task fail behind the model's back.
  mutating func betray() { graph.fail(0, at: 1, on: 1) }
}
