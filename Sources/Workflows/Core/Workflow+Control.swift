import Futures

extension Workflow {
  /// Whether the workflow is paused; see ``pause()``.
  public var isPaused: Bool { core.read { $0.room.isPaused } }

  /// Lets no task begin until ``resume()`` is called.
  ///
  /// Tasks that execute go on, and so do async tasks and conditions that wait. What
  /// becomes ready meanwhile, or is started, begins when the workflow is resumed: a run
  /// that is paused does not end, unless it is cancelled or nothing of it is left to
  /// begin. Clocks go on: a ``AnyWorkflowTask/timeout`` of a task that executes, the
  /// ``timeout`` of the run, and delays before next attempts.
  ///
  /// The workflows inside are paused as well. A workflow may be paused before it is
  /// started, and stays paused from one run to the next. Pausing a paused workflow
  /// changes nothing.
  public func pause() { core.changeLimit { $0.isPaused = true } }

  /// Lets tasks begin again after ``pause()``.
  ///
  /// Resuming a workflow that is not paused changes nothing. A workflow inside another
  /// that is paused waits for that one, too.
  public func resume() { core.changeLimit { $0.isPaused = false } }

  /// Whether the first failure of a task ends the whole run; `false` by default.
  ///
  /// If it does, all other tasks that have not ended are cancelled when a task has failed
  /// and is not tried again (see
  /// ``AnyWorkflowTask/retryPolicy``). The outcome is then
  /// ``WorkflowOutcome/failed(_:)`` with that task; ``retry()`` runs the failed and the
  /// cancelled tasks again. If it does not, a failure holds up only the tasks that
  /// depend on the failed one. Tasks with another ``TriggerRule`` than
  /// ``TriggerRule/whenAllSucceed`` are not cancelled.
  public var failFast: Bool {
    get { core.read { $0.failsFast } }
    set { core.change { $0.failsFast = newValue } }
  }

  /// How long a run of the workflow may last; without end by default.
  ///
  /// When the time is over, every task that executes fails with
  /// ``WorkflowError/runTimedOut(_:after:)``, without another attempt, and every other
  /// task that has not ended is cancelled. But tasks with another ``TriggerRule`` than
  /// ``TriggerRule/whenAllSucceed`` that have not begun run afterwards. Work that executes is told to stop, as by
  /// ``cancel()``, but not interrupted. If no task executes at that moment (the workflow
  /// is paused, or a task waits for its next attempt), the outcome of the run is
  /// ``WorkflowOutcome/cancelled(_:)``.
  ///
  /// Set it before the run: it counts from the moment at which a run begins. A negative
  /// duration counts as none at all, so that a run is over as soon as it has begun.
  public var timeout: Duration? {
    get { core.read { $0.timeout } }
    set { core.change { $0.timeout = newValue } }
  }

  // MARK: Part of a workflow

  /// Runs a task and what it waits for, directly or indirectly, and nothing else: no
  /// clean-up behind it, either (see ``TriggerRule``).
  ///
  /// What has finished is not run again. A task that does not belong to the run and
  /// becomes ready waits for the next ``start()``, or for being started by itself. While
  /// a run goes on the call joins it: then other tasks go on as well, and the outcome is
  /// that of the whole run.
  ///
  /// - Parameter target: A task of this workflow.
  /// - Returns: How the run ended, as with ``start()``: it is
  ///   ``WorkflowOutcome/finished`` when the target and all that it waits for have
  ///   finished, and other outcomes name tasks among these only.
  /// - Throws: ``WorkflowError/taskOutsideWorkflow(_:)`` if the target is not in this
  ///   workflow.
  /// - Complexity: O(tasks + edges).
  @discardableResult
  public func start(only target: AnyWorkflowTask) throws -> Future<WorkflowOutcome> {
    guard contains(target) else { throw WorkflowError.taskOutsideWorkflow(target) }
    core.dropCancelledProgress()
    core.announce(.workflowWillStart, as: .workflowWillStart)
    let (future, promise) = awaitedOutcome()
    core.start(only: target, promise)
    return future
  }

  /// Runs a task and what it waits for, and nothing else; waits for the end of the run.
  ///
  /// Cancelling the Swift task that waits cancels the workflow.
  ///
  /// - Parameter target: A task of this workflow.
  /// - Returns: How the run ended, as ``start(only:)`` says.
  /// - Throws: ``WorkflowError/taskOutsideWorkflow(_:)``; `CancellationError` if the Swift
  ///   task was cancelled before the workflow was started.
  public func run(only target: AnyWorkflowTask) async throws -> WorkflowOutcome {
    try await outcome { try start(only: target) }
  }
}
