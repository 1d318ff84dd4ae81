import Futures

// How the runs of tasks end: finished, failed, tried again, cancelled or abandoned.

extension WorkflowCore {
  /// Finishes an executing task.
  ///
  /// - Parameters:
  ///   - task: The task.
  ///   - run: The run that the task must be in; any run if `nil`.
  ///   - isWanted: Called with the lock held; `false` changes nothing.
  ///   - store: Stores the result in the task; called with the lock held.
  ///   - box: Makes a box of the result for the observers.
  /// - Returns: Whether the task was executing that run.
  @inline(__always)
  func finish(
    _ task: AnyWorkflowTask, run: UInt32?, ifStill isWanted: (borrowing State) -> Bool,
    store: () -> Void, box: () -> ResultObject
  ) -> Bool {
    perform { state, effects in
      guard !state.isReleased, state.graph.isExecuting(task.index, run: run), isWanted(state)
      else { return false }
      finish(task, &state, &effects, store: store, box: box)
      return true
    }
  }

  /// With the lock held, for an executing task: finishes it now, or when its result has
  /// been recorded.
  @inline(__always)
  func finish(
    _ task: AnyWorkflowTask, _ state: inout State, _ effects: inout Effects, store: () -> Void,
    box: () -> ResultObject
  ) {
    if state.journal != nil, recordsFirst(task, &state, &effects, box: box) { return }
    finishNow(task, &state, &effects, store: store, box: box)
  }

  /// With the lock held, for an executing task: finishes it now.
  @inline(__always)
  func finishNow(
    _ task: AnyWorkflowTask, _ state: inout State, _ effects: inout Effects, store: () -> Void,
    box: () -> ResultObject
  ) {
    let index = task.index
    store()
    noteEnd(of: task, &state, &effects) { .finished(task, box()) }
    endRun(index, &state, &effects)
    var single: TaskIndex = -1
    var others: ContiguousArray<TaskIndex> = []
    let time = WorkflowClock.now
    state.graph.finish(index, at: time, on: state.calendar.date(of: time)) { dependent in
      if single < 0 { single = dependent } else { others.append(dependent) }
    }
    if single >= 0 {
      prerequisiteHasEnded(of: single, &state, &effects)
      for dependent in others { prerequisiteHasEnded(of: dependent, &state, &effects) }
    }
    if state.graph.unfinishedCount == 0 { allHaveFinished(&state, &effects) }
  }

  /// With the lock held: starts or skips a task after the last of its prerequisites has
  /// ended.
  @inline(__always)
  func prerequisiteHasEnded(
    of index: TaskIndex, _ state: inout State, _ effects: inout Effects
  ) {
    if state.graph[index].state == .skipped {
      noteSkip(of: index, &state, &effects)
    } else {
      enqueue(index, &state, &effects)
    }
  }

  /// With the lock held, for a task that is now skipped.
  private func noteSkip(
    of index: TaskIndex, _ state: inout State, _ effects: inout Effects
  ) {
    let task = state.tasks[Int(index)]
    noteEnd(of: task, &state, &effects) { .skipped(task) }
  }

  /// With the lock held, for an executing task: skips it, as its work decided.
  private func skip(
    _ task: AnyWorkflowTask, _ state: inout State, _ effects: inout Effects
  ) {
    endRun(task.index, &state, &effects)
    var reached: ContiguousArray<TaskIndex> = []
    state.graph.skip(task.index, at: WorkflowClock.now) { reached.append($0) }
    noteSkip(of: task.index, &state, &effects)
    for index in reached { prerequisiteHasEnded(of: index, &state, &effects) }
    if state.graph.unfinishedCount == 0 { allHaveFinished(&state, &effects) }
  }

  /// Ends a run with an error: the task fails, tries again or is skipped.
  ///
  /// - Parameter isWanted: Called with the lock held; `false` changes nothing.
  @discardableResult
  func fail(
    _ task: AnyWorkflowTask, run: UInt32?, with error: any Error, isTimeout: Bool = false,
    ifStill isWanted: (borrowing State) -> Bool = { _ in true }
  ) -> Bool {
    // The retry policy is asked before the lock is taken, because it is user code.
    let isSkip = error is TaskSkipped
    let policy = isSkip ? nil : task.settingsIfAny?.get(\.retryPolicy)
    var (wait, asked): (Duration?, UInt32?)
    if let policy {
      guard let (attempt, began, run) = beginFailing(task, run: run, ifStill: isWanted) else {
        return false
      }
      asked = run
      wait = policy.wait(
        after: error, ofAttempt: attempt,
        elapsed: task.settingsIfAny?.timeSinceFirstAttempt
          ?? .nanoseconds(Int64(clamping: WorkflowClock.now &- began)))
    }
    return perform { state, effects in
      let index = task.index
      // The run goes on if a journal could not record its result meanwhile.
      if asked != nil, state.extras[index]?.run == asked {
        state.extras[index]?.isFailing = false
      }
      // A policy that was asked has answered for one run: the task may have begun another.
      guard !state.isReleased, state.graph.isExecuting(index, run: asked ?? run), isWanted(state)
      else { return false }
      if isTimeout { task.hearsTimeout(&effects) }
      if isSkip {
        skip(task, &state, &effects)
      } else if let wait, let policy {
        noteFailedAttempt(of: task, error, &state, &effects)
        tryAgain(task, after: wait, by: policy, &state, &effects)
      } else {
        fail(task, with: error, &state, &effects)
      }
      return true
    }
  }

  /// With the lock held, for an executing task: fails it.
  ///
  /// - Parameter endsRun: Whether the failure ends the run if the workflow fails fast.
  func fail(
    _ task: AnyWorkflowTask, with error: any Error, endsRun: Bool = true, _ state: inout State,
    _ effects: inout Effects
  ) {
    let index = task.index
    endRun(index, &state, &effects)
    state.errors[index] = error
    let time = WorkflowClock.now
    var reached: ContiguousArray<TaskIndex> = []
    state.graph.fail(index, at: time, on: state.calendar.date(of: time)) { reached.append($0) }
    noteEnd(of: task, &state, &effects) { .failed(task, error) }
    for index in reached { prerequisiteHasEnded(of: index, &state, &effects) }
    tellOwner(ofFailed: index, with: error, &state, &effects)
    if endsRun, state.failsFast, !state.graph.isExcluded(index) {
      // The task around this workflow hears of the failure.
      cancelRun(isFromOutside: true, &state, &effects)
    }
  }

  /// With the lock held, for an executing task: records a failed attempt.
  private func noteFailedAttempt(
    of task: AnyWorkflowTask, _ error: any Error, _ state: inout State, _ effects: inout Effects
  ) {
    let node = state.graph[task.index]
    let first = TaskAttempts(firstRun: node.run, began: node.began)
    let (new, dropped) = state.attempts[task.index, default: first].add(
      error, from: node.began, to: WorkflowClock.now)
    if let dropped { effects.garbage.append(dropped) }
    if wantsNews(of: task, state) { state.news.append(.attemptFailed(task, new)) }
  }

  /// Before the policy of a task is asked: returns the number of the attempt, when the first
  /// one began, and the present run.
  ///
  /// Returns `nil` if the run is over, or another thread asks for the same run: a policy
  /// with a budget pays for each answer. A failure that is not wanted must not ask: it would
  /// hold up another one, and then change nothing. A subworkflow task may ask twice, because its
  /// first error no longer counts if the inner task is retried meanwhile.
  private func beginFailing(
    _ task: AnyWorkflowTask, run: UInt32?, ifStill isWanted: (borrowing State) -> Bool
  ) -> (attempt: Int, began: UInt64, run: UInt32)? {
    change { state in
      let index = task.index
      guard !state.isReleased, state.graph.isExecuting(index, run: run) else { return nil }
      let node = state.graph[index]
      if task.nesting == nil {
        guard state.extras[index]?.isFailing != true, isWanted(state) else { return nil }
        state.extras[index, default: RunExtras(run: node.run)].isFailing = true
      }
      let attempts = state.attempts[index]
      return ((attempts?.count ?? 0) + 1, attempts?.began ?? node.began, node.run)
    }
  }

  /// Whether no attempt of a task has failed since its last reset or manual retry.
  func isFirstAttempt(of task: AnyWorkflowTask) -> Bool {
    read { $0.attempts[task.index] == nil }
  }

  /// With the lock held, for an executing task: prepares the next attempt.
  private func tryAgain(
    _ task: AnyWorkflowTask, after delay: Duration, by policy: RetryPolicy,
    _ state: inout State, _ effects: inout Effects
  ) {
    let index = task.index
    let run = state.graph[index].run
    endRun(index, &state, &effects)
    if state.graph[index].flags.contains(.hearsMessages) {
      task.hears(.retry, changedFrom: .executing, to: .ready, &effects)
    }
    state.graph.tryAgain(index, isDelayed: delay > .zero, at: WorkflowClock.now)
    if wantsNews(of: task, state) {
      noteUntoldHook(task, &state)
      state.news.append(.retried(task))
    }
    if delay > .zero {
      effects.clocks.append { [self] in
        let timer = policy.pause(for: delay)
        begin(timer) { state in
          let node = state.graph[index]
          guard !state.isReleased, node.run == run, node.state == .ready,
            node.flags.contains(.isDelayed)
          else { return false }
          state.extras[index, default: RunExtras(run: run)].timer = timer
          return true
        } whenOver: { [self] _ in
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
  @discardableResult
  func cancel(
    _ task: AnyWorkflowTask, run: UInt32?,
    ifStill isWanted: (borrowing State) -> Bool = { _ in true }
  ) -> Bool {
    perform { state, effects in
      guard !state.isReleased, state.graph.isExecuting(task.index, run: run), isWanted(state)
      else { return false }
      propagate(.cancel, from: CollectionOfOne(task.index), &state, &effects)
      return true
    }
  }

  /// Notes that no work is left that could end a run.
  ///
  /// A timeout may still end it.
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
  /// Returns `false` if the run is over already, or was abandoned and its workflow is released.
  func onStop(_ task: AnyWorkflowTask, run: UInt32, _ stop: @escaping @Sendable () -> Void) -> Bool
  {
    change { state in
      guard !state.isReleased, state.graph.isExecuting(task.index, run: run) else { return false }
      state.extras[task.index, default: RunExtras(run: run)].stop.append(stop)
      return true
    }
  }

  /// Starts the timeout of a run.
  func limit(_ task: AnyWorkflowTask, run: UInt32, to duration: Duration) {
    let timer = Promises.delay(for: duration, clock: clock)
    begin(timer) { state in
      guard state.graph.isExecuting(task.index, run: run) else { return false }
      state.extras[task.index, default: RunExtras(run: run)].timer = timer
      return true
    } whenOver: { [self] result in
      let error = result.failureValue ?? WorkflowError.timedOut(task, after: duration)
      fail(task, run: run, with: error, isTimeout: true) {
        $0.extras[task.index]?.timer === timer
      }
    }
  }

  /// Begins to wait for a timer.
  ///
  /// - Parameters:
  ///   - store: Stores the timer, with the lock held; `false` if it comes too late.
  ///   - body: Called when the time is over, or the clock breaks. A timer that the library
  ///     cancels is no longer stored then.
  func begin(
    _ timer: Future<Void>, _ store: (inout State) -> Bool,
    whenOver body: @escaping @Sendable (FutureResult<Void>) -> Void
  ) {
    guard change(store) else { return timer.cancel() }
    timer.onCompletion(on: .inline) { result in
      WorkflowThread.leavingDelegates { body(result) }
    }
  }
}
