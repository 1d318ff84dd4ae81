import Foundation
import Properations

/// Follows a workflow and tells pages what has changed.
///
///     workflow.events ─▶ follow ─▶ entries, each with a version ─▶ picture(after:)
///                                     │
///                                     └─▶ subscriptions: "there is news"
///
/// There is no log of changes. Every entry has the version in which it last changed, so a
/// picture after any version is made of the entries themselves, however long a page was away.
actor WorkflowFeed {
  nonisolated let id: String
  nonisolated let workflow: Workflow
  nonisolated let presentation: WorkflowPresentation

  /// How many states of a task are kept.
  private static let historyLimit = 200

  private let epoch = String(UInt32.random(in: 0...UInt32.max), radix: 36)
  private let events: AsyncStream<WorkflowEvent>
  private var following: Task<Void, Never>?
  private var measuring: Task<Void, Never>?
  private var tree: TaskTree
  private var entries: [TaskEntry] = []
  private var run: RunEntry
  private var version = 1
  private var graph = 1
  /// Whether an entry has changed since the last version was published.
  private var hasNews = false
  private var subscriptions: [Int: AsyncStream<Void>.Continuation] = [:]
  private var lastSubscription = 0

  init(_ id: String, _ workflow: Workflow, _ presentation: WorkflowPresentation) {
    (self.id, self.workflow, self.presentation) = (id, workflow, presentation)
    // Before the states are read, so that no change is missed.
    events = workflow.events
    tree = TaskTree(of: workflow)
    run = RunEntry(
      phase: presentation.isReadOnly ? .recorded : .idle, isPaused: workflow.isPaused, actions: [],
      criticalPath: [], version: 1)
  }

  deinit {
    following?.cancel()
    measuring?.cancel()
    for subscription in subscriptions.values { subscription.finish() }
  }

  /// Begins to follow the events.
  func begin() {
    guard following == nil else { return }
    entries = tree.nodes.map { makeEntry($0) }
    run.actions = legalActions
    if entries.contains(where: { $0.state == WorkflowTaskState.executing.name }) {
      run.phase = .running
    }
    following = Task { [weak self, events] in
      for await event in events { await self?.handle(event) }
    }
    measureLater()
  }

  // MARK: For the server

  /// The picture of everything, or of what has changed after a version.
  func picture(after last: Int? = nil) -> WorkflowPicture {
    begin()
    updateTree()
    updateRun(version + 1)
    return WorkflowPicture(
      id: id, epoch: epoch, version: version, isWhole: last == nil, name: workflow.name,
      graph: graph, now: Self.now, run: run,
      tasks: last.map { last in entries.filter { $0.version > last } } ?? entries)
  }

  /// The present version, and the number of the graph that it has.
  var position: (epoch: String, version: Int, graph: Int) { (epoch, version, graph) }

  var summary: WorkflowSummary {
    WorkflowSummary(id: id, name: workflow.name, taskCount: entries.count)
  }

  func task(_ id: String) -> AnyWorkflowTask? {
    tree.position(of: id).map { tree.nodes[$0].task }
  }

  /// News, of which only the latest waits for a slow reader; `nil` if there are too many
  /// readers.
  func subscribe() -> AsyncStream<Void>? {
    guard subscriptions.count < 100 else { return nil }
    lastSubscription += 1
    let number = lastSubscription
    let (stream, continuation) = AsyncStream.makeStream(
      of: Void.self, bufferingPolicy: .bufferingNewest(1))
    continuation.onTermination = { [weak self] _ in
      Task { await self?.unsubscribe(number) }
    }
    subscriptions[number] = continuation
    return stream
  }

  private func unsubscribe(_ number: Int) { subscriptions[number] = nil }

  /// Wakes all readers, so that they find out whether their pages still listen.
  func knock() { for subscription in subscriptions.values { subscription.yield() } }

  /// Reads what no event announces: a condition that was fulfilled early, a pause.
  func refresh() {
    let next = version + 1
    for i in entries.indices { refreshWaiting(i, next) }
    hasNews = true
    publish(next)
  }

  // MARK: Events

  private func handle(_ event: WorkflowEvent) {
    let next = version + 1
    switch event {
    case .workflowWillStart, .workflowWillRetry:
      updateTree()
      run.phase = .running
      run.outcome = nil
      run.criticalPath = []
      runHasChanged(next)
    case .workflowWillCancel, .workflowDidFinish: break
    case .workflowWillReset:
      run.phase = .idle
      run.outcome = nil
      run.criticalPath = []
      runHasChanged(next)
    case .runDidEnd(let outcome): end(with: outcome, next)
    case .taskDidStart(let task): enter(.executing, task, next)
    case .taskDidFinish(let task): enter(.finished, task, next)
    case .taskDidFail(let task): enter(.failed, task, error: task.error, next)
    case .taskDidCancel(let task): enter(.cancelled, task, next)
    case .taskDidSkip(let task): enter(.skipped, task, next)
    case .taskDidReset(let task), .taskDidRetry(let task):
      // By now the task may have gone on; the events of that follow.
      let state = task.state
      enter(state == .pending ? .pending : .ready, task, next)
      if case .taskDidReset = event, let i = position(of: task) { entries[i].attempts = 0 }
    case .taskAttemptDidFail(let task, let attempt):
      enter(.ready, task, error: attempt.error, next)
    }
    publish(next)
    measureLater()
  }

  private func position(of task: AnyWorkflowTask) -> Int? {
    if let position = tree.position(of: task) { return position }
    updateTree()
    return tree.position(of: task)
  }

  private func enter(
    _ state: WorkflowTaskState, _ task: AnyWorkflowTask, error: (any Error)? = nil, _ next: Int
  ) {
    guard let i = position(of: task) else { return }
    note(state, error: error?.shownMessage, at: Self.now, i, next)
    // No event says that a pending task is ready.
    for dependent in task.dependentTasks {
      if let i = tree.position(of: dependent) { refreshWaiting(i, next) }
    }
    // An inner task changes the share of the tasks around it.
    var parent = entries[i].parent
    while let id = parent, let i = tree.position(of: id) {
      if let share = share(of: tree.nodes[i].task), share != entries[i].progress {
        entries[i].progress = share
        hasChanged(i, next)
      }
      parent = entries[i].parent
    }
  }

  /// Notes a state of a task that has begun at a time.
  private func note(
    _ state: WorkflowTaskState, error: String?, at time: Double, _ i: Int, _ next: Int
  ) {
    // The start of an attempt that already ran when the workflow was first looked at.
    if state == .executing, entries[i].state == state.name { return }
    let task = tree.nodes[i].task
    hasChanged(i, next)
    entries[i].state = state.name
    entries[i].actions = legalActions(of: task, in: state)
    entries[i].error = state == .failed ? error : nil
    entries[i].result = state == .finished ? presentation.result?(task) : nil
    entries[i].progress = progress(of: task, in: state)
    if state == .executing { entries[i].attempts += 1 }
    entries[i].history.append(TaskEntry.Moment(at: time, state: state.name, error: error))
    if entries[i].history.count > Self.historyLimit { entries[i].history.removeFirst() }
  }

  /// Notes whether a task that has not begun is pending or ready, and what can be done with it.
  private func refreshWaiting(_ i: Int, _ next: Int) {
    let task = tree.nodes[i].task
    let state = task.state
    guard state.name != entries[i].state else {
      let actions = legalActions(of: task, in: state)
      if actions != entries[i].actions {
        entries[i].actions = actions
        hasChanged(i, next)
      }
      return
    }
    // All other states have events, which keep their order.
    let waiting: [WorkflowTaskState] = [.pending, .ready]
    guard waiting.contains(state), waiting.contains(where: { $0.name == entries[i].state }) else {
      return
    }
    note(state, error: nil, at: Self.now, i, next)
  }

  private func end(with outcome: WorkflowOutcome, _ next: Int) {
    run.phase =
      switch outcome {
      case .finished: .finished
      case .failed: .failed
      case .cancelled: .cancelled
      case .stuck: .stuck
      }
    run.outcome = outcome.description
    run.criticalPath = tree.criticalPath(of: workflow)
    runHasChanged(next)
  }

  /// Finds out what can be done with the run; only when a picture is wanted, because that
  /// takes a look at every task.
  private func updateRun(_ next: Int) {
    let actions = legalActions
    let isPaused = workflow.isPaused
    guard actions != run.actions || isPaused != run.isPaused else { return }
    run.actions = actions
    run.isPaused = isPaused
    run.version = next
    version = next
  }

  private func runHasChanged(_ next: Int) {
    run.version = next
    hasNews = true
  }

  private func hasChanged(_ i: Int, _ next: Int) {
    entries[i].version = next
    hasNews = true
  }

  private func publish(_ next: Int) {
    guard hasNews else { return }
    hasNews = false
    version = next
    knock()
  }

  /// Takes notice of tasks that were added.
  private func updateTree() {
    guard tree.isOutdated(workflow) else { return }
    let known = Dictionary(uniqueKeysWithValues: zip(tree.nodes.map(\.id), entries))
    tree = TaskTree(of: workflow)
    version += 1
    graph += 1
    entries = tree.nodes.map { node in
      var entry = known[node.id] ?? makeEntry(node)
      entry.version = version
      return entry
    }
    run.version = version
    knock()
  }

  // MARK: Progress

  /// Asks for the progress of executing tasks several times a second, as long as there are
  /// any.
  private func measureLater() {
    guard presentation.progress != nil, measuring == nil,
      entries.contains(where: { $0.state == WorkflowTaskState.executing.name })
    else { return }
    measuring = Task { [weak self] in
      try? await Task.sleep(for: .milliseconds(200))
      guard !Task.isCancelled else { return }
      await self?.measure()
    }
  }

  private func measure() {
    measuring = nil
    let next = version + 1
    for i in entries.indices where entries[i].state == WorkflowTaskState.executing.name {
      let progress = progress(of: tree.nodes[i].task, in: .executing)
      guard progress != entries[i].progress else { continue }
      entries[i].progress = progress
      hasChanged(i, next)
    }
    publish(next)
    measureLater()
  }

  private func progress(of task: AnyWorkflowTask, in state: WorkflowTaskState) -> Double? {
    switch state {
    case .finished, .skipped: return 1
    case .pending, .ready, .cancelled, .failed: return share(of: task) ?? 0
    case .executing:
      let progress = share(of: task) ?? presentation.progress?(task)
      // Rounded, so that a change too small to be seen is none.
      return progress.map { $0.isFinite ? (min(max($0, 0), 1) * 200).rounded() / 200 : 0 }
    }
  }

  /// The part of the tasks inside a task that have ended well; `nil` if there are none.
  private func share(of task: AnyWorkflowTask) -> Double? {
    guard let tasks = (task as? any Subworkflow)?.subworkflow.allTasks, !tasks.isEmpty else {
      return nil
    }
    let ended = tasks.count { $0.isFinished || $0.isSkipped }
    return Double(ended) / Double(tasks.count)
  }

  // MARK: Entries

  private func makeEntry(_ node: TaskTree.Node) -> TaskEntry {
    let task = node.task
    let state = task.state
    let began = task.finishDate?.timeIntervalSince1970 ?? Self.now
    return TaskEntry(
      id: node.id, parent: node.parent, name: task.name, kind: task.kind, state: state.name,
      progress: progress(of: task, in: state), attempts: state == .executing ? 1 : 0,
      error: task.error?.shownMessage,
      result: state == .finished ? presentation.result?(task) : nil,
      prerequisites: node.prerequisites, rule: task.triggerRule.name,
      actions: legalActions(of: task, in: state),
      history: [TaskEntry.Moment(at: began, state: state.name, error: task.error?.shownMessage)],
      version: version)
  }

  private func legalActions(
    of task: AnyWorkflowTask, in state: WorkflowTaskState
  ) -> [TaskAction] {
    presentation.isReadOnly ? [] : TaskAction.legal(for: task, in: state)
  }

  private var legalActions: [RunAction] {
    presentation.isReadOnly ? [] : RunAction.legal(for: workflow)
  }

  private static var now: Double { Date().timeIntervalSince1970 }
}
