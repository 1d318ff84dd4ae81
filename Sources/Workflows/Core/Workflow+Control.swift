import Futures

extension Workflow {
  /// Whether the workflow is paused; see ``pause()``.
  public var isPaused: Bool { core.read { $0.room.isPaused } }

  /// Lets no task begin until ``resume()`` is called.
  ///
  /// Executing tasks continue, including async tasks and waiting conditions. Tasks that
  /// become ready or are started meanwhile begin when the workflow is resumed. A paused
  /// run does not end, unless it is cancelled and nothing is left to clean up, or has no task
  /// left to begin. Time continues to count: for a ``AnyWorkflowTask/timeout`` of an
  /// executing task, the ``timeout`` of the run, and delays before next attempts.
  ///
  /// A paused workflow with a task that would begin keeps itself alive, even without outside
  /// references, until it is resumed, or cancelled with nothing left to clean up.
  ///
  /// The workflows inside are paused as well. A workflow may be paused before it is
  /// started, and stays paused from one run to the next. Pausing a paused workflow
  /// changes nothing.
  public func pause() { core.changeLimit { $0.isPaused = true } }

  /// Lets tasks begin again after ``pause()``.
  ///
  /// Resuming a workflow that is not paused changes nothing. A workflow inside a paused
  /// one waits for the outer one, too.
  public func resume() { core.changeLimit { $0.isPaused = false } }

  /// Whether the first failure of a task ends the whole run; `false` by default.
  ///
  /// If `true`, all other tasks that have not ended are cancelled when a task has failed and
  /// does not try again (see ``AnyWorkflowTask/retryPolicy``). Tasks with another
  /// ``TriggerRule`` than ``TriggerRule/whenAllSucceed`` are not cancelled. The outcome is then
  /// ``WorkflowOutcome/failed(_:)`` with the failed task. ``retry(fileID:line:)`` runs the
  /// failed and the cancelled tasks again. A task outside the run (see
  /// ``start(only:fileID:line:)``) is not cancelled, and its own failure does not end the run.
  /// If `false`, a failure holds up only the dependents of the failed task.
  public var failFast: Bool {
    get { core.read { $0.failsFast } }
    set { core.change { $0.failsFast = newValue } }
  }

  /// How long a run of the workflow may last; without limit by default.
  ///
  /// When the time is over, every executing task fails with
  /// ``WorkflowError/runTimedOut(_:after:)``, without another attempt, and every other task
  /// that has not ended is cancelled. Tasks with another ``TriggerRule`` than
  /// ``TriggerRule/whenAllSucceed`` that have not begun are the exception: they run afterwards.
  /// A task that waits for its next attempt has begun, and is cancelled whatever its rule
  /// (but not inside a subworkflow, where a task with another rule goes on).
  /// Executing work is told to stop, as by ``cancel()``, but not interrupted. A task outside
  /// the run (see ``start(only:fileID:line:)``) continues, and the run ends after it. If no
  /// task executes at that moment (the workflow is paused, or a task waits for its next
  /// attempt), none fails because of the timeout.
  ///
  /// Set it before the run: the time counts from the beginning of the run. A negative
  /// duration counts as zero: the run then ends as soon as it has begun.
  public var timeout: Duration? {
    get { core.read { $0.timeout } }
    set { core.change { $0.timeout = newValue } }
  }

  // MARK: Part of a workflow

  /// Runs a task and its direct and indirect prerequisites, and no other task.
  ///
  /// Tasks that clean up after these (see ``TriggerRule``) do not run, either. Finished
  /// tasks do not run again. A task outside the run that becomes ready waits for the next
  /// ``start(fileID:line:)``, or for its own ``AnyWorkflowTask/start()``. Tasks that are
  /// added during the run belong to it, unless they need a task outside it. If the workflow
  /// is already running, the call joins that run: other tasks then continue as well, and the
  /// outcome is that of the whole run.
  ///
  /// ``failFast`` and ``timeout`` end the tasks of the run and leave all others alone, even
  /// those that depend on them. ``cancel()`` cancels all tasks of the workflow.
  ///
  /// - Parameter target: A task of this workflow.
  /// - Returns: A future of the outcome, as with ``start(fileID:line:)``. It is
  ///   ``WorkflowOutcome/finished`` when the target and its prerequisites have finished;
  ///   other outcomes name only the tasks of the run.
  /// - Throws: ``WorkflowError/taskOutsideWorkflow(_:)`` if the target is not in this
  ///   workflow.
  /// - Complexity: O(tasks + edges).
  @discardableResult
  public func start(
    only target: AnyWorkflowTask, fileID: StaticString = #fileID, line: UInt = #line
  ) throws -> Future<WorkflowOutcome> {
    guard contains(target) else { throw WorkflowError.taskOutsideWorkflow(target) }
    core.dropCancelledProgress()
    core.announce(.workflowWillStart, as: .workflowWillStart)
    let promise = awaitedOutcome(fileID, line)
    core.start(only: target, promise)
    return promise
  }

  /// Runs a task and its prerequisites, and waits for the end of the run.
  ///
  /// Cancelling the waiting Swift task cancels the workflow.
  ///
  /// - Parameter target: A task of this workflow.
  /// - Returns: The outcome, as for ``start(only:fileID:line:)``.
  /// - Throws: ``WorkflowError/taskOutsideWorkflow(_:)``; `CancellationError` if the
  ///   Swift task was cancelled before the workflow was started.
  public func run(only target: AnyWorkflowTask) async throws -> WorkflowOutcome {
    try await outcome { try start(only: target) }
  }
}
