import Logging
import Properations
import ServiceLifecycle

/// Runs a workflow as a service of a group.
///
/// ```swift
/// try workflow.resume(from: WorkflowJournal(url: file))
/// let group = ServiceGroup(
///   services: [WorkflowService(workflow, shutDownWithin: .seconds(10), logger: logger)],
///   gracefulShutdownSignals: [.sigterm], logger: logger)
/// ```
///
/// The service starts the workflow and ends with its run. When the group shuts down, no further
/// task begins, and executing tasks have the given time to end. Then the workflow is cancelled.
/// With a journal the next process continues there. If the group cancels its services, the
/// workflow is cancelled at once.
///
/// Tasks that run whatever happens to others (see `TriggerRule`) are not cancelled: the service
/// waits for them. The group's `maximumCancellationDuration` limits that wait.
public struct WorkflowService: Service {
  /// The error of a run in which not every task has finished.
  public struct Incomplete: Error, Sendable, CustomStringConvertible {
    /// How the run ended.
    public let outcome: WorkflowOutcome

    /// A sentence with the names of the tasks.
    public var description: String { "The workflow has not finished; \(outcome)." }
  }

  private let workflow: Workflow
  private let duration: Duration
  private let logger: Logger

  /// Makes a service of a workflow.
  ///
  /// - Parameters:
  ///   - workflow: The workflow, which may be running.
  ///   - duration: The time that executing tasks have after a graceful shutdown has begun.
  ///   - logger: Gets a notice if the shutdown ends a run early.
  public init(_ workflow: Workflow, shutDownWithin duration: Duration, logger: Logger) {
    self.workflow = workflow
    self.duration = duration
    self.logger = logger
  }

  /// Runs the workflow until it ends or the group shuts down.
  ///
  /// - Throws: ``Incomplete`` if a task has failed, or if the run ends before the last task and
  ///   without a shutdown.
  public func run() async throws {
    let run = workflow.start()
    if let outcome = try? await cancelWhenGracefulShutdown({ try await run.value }) {
      guard outcome.isFinished else { throw Incomplete(outcome: outcome) }
      return
    }
    let outcome = try await stop(run)
    if !outcome.errors.isEmpty { throw Incomplete(outcome: outcome) }
    if !outcome.isFinished {
      logger.notice(
        "The workflow was stopped before its end.", metadata: ["outcome": "\(outcome)"])
    }
  }

  private func stop(_ run: Future<WorkflowOutcome>) async throws -> WorkflowOutcome {
    if !Task.isCancelled { await rest() }
    workflow.cancel()
    // Tasks that clean up may begin.
    workflow.resume()
    // A task of its own, because awaiting throws at once in a cancelled task.
    return try await Task { try await run.value }.value
  }

  /// Lets no task begin, and waits until none executes or the time is up.
  private func rest() async {
    let events = workflow.events
    workflow.pause()
    let isAtRest = Promises.async { [workflow] in
      if !workflow.isWorking { return }
      for await _ in events where !workflow.isWorking { return }
    }
    _ = await isAtRest.timeout(after: duration).completion(onTaskCancellation: .cancelFuture)
  }
}

/// A task with a workflow inside.
private protocol NestingTask {
  var subworkflow: Workflow { get }
}

extension SubworkflowTask: NestingTask {}

extension Workflow {
  /// Whether any task executes, other than to wait for the workflow inside it.
  fileprivate var isWorking: Bool {
    // No recursion: workflows may be nested deeply.
    var next = allTasks
    while let task = next.popLast() {
      guard task.isExecuting else { continue }
      guard let nesting = task as? any NestingTask else { return true }
      next += nesting.subworkflow.allTasks
    }
    return false
  }
}
