import Foundation
import Futures

extension Workflow {
  /// Starts all tasks that are ready, and further tasks as they become ready.
  ///
  /// Starting a running workflow joins the run. Starting a finished workflow changes no
  /// task, and the run ends at once.
  ///
  /// Here and in ``start(only:fileID:line:)`` and ``retry(fileID:line:)``, `fileID` and `line`
  /// are the place that an explanation of the future names; leave them out.
  ///
  /// - Returns: A future of the outcome. It succeeds as soon as no task executes or can
  ///   start, and never fails. Cancelling the future ends only the wait; when all futures
  ///   of a run have been cancelled, the workflow is cancelled too.
  @discardableResult
  public func start(
    fileID: StaticString = #fileID, line: UInt = #line
  ) -> Future<WorkflowOutcome> {
    core.dropCancelledProgress()
    core.announce(.workflowWillStart, as: .workflowWillStart)
    let promise = awaitedOutcome(fileID, line)
    core.startAll(promise)
    return promise
  }

  /// Starts the workflow and waits for the end of the run.
  ///
  /// Cancelling the waiting Swift task cancels the workflow.
  ///
  /// - Returns: The outcome, as soon as no task executes or can start. Failed tasks do
  ///   not make the call throw: check the outcome.
  /// - Throws: `CancellationError` if the Swift task was cancelled before the workflow
  ///   was started.
  public func run() async throws -> WorkflowOutcome { try await outcome { start() } }

  /// Starts a run and waits for its end.
  func outcome(
    ofRun start: () throws -> Future<WorkflowOutcome>
  ) async throws -> WorkflowOutcome {
    try Task.checkCancellation()
    // The caller has given this thread to Swift's pool, and it must not wait for delegates.
    let future = try WorkflowThread.leavingDelegates(start)
    return await withTaskCancellationHandler {
      // Unstructured, so that the wait lasts until the workflow has stopped.
      let wait = Task { await future.completion }
      return await wait.value.successValue ?? .cancelled([])
    } onCancel: {
      // Only this run: it may have ended just before, and another one may have begun.
      let key = ObjectIdentifier(future)
      guard core.read({ $0.outcomes[key] != nil }) else { return }
      WorkflowThread.leavingDelegates { core.cancelAll { $0.outcomes[key] != nil } }
    }
  }

  /// Cancels all tasks that have not ended.
  ///
  /// Finished tasks keep their results. Tasks that run whatever happens to others (see
  /// ``TriggerRule``) are not cancelled, whether they execute or have yet to run.
  public func cancel() { core.cancelAll() }

  /// Clears all results and errors, and makes every task ready or pending.
  ///
  /// No task is started.
  public func reset() {
    core.dropCancelledProgress()
    core.announce(.workflowWillReset, as: .workflowWillReset)
    core.sendToAll(.reset)
  }

  /// Runs the failed and the cancelled tasks and their dependents again.
  ///
  /// Finished tasks do not run again, except for tasks that ran because one of the
  /// retried tasks had ended (see ``TriggerRule``): these are reset, and so are those that were
  /// skipped because of that. Other skipped tasks do not run.
  ///
  /// - Returns: A future of the outcome, as ``start(fileID:line:)`` does.
  @discardableResult
  public func retry(
    fileID: StaticString = #fileID, line: UInt = #line
  ) -> Future<WorkflowOutcome> {
    core.dropCancelledProgress()
    core.announce(.workflowWillRetry, as: .workflowWillRetry)
    let promise = awaitedOutcome(fileID, line)
    core.sendToAll(.retry, promise: promise)
    return promise
  }

  func awaitedOutcome(_ fileID: StaticString, _ line: UInt) -> Promise<WorkflowOutcome> {
    let promise = Promise<WorkflowOutcome>(fileID: fileID, line: line)
    promise.onCancellationRequest { [weak self, weak promise] in
      if let self, let promise { core.nobodyWaitsAny(more: promise) }
    }
    promise.waitOutside {
    } explain: { [weak self] in
      self.flatMap { $0.core.reasonForRun(of: $0.name) }
    }
    return promise
  }
}
