import Foundation
import Futures

extension Workflow {
  /// Runs all tasks that are ready, and those behind them as they become it.
  ///
  /// Starting a workflow that runs joins the run; starting one that has
  /// finished changes nothing.
  ///
  /// - Returns: How the run ended, as soon as no task goes on by itself. It
  ///   never fails. Cancelling the future ends only the wait; if all futures
  ///   that were handed out for a run are cancelled, the workflow is too.
  @discardableResult
  public func start() -> Future<WorkflowOutcome> {
    core.dropCancelledProgress()
    core.announce(.workflowWillStart, as: .workflowWillStart)
    let (future, promise) = awaitedOutcome()
    core.startAll(promise)
    return future
  }

  /// Starts the workflow and waits for the end of the run.
  ///
  /// Cancelling the Swift task that waits cancels the workflow.
  ///
  /// - Returns: How the run ended, as soon as no task goes on by itself. Tasks
  ///   that fail do not make the call throw: look at the outcome.
  /// - Throws: `CancellationError` if the Swift task was cancelled before the
  ///   workflow was started.
  public func run() async throws -> WorkflowOutcome { try await outcome { start() } }

  /// Starts a run and waits for its end.
  func outcome(
    ofRun start: () throws -> Future<WorkflowOutcome>
  ) async throws -> WorkflowOutcome {
    try Task.checkCancellation()
    let future = try start()
    return await withTaskCancellationHandler {
      // Unstructured, so that the wait lasts until the workflow has stopped.
      let wait = Task { await future.completion }
      return await wait.value.successValue ?? .cancelled([])
    } onCancel: {
      cancel()
    }
  }

  /// Cancels all tasks that have not ended.
  ///
  /// What has finished keeps its result. Tasks that run whatever happens to others (see
  /// ``TriggerRule``) are left alone, whether they execute or have yet to run.
  public func cancel() {
    core.announce(.workflowWillCancel, as: .workflowWillCancel)
    core.sendToAll(.cancel)
  }

  /// Clears all results and errors, and makes every task ready or pending.
  ///
  /// Nothing is started.
  public func reset() {
    core.dropCancelledProgress()
    core.announce(.workflowWillReset, as: .workflowWillReset)
    core.sendToAll(.reset)
  }

  /// Runs the failed and the cancelled tasks again, and those behind them.
  ///
  /// What has finished is not run again, but for tasks that have run because one of these
  /// had ended (see ``TriggerRule``): they are reset. Skipped tasks are not run.
  ///
  /// - Returns: How the run ended, as ``start()`` does.
  @discardableResult
  public func retry() -> Future<WorkflowOutcome> {
    core.dropCancelledProgress()
    core.announce(.workflowWillRetry, as: .workflowWillRetry)
    let (future, promise) = awaitedOutcome()
    core.sendToAll(.retry, promise: promise)
    return future
  }

  func awaitedOutcome() -> (Future<WorkflowOutcome>, Promise<WorkflowOutcome>) {
    let promise = Promise<WorkflowOutcome>()
    promise.onCancellationRequest { [weak self, weak promise] in
      guard let self, let promise else { return }
      if core.nobodyWaitsAny(more: promise) { cancel() }
    }
    return (promise, promise)
  }
}
