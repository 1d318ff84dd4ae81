import Foundation
import Futures

extension WorkflowCore {
  // MARK: Messages that travel

  /// Sends `cancel`, `reset` or `retry` to a task and all its dependents.
  func send(_ message: TaskMessage, to task: AnyWorkflowTask) {
    perform { state, effects in
      guard !state.isReleased else { return }
      propagate(message, from: CollectionOfOne(task.index), &state, &effects)
    }
  }

  /// Sends `reset` or `retry` to all tasks.
  func sendToAll(_ message: TaskMessage, promise: Promise<WorkflowOutcome>? = nil) {
    perform { state, effects in
      if let promise { expect(promise, &state, &effects) }
      guard !state.isReleased else { return }
      let hasUnsuccessful = state.graph.hasUnsuccessful
      if message == .retry, hasUnsuccessful { state.graph.includeAll() }
      propagate(message, from: allTasks(meantBy: message, state), &state, &effects)
      if promise != nil { tellUntoldFinish(&state, &effects) }
    }
  }

  /// Cancels all tasks because a progress of the workflow was cancelled, once.
  ///
  /// Foundation may call the progress's handler on another thread, and late. A message that
  /// follows the cancellation passes it on first; the late handler would cancel the next run.
  func cancelAll(becauseOf progress: WorkflowProgress) {
    guard !progress.hasCancelled.load(ordering: .acquiring) else { return }
    cancelAll { _ in
      !progress.hasCancelled.exchange(true, ordering: .acquiringAndReleasing)
    }
  }

  /// Removes a future of the outcome that was cancelled, and cancels all tasks if it was the
  /// last one.
  func nobodyWaitsAny(more promise: Promise<WorkflowOutcome>) {
    let key = ObjectIdentifier(promise)
    let isLast = change { state in
      if state.outcomes.count == 1 { return state.outcomes[key] != nil }
      state.outcomes[key] = nil
      return false
    }
    guard isLast else { return }
    // By then, the run may be over, or another caller may have joined it.
    cancelAll { $0.outcomes.removeValue(forKey: key) != nil && $0.outcomes.isEmpty }
  }

  /// Announces that all tasks are cancelled, and cancels them, except for those that run
  /// whatever happens to others.
  ///
  /// - Parameter isWanted: Called with the lock held, after the announcement; `false` changes
  ///   nothing.
  func cancelAll(ifStill isWanted: (inout State) -> Bool = { _ in true }) {
    announce(.workflowWillCancel, as: .workflowWillCancel)
    perform { state, effects in
      guard isWanted(&state), !state.isReleased else { return }
      propagate(.cancel, from: allTasks(meantBy: .cancel, state), &state, &effects)
    }
  }

  /// Returns the tasks that a message to the whole workflow is sent to.
  private func allTasks(
    meantBy message: TaskMessage, _ state: borrowing State
  ) -> ContiguousArray<TaskIndex> {
    let all = 0..<TaskIndex(state.graph.count)
    guard message == .cancel, state.graph.usesRules else { return ContiguousArray(all) }
    let graph = state.graph
    return ContiguousArray(all.filter { graph[$0].rule == .whenAllSucceed })
  }

  /// With the lock held: sends a message to all tasks without a step to the task around
  /// the workflow.
  ///
  /// That task received the message itself, or hears of a failure.
  func propagateFromOutside(
    _ message: TaskMessage, goesOn: Bool = false, _ state: inout State, _ effects: inout Effects
  ) {
    let origins = allTasks(meantBy: message, state)
    propagate(message, from: origins, isFromOutside: true, goesOn: goesOn, &state, &effects)
  }

  /// With the lock held: cancels all tasks of the current run, and no others.
  ///
  /// Takes no time if all tasks of the workflow have ended: many clean-up tasks may fail and
  /// end the run again.
  ///
  /// - Parameter others: Further tasks to cancel, with rules of their own.
  func cancelRun(
    and others: ContiguousArray<TaskIndex> = [], isFromOutside: Bool, _ state: inout State,
    _ effects: inout Effects
  ) {
    guard state.isCancellable || !others.isEmpty else { return }
    let origins = allTasks(meantBy: .cancel, state) + others
    propagate(
      .cancel, from: origins, isFromOutside: isFromOutside, staysInRun: true, &state, &effects)
  }

  /// With the lock held: sends a message to tasks and their dependents.
  ///
  /// - Parameters:
  ///   - isFromOutside: Whether the task around this workflow need not hear of it.
  ///   - staysInRun: Whether the message leaves tasks outside the current run alone.
  ///   - goesOn: Whether the task around this workflow was executing.
  /// - Returns: Whether a task that had finished or was skipped is reset.
  @discardableResult
  func propagate(
    _ message: TaskMessage, from origins: some Collection<TaskIndex>, isFromOutside: Bool = false,
    staysInRun: Bool = false, goesOn: Bool = false, _ state: inout State, _ effects: inout Effects
  ) -> Bool {
    var (hasCancelled, hasSkipped, hasReset) = (false, false, false)
    var hasChanged = false
    // The graph does not know the rest of the state, so it reports into a list.
    var steps: ContiguousArray<TaskGraph.Step> = []
    let time = WorkflowClock.now
    let mayRun = message == .cancel && (goesOn || state.goesOn)
    state.graph.propagate(
      message, from: origins, at: time, mayRun: mayRun, staysInRun: staysInRun
    ) { steps.append($0) }
    for step in steps {
      let (task, message) = (state.tasks[Int(step.task)], step.message)
      if message == .prerequisiteFinished {
        if !step.runs { hasSkipped = true }
        prerequisiteHasEnded(of: step.task, &state, &effects)
        continue
      }
      if state.graph[step.task].flags.contains(.hearsMessages) {
        let now = state.graph[step.task].state
        task.hears(message, changedFrom: step.before, to: now, &effects)
      }
      guard let before = step.before else { continue }
      hasChanged = true
      hasCancelled = hasCancelled || message == .cancel
      hasReset = hasReset || message == .reset && (before == .finished || before == .skipped)
      if message != .cancel { state.owner?.nesting.onlyCleansUp = false }
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
    guard !isFromOutside, state.owner != nil else { return hasReset }
    if hasCancelled || hasReset {
      effects.steps.append(.innerTaskGot(message, self))
    } else if hasChanged, message == .reset, state.journal != nil {
      effects.steps.append(.innerTaskGot(.prerequisiteRunsAgain, self))
    }
    return hasReset
  }

  /// With the lock held: clears what belonged to the state that a task has left.
  private func leave(
    _ before: WorkflowTaskState, _ index: TaskIndex, _ task: AnyWorkflowTask,
    on message: TaskMessage, _ state: inout State, _ effects: inout Effects
  ) {
    if state.journal != nil { forgetRecord(of: task, &state, &effects) }
    switch before {
    case .executing, .ready:
      // A ready task may be waiting for its next attempt; this also stops that timer.
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

  /// With the lock held: stops the work of a run, its timeout, and the delay before the
  /// next attempt.
  func endRun(_ index: TaskIndex, _ state: inout State, _ effects: inout Effects) {
    if state.limits.areUsed { returnPermit(index, &state, &effects) }
    if !state.nestings.isEmpty, let nesting = state.tasks[Int(index)].nesting {
      isStopping(inside: nesting, &state)
    }
    guard !state.extras.isEmpty, let extras = state.extras.removeValue(forKey: index) else {
      return
    }
    effects.stopped.append(extras)
    if !extras.stop.isEmpty, effects.stopping.last !== self {
      effects.stopping.append(self)
      isStopping(&state)
    }
  }

  /// With the lock held: holds up the ends of this run and of those around it.
  ///
  /// A run goes on while the task around the stopping workflow executes. It is held up when
  /// that task ends or is abandoned. So work that ends deep inside costs the workflows around
  /// it nothing.
  private func isStopping(_ state: inout State) {
    state.stopping += 1
    var (count, owner) = (state.stopping, state.owner)
    while count == 1, let next = owner, !next.keepsRunGoing, !next.nesting.holdsUpRun {
      next.nesting.holdsUpRun = true
      next.core.state.stopping += 1
      (count, owner) = (next.core.state.stopping, next.core.state.owner)
    }
  }

  /// With the lock held: holds up the end of this run if work inside a task is being stopped
  /// and the task no longer keeps the run going.
  func isStopping(inside nesting: Nesting, _ state: inout State) {
    guard nesting.inner.core.state.stopping > 0, !nesting.holdsUpRun else { return }
    nesting.holdsUpRun = true
    isStopping(&state)
  }

  /// With the lock held: no longer holds up the ends of this run and of those around it.
  func hasStopped(_ state: inout State, _ effects: inout Effects) {
    state.stopping -= 1
    var (count, owner) = (state.stopping, state.owner)
    while count == 0, let next = owner, next.nesting.holdsUpRun {
      next.nesting.holdsUpRun = false
      next.core.state.stopping -= 1
      effects.hasChanged(next.core)
      (count, owner) = (next.core.state.stopping, next.core.state.owner)
    }
  }

  // MARK: Starting

  /// Starts one task, if it is ready.
  func start(_ task: AnyWorkflowTask) {
    perform { state, effects in
      guard !state.isReleased else { return }
      if state.graph.start(task.index) { enqueue(task.index, &state, &effects) }
    }
  }

  /// Starts all ready tasks; `promise` receives the outcome.
  func startAll(_ promise: Promise<WorkflowOutcome>) {
    perform { state, effects in
      expect(promise, &state, &effects)
      if !state.isReleased { startAll(&state, &effects) }
    }
  }

  /// Starts a task and its prerequisites; `promise` receives the outcome.
  func start(only target: AnyWorkflowTask, _ promise: Promise<WorkflowOutcome>) {
    perform { state, effects in
      let isNew = !state.isRunning
      expect(promise, &state, &effects)
      guard !state.isReleased else { return }
      let wanted = state.graph.ancestors(of: target.index)
      if isNew { state.graph.exclude(allBut: wanted) }
      join(wanted, &state, &effects)
      tellUntoldFinish(&state, &effects)
      startStuck(&effects)
    }
  }

  /// With the lock held: makes tasks part of the current run.
  func join(
    _ wanted: ContiguousArray<TaskIndex>, _ state: inout State, _ effects: inout Effects
  ) {
    state.graph.include(wanted)
    for index in wanted where state.graph.start(index) { enqueue(index, &state, &effects) }
  }

  /// With the lock held: starts all ready tasks.
  func startAll(_ state: inout State, _ effects: inout Effects) {
    state.graph.includeAll()
    for index in 0..<TaskIndex(state.graph.count) where state.graph.start(index) {
      enqueue(index, &state, &effects)
    }
    // An empty workflow finishes each time that it is started.
    if state.graph.count == 0 { state.finishIsTold = false }
    tellUntoldFinish(&state, &effects)
    startStuck(&effects)
  }

  /// With the lock held: starts the workflows inside that are stuck.
  ///
  /// They would otherwise wait for a start of their own.
  private func startStuck(_ effects: inout Effects) {
    var next = [self]
    while let outer = next.popLast() {
      for nesting in outer.state.nestings {
        let inner = nesting.inner.core
        guard let task = inner.state.owner?.task,
          outer.state.graph.isExecuting(task.index, run: nesting.begunRun),
          !outer.state.graph.isExcluded(task.index)
        else { continue }
        if inner.isStuck {
          inner.announceLater(.workflowWillStart, as: .workflowWillStart, &inner.state)
          effects.steps.append(.start(inner, retries: false))
        } else {
          next.append(inner)
        }
      }
    }
  }

  /// With the lock held: notes that a run continues or begins.
  ///
  /// - Parameter promise: Receives the outcome.
  func expect(
    _ promise: Promise<WorkflowOutcome>?, _ state: inout State, _ effects: inout Effects
  ) {
    if !state.isRunning {
      // Tasks that were started one by one may execute already.
      let began = state.graph.earliestBeginning
      state.isRunNew = began == nil
      if let began { state.runBegan = began }
      state.lastRun += 1
      if let timeout = state.timeout { limit(state.lastRun, to: timeout, &effects) }
    }
    state.isRunning = true
    guard let promise else { return }
    state.lastWaiter += 1
    state.outcomes[ObjectIdentifier(promise)] = (state.lastWaiter, promise)
  }

  /// With the lock held: starts the timeout of a run after unlock.
  ///
  /// The run may be over by then, and another one may have begun.
  private func limit(_ run: UInt64, to timeout: Duration, _ effects: inout Effects) {
    effects.clocks.append { [self] in
      let timer = Promises.delay(for: timeout, clock: clock)
      begin(timer) { state in
        guard state.isRunning, state.lastRun == run else { return false }
        state.runTimer = timer
        return true
      } whenOver: { [weak self] result in
        let failure = result.failureValue
        self?.runIsTooLong(timer) { failure ?? WorkflowError.runTimedOut($0, after: timeout) }
      }
    }
  }

  /// Ends a run that has exceeded its timeout.
  ///
  /// - Parameter error: Makes the error of a task that executes.
  private func runIsTooLong(
    _ timer: Future<Void>, _ error: (AnyWorkflowTask) -> any Error
  ) {
    perform { state, effects in
      guard !state.isReleased, state.isRunning, state.runTimer === timer else { return }
      // The run is over, although its news may still be told.
      if state.comesToRest { return }
      var hasFailed = false
      for index in 0..<TaskIndex(state.graph.count)
      where state.graph.isExecuting(index, run: nil) && !state.graph.isExcluded(index) {
        let task = state.tasks[Int(index)]
        task.hearsTimeout(&effects)
        // The first of them must not cancel the next ones.
        fail(task, with: error(task), endsRun: false, &state, &effects)
        hasFailed = true
      }
      // The task around this workflow fails if an inner task failed; otherwise it is
      // cancelled.
      cancelRun(and: exemptBetweenAttempts(state), isFromOutside: hasFailed, &state, &effects)
    }
  }

  /// With the lock held: returns the tasks that have begun and wait for their next attempts, and
  /// that a cancellation of all tasks does not reach.
  private func exemptBetweenAttempts(_ state: borrowing State) -> ContiguousArray<TaskIndex> {
    guard state.graph.usesRules else { return [] }
    let graph = state.graph
    let waiting = state.attempts.keys.filter { index in
      graph[index].rule != .whenAllSucceed
        && (graph[index].state == .ready || graph[index].state == .pending)
    }
    return ContiguousArray(waiting.sorted())
  }

  /// With the lock held, after a run has begun: reports that all tasks have finished, if no
  /// task of the run will.
  ///
  /// That is so if the last task was skipped when it was added, or was restored from a
  /// journal.
  private func tellUntoldFinish(_ state: inout State, _ effects: inout Effects) {
    guard state.graph.unfinishedCount == 0, !state.finishIsTold else { return }
    allHaveFinished(&state, &effects)
  }

  /// With the lock held: reports that all tasks have finished.
  func allHaveFinished(_ state: inout State, _ effects: inout Effects) {
    state.finishIsTold = true
    state.news.append(.workflowFinished)
    if state.owner != nil { effects.steps.append(.innerFinished(self)) }
  }
}
