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

  /// Sends `cancel`, `reset` or `retry` to all tasks.
  func sendToAll(_ message: TaskMessage, promise: Promise<WorkflowOutcome>? = nil) {
    perform { state, effects in
      if let promise { expect(promise, &state, &effects) }
      guard !state.isReleased else { return }
      if message == .retry { state.graph.includeAll() }
      propagate(message, from: 0..<TaskIndex(state.graph.count), &state, &effects)
    }
  }

  /// With the lock held: sends a message to all tasks, of which the task around the
  /// workflow is not told: it has got the message itself, or hears of a failure.
  func propagateFromOutside(
    _ message: TaskMessage, _ state: inout State, _ effects: inout Effects
  ) {
    let origins = 0..<TaskIndex(state.graph.count)
    propagate(message, from: origins, isFromOutside: true, &state, &effects)
  }

  /// With the lock held.
  func propagate(
    _ message: TaskMessage, from origins: some Sequence<TaskIndex>, isFromOutside: Bool = false,
    _ state: inout State, _ effects: inout Effects
  ) {
    var hasCancelled = false
    // The graph does not know the rest of the state: it reports into a list.
    var steps: ContiguousArray<TaskGraph.Step> = []
    let time = WorkflowClock.now
    state.graph.propagate(message, from: origins, at: time) { steps.append($0) }
    for step in steps {
      let task = state.tasks[Int(step.task)]
      if state.graph[step.task].flags.contains(.hearsMessages) {
        task.hears(message, changedFrom: step.before, &effects)
      }
      guard let before = step.before else { continue }
      hasCancelled = message == .cancel
      leave(before, step.task, task, on: message, &state, &effects)
      if message == .cancel {
        if wantsNews(of: task, state) { noteUntoldHook(task, &state) }
        noteEnd(of: task, &state) { .cancelled(task) }
      } else if wantsNews(of: task, state) {
        noteUntoldHook(task, &state)
        state.news.append(message == .reset ? .reset(task) : .retried(task))
      }
      if step.runs { enqueue(step.task, &state, &effects) }
    }
    if hasCancelled, !isFromOutside, state.owner != nil {
      effects.steps.append(.innerTaskCancelled(self))
    }
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
    case .pending, .cancelled:
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
      if isNew { state.graph.exclude(allBut: wanted) }
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
    effects.passedOn.append { [self] in
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
      let origins = 0..<TaskIndex(state.graph.count)
      propagate(.cancel, from: origins, isFromOutside: hasFailed, &state, &effects)
    }
  }

  /// With the lock held.
  private func allHaveFinished(_ state: inout State, _ effects: inout Effects) {
    state.news.append(.workflowFinished)
    if state.owner != nil { effects.steps.append(.innerFinished(self)) }
  }

  // MARK: Ending a run

  /// Finishes an executing task.
  ///
  /// - Parameters:
  ///   - task: The task.
  ///   - run: The run that it must be in; any if `nil`.
  ///   - store: Stores the result in the task; with the lock held.
  ///   - box: Makes a box of the result for those who are told.
  /// - Returns: Whether the task was executing that run.
  @inline(__always)
  func finish(
    _ task: AnyWorkflowTask, run: UInt32?, store: () -> Void, box: () -> AnyObject
  ) -> Bool {
    perform { state, effects in
      guard !state.isReleased, state.graph.isExecuting(task.index, run: run) else { return false }
      finish(task, &state, &effects, store: store, box: box)
      return true
    }
  }

  /// With the lock held, for an executing task: now, or when its result is recorded.
  @inline(__always)
  func finish(
    _ task: AnyWorkflowTask, _ state: inout State, _ effects: inout Effects, store: () -> Void,
    box: () -> AnyObject
  ) {
    if state.journal != nil, recordsFirst(task, &state, &effects, box: box) { return }
    finishNow(task, &state, &effects, store: store, box: box)
  }

  /// With the lock held, for an executing task.
  @inline(__always)
  func finishNow(
    _ task: AnyWorkflowTask, _ state: inout State, _ effects: inout Effects, store: () -> Void,
    box: () -> AnyObject
  ) {
    let index = task.index
    store()
    noteEnd(of: task, &state) { .finished(task, box()) }
    endRun(index, &state, &effects)
    var single: TaskIndex = -1
    var others: ContiguousArray<TaskIndex> = []
    let time = WorkflowClock.now
    state.graph.finish(index, at: time, on: state.calendar.date(of: time)) { dependent in
      if single < 0 { single = dependent } else { others.append(dependent) }
    }
    if single >= 0 {
      enqueue(single, &state, &effects)
      for dependent in others { enqueue(dependent, &state, &effects) }
    }
    if state.graph.unfinishedCount == 0 { allHaveFinished(&state, &effects) }
  }

  /// Ends a run with an error: the task fails, or tries again.
  ///
  /// - Parameter isWanted: Called with the lock held; `false` leaves all as it is.
  @discardableResult
  func fail(
    _ task: AnyWorkflowTask, run: UInt32?, with error: any Error, isTimeout: Bool = false,
    ifStill isWanted: () -> Bool = { true }
  ) -> Bool {
    // (What the policy says comes before the lock: it is the user's code.)
    let policy = task.settingsIfAny?.get(\.retryPolicy)
    let wait = policy.flatMap { self.wait(beforeNextAttemptOf: task, $0, after: error, run: run) }
    return perform { state, effects in
      let index = task.index
      guard !state.isReleased, state.graph.isExecuting(index, run: run), isWanted() else {
        return false
      }
      if isTimeout { task.hearsTimeout(&effects) }
      if let wait, let policy {
        noteFailedAttempt(of: task, error, &state, &effects)
        tryAgain(task, after: wait, by: policy, &state, &effects)
      } else {
        fail(task, with: error, &state, &effects)
      }
      return true
    }
  }

  /// With the lock held, for an executing task.
  func fail(
    _ task: AnyWorkflowTask, with error: any Error, _ state: inout State, _ effects: inout Effects
  ) {
    let index = task.index
    endRun(index, &state, &effects)
    state.errors[index] = error
    let time = WorkflowClock.now
    state.graph.fail(index, at: time, on: state.calendar.date(of: time))
    noteEnd(of: task, &state) { .failed(task, error) }
    tellOwner(ofFailed: index, with: error, &state, &effects)
    if state.failsFast { propagateFromOutside(.cancel, &state, &effects) }
  }

  /// With the lock held, for an executing task.
  private func noteFailedAttempt(
    of task: AnyWorkflowTask, _ error: any Error, _ state: inout State, _ effects: inout Effects
  ) {
    let node = state.graph[task.index]
    let (new, dropped) = state.attempts[
      task.index, default: TaskAttempts(firstRun: node.run, began: node.began)
    ].add(
      error, from: node.began, to: WorkflowClock.now)
    if let dropped { effects.garbage.append(dropped) }
    if wantsNews(of: task, state) { state.news.append(.attemptFailed(task, new)) }
  }

  /// Before the lock is taken: how long to wait before another attempt; `nil` if there is
  /// none.
  private func wait(
    beforeNextAttemptOf task: AnyWorkflowTask, _ policy: RetryPolicy, after error: any Error,
    run: UInt32?
  ) -> Duration? {
    let (isExecuting, attempt, began) = read { state in
      let attempts = state.attempts[task.index]
      return (
        !state.isReleased && state.graph.isExecuting(task.index, run: run),
        (attempts?.count ?? 0) + 1, attempts?.began ?? state.graph[task.index].began
      )
    }
    guard isExecuting else { return nil }
    return policy.wait(
      after: error, ofAttempt: attempt,
      elapsed: .nanoseconds(Int64(clamping: WorkflowClock.now &- began)))
  }

  /// With the lock held, for an executing task.
  private func tryAgain(
    _ task: AnyWorkflowTask, after delay: Duration, by policy: RetryPolicy,
    _ state: inout State, _ effects: inout Effects
  ) {
    let index = task.index
    let run = state.graph[index].run
    endRun(index, &state, &effects)
    if state.graph[index].flags.contains(.hearsMessages) {
      task.hears(.retry, changedFrom: .executing, &effects)
    }
    state.graph.tryAgain(index, isDelayed: delay > .zero, at: WorkflowClock.now)
    if wantsNews(of: task, state) {
      noteUntoldHook(task, &state)
      state.news.append(.retried(task))
    }
    if delay > .zero {
      effects.passedOn.append { [self] in
        let timer = policy.pause(for: delay)
        let isWaiting = change { state in
          let node = state.graph[index]
          guard !state.isReleased, node.run == run, node.state == .ready,
            node.flags.contains(.isDelayed)
          else { return false }
          state.extras[index, default: RunExtras(run: run)].timer = timer
          return true
        }
        guard isWaiting else { return timer.cancel() }
        timer.onSuccess(on: .inline) { [self] in
          perform { state, effects in
            guard !state.isReleased, state.graph.delayIsOver(index, after: run) else { return }
            endRun(index, &state, &effects)
            enqueue(index, &state, &effects)
          }
        }
      }
    } else {
      enqueue(index, &state, &effects)
    }
  }

  /// Cancels a task, but only if it still executes the given run.
  func cancel(_ task: AnyWorkflowTask, run: UInt32?) -> Bool {
    perform { state, effects in
      guard !state.isReleased, state.graph.isExecuting(task.index, run: run) else { return false }
      propagate(.cancel, from: CollectionOfOne(task.index), &state, &effects)
      return true
    }
  }

  /// Nobody is left who could end a run, but for its alarm if it has one.
  func abandon(_ task: AnyWorkflowTask, run: UInt32) {
    perform { state, effects in
      if let extras = state.extras[task.index], extras.run == run, extras.timer != nil { return }
      guard state.graph.abandon(task.index, run: run) else { return }
      returnPermit(task.index, &state, &effects)
    }
  }

  // MARK: Runs with an alarm, or with work elsewhere

  /// Notes how to stop the work of a run.
  ///
  /// `false` if the run is over already.
  func onStop(_ task: AnyWorkflowTask, run: UInt32, _ stop: @escaping @Sendable () -> Void) -> Bool
  {
    change { state in
      guard state.graph.isExecuting(task.index, run: run) else { return false }
      state.extras[task.index, default: RunExtras(run: run)].stop.append(stop)
      return true
    }
  }

  /// Starts the clock for a run.
  func limit(_ task: AnyWorkflowTask, run: UInt32, to duration: Duration) {
    let timer = Promises.delay(for: duration)
    let isRunning = change { state in
      guard state.graph.isExecuting(task.index, run: run) else { return false }
      state.extras[task.index, default: RunExtras(run: run)].timer = timer
      return true
    }
    guard isRunning else { return timer.cancel() }
    timer.onSuccess(on: .inline) { [self] in
      fail(
        task, run: run, with: WorkflowError.timedOut(task, after: duration), isTimeout: true)
    }
  }
}
