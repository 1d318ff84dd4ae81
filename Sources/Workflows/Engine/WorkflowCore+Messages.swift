import Foundation
import Futures

extension WorkflowCore {
  // MARK: Messages that travel

  /// Sends `cancel`, `reset` or `retry` to a task and all that depend on it.
  func send(_ message: TaskMessage, to task: AnyWorkflowTask) {
    perform { state, effects in
      guard !state.isReleased else { return }
      propagate(message, from: CollectionOfOne(task.index), &state, &effects)
    }
  }

  /// Sends `cancel`, `reset` or `retry` to all tasks; `cancel` not to those that are to
  /// run whatever happens to others.
  func sendToAll(_ message: TaskMessage, promise: Promise<WorkflowOutcome>? = nil) {
    perform { state, effects in
      if let promise { expect(promise, &state, &effects) }
      guard !state.isReleased else { return }
      if message == .retry { state.graph.includeAll() }
      propagate(message, from: allTasks(meantBy: message, state), &state, &effects)
    }
  }

  /// The tasks that are meant if all are.
  private func allTasks(
    meantBy message: TaskMessage, _ state: borrowing State
  ) -> ContiguousArray<TaskIndex> {
    let all = 0..<TaskIndex(state.graph.count)
    guard message == .cancel, state.graph.usesRules else { return ContiguousArray(all) }
    let graph = state.graph
    return ContiguousArray(all.filter { graph[$0].rule == .whenAllSucceed })
  }

  /// With the lock held: sends a message to all tasks, of which the task around the
  /// workflow is not told: it has got the message itself, or hears of a failure.
  func propagateFromOutside(
    _ message: TaskMessage, _ state: inout State, _ effects: inout Effects
  ) {
    let origins = allTasks(meantBy: message, state)
    propagate(message, from: origins, isFromOutside: true, &state, &effects)
  }

  /// With the lock held.
  func propagate(
    _ message: TaskMessage, from origins: some Sequence<TaskIndex>, isFromOutside: Bool = false,
    _ state: inout State, _ effects: inout Effects
  ) {
    var (hasCancelled, hasSkipped, hasReset) = (false, false, false)
    // The graph does not know the rest of the state: it reports into a list.
    var steps: ContiguousArray<TaskGraph.Step> = []
    let time = WorkflowClock.now
    // (Where nothing goes on, a cancellation starts nothing.)
    let goesOn =
      state.isRunning || state.graph.activeCount > 0 || state.graph.executingCount > 0
    let mayRun = message == .cancel && goesOn
    state.graph.propagate(message, from: origins, at: time, mayRun: mayRun) { steps.append($0) }
    for step in steps {
      let (task, message) = (state.tasks[Int(step.task)], step.message)
      if message == .prerequisiteFinished {
        if !step.runs { hasSkipped = true }
        prerequisiteHasEnded(of: step.task, &state, &effects)
        continue
      }
      if state.graph[step.task].flags.contains(.hearsMessages) {
        task.hears(message, changedFrom: step.before, &effects)
      }
      guard let before = step.before else { continue }
      hasCancelled = hasCancelled || message == .cancel
      hasReset = hasReset || message == .reset && (before == .finished || before == .skipped)
      leave(before, step.task, task, on: message, &state, &effects)
      if message == .cancel {
        if wantsNews(of: task, state) { noteUntoldHook(task, &state) }
        noteEnd(of: task, &state, &effects) { .cancelled(task) }
      } else if state.graph[step.task].state == .skipped {
        hasSkipped = true
        noteEnd(of: task, &state, &effects) { .skipped(task) }
      } else if wantsNews(of: task, state) {
        noteUntoldHook(task, &state)
        state.news.append(message == .reset ? .reset(task) : .retried(task))
      }
      if step.runs { enqueue(step.task, &state, &effects) }
    }
    if hasSkipped, state.graph.unfinishedCount == 0 { allHaveFinished(&state, &effects) }
    guard hasCancelled || hasReset, !isFromOutside, state.owner != nil else { return }
    effects.steps.append(.innerTaskGot(hasCancelled ? .cancel : .reset, self))
  }

  /// With the lock held: clears what belonged to the state a task has left.
  private func leave(
    _ before: WorkflowTaskState, _ index: TaskIndex, _ task: AnyWorkflowTask,
    on message: TaskMessage, _ state: inout State, _ effects: inout Effects
  ) {
    if state.journal != nil { forgetRecord(of: task, &state, &effects) }
    switch before {
    case .executing, .ready:
      // (Ready, it may be waiting for its next attempt: that clock is off, too.)
      endRun(index, &state, &effects)
    case .finished:
      if let result = task.takeResult() { effects.garbage.append(result) }
    case .failed:
      if let error = state.errors.removeValue(forKey: index) { effects.garbage.append(error) }
    case .pending, .cancelled, .skipped:
      break
    }
    if message != .cancel, !state.attempts.isEmpty,
      let attempts = state.attempts.removeValue(forKey: index)
    {
      effects.garbage.append(attempts)
    }
  }

  /// With the lock held: the run's work is told to stop, its alarm is off, and so
  /// is the delay before the next attempt.
  func endRun(_ index: TaskIndex, _ state: inout State, _ effects: inout Effects) {
    if !state.permits.isEmpty { returnPermit(index, &state, &effects) }
    guard !state.extras.isEmpty, let extras = state.extras.removeValue(forKey: index) else {
      return
    }
    effects.stopped.append(extras)
  }

  // MARK: Starting

  /// Starts one task, if it is ready.
  func start(_ task: AnyWorkflowTask) {
    perform { state, effects in
      guard !state.isReleased else { return }
      if state.graph.start(task.index) { enqueue(task.index, &state, &effects) }
    }
  }

  /// Starts all ready tasks; `promise` gets the outcome.
  func startAll(_ promise: Promise<WorkflowOutcome>) {
    perform { state, effects in
      expect(promise, &state, &effects)
      if !state.isReleased { startAll(&state, &effects) }
    }
  }

  /// Starts a task and what it waits for; `promise` gets the outcome.
  func start(only target: AnyWorkflowTask, _ promise: Promise<WorkflowOutcome>) {
    perform { state, effects in
      let isNew = !state.isRunning
      expect(promise, &state, &effects)
      guard !state.isReleased else { return }
      let wanted = state.graph.ancestors(of: target.index)
      if isNew { state.graph.exclude(allBut: wanted) } else { state.graph.include(wanted) }
      for index in wanted where state.graph.start(index) { enqueue(index, &state, &effects) }
    }
  }

  /// With the lock held.
  func startAll(_ state: inout State, _ effects: inout Effects) {
    state.graph.includeAll()
    for index in 0..<TaskIndex(state.graph.count) where state.graph.start(index) {
      enqueue(index, &state, &effects)
    }
    if state.graph.count == 0 { allHaveFinished(&state, &effects) }
    // (What is stuck inside would wait for its own start.)
    for nesting in state.nestings {
      guard let task = nesting.inner.core.state.owner?.task,
        state.graph.isExecuting(task.index, run: nesting.begunRun),
        nesting.inner.core.isStuck
      else { continue }
      effects.steps.append(.start(nesting.inner.core, retries: false))
    }
  }

  /// With the lock held: a run goes on, or begins.
  ///
  /// - Parameter promise: Gets the outcome.
  func expect(
    _ promise: Promise<WorkflowOutcome>?, _ state: inout State, _ effects: inout Effects
  ) {
    if !state.isRunning {
      state.isRunNew = state.graph.activeCount == 0
      if let timeout = state.timeout { limitRun(to: timeout, &effects) }
    }
    state.isRunning = true
    guard let promise else { return }
    state.lastWaiter += 1
    state.outcomes[ObjectIdentifier(promise)] = (state.lastWaiter, promise)
  }

  /// With the lock held: the clock of a run that begins starts when the lock is free.
  private func limitRun(to timeout: Duration, _ effects: inout Effects) {
    effects.clocks.append { [self] in
      let timer = Promises.delay(for: timeout)
      let old = change { state -> Future<Void>? in
        guard state.isRunning else { return timer }
        defer { state.runTimer = timer }
        return state.runTimer
      }
      old?.cancel()
      // (The clock of a run that has ended is cancelled.)
      timer.onSuccess(on: .inline) { [weak self] in self?.runTimedOut(after: timeout, timer) }
    }
  }

  /// The run has taken too long.
  private func runTimedOut(after timeout: Duration, _ timer: Future<Void>) {
    perform { state, effects in
      guard !state.isReleased, state.isRunning, state.runTimer === timer else { return }
      var hasFailed = false
      for index in 0..<TaskIndex(state.graph.count) where state.graph.isExecuting(index, run: nil) {
        let task = state.tasks[Int(index)]
        task.hearsTimeout(&effects)
        fail(task, with: WorkflowError.runTimedOut(task, after: timeout), &state, &effects)
        hasFailed = true
      }
      // (A task around this workflow fails if one has failed, and else is cancelled.)
      let origins = allTasks(meantBy: .cancel, state)
      propagate(.cancel, from: origins, isFromOutside: hasFailed, &state, &effects)
    }
  }

  /// With the lock held.
  func allHaveFinished(_ state: inout State, _ effects: inout Effects) {
    state.news.append(.workflowFinished)
    if state.owner != nil { effects.steps.append(.innerFinished(self)) }
  }
}
