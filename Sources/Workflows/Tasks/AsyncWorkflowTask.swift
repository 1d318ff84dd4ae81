import Futures

/// A task whose work is an async closure: returning finishes the task, throwing fails it.
///
/// ```swift
/// let project = AsyncWorkflowTask<Project>(name: "project") { task in
///   try await api.project(of: task.result(of: user))
/// }
/// ```
///
/// Each run is a Swift task. It is cancelled when the workflow's task is cancelled, is reset or
/// times out, and also when the run is ended before the closure returns, with
/// ``TaskWork/finish(with:)`` for example. Throwing `CancellationError` or
/// `ProperationsError.cancelled` cancels the workflow's task. The run begins in the task's
/// context and continues in Swift's own pool, so it takes no slot of a queue. Limit such tasks
/// with ``Workflow/maxConcurrentTaskCount``.
public final class AsyncWorkflowTask<Output: Sendable>: WorkflowTask<Output>, @unchecked Sendable {
  // Sendable: `body` is only replaced when the workflow is released, and a worker keeps
  // the workflow while it runs tasks; `keys` never changes.
  private var body: (@Sendable (TaskWork<Output>) async throws -> Output)?
  private let keys: Set<AnyHashable>

  /// Makes a task with an async closure.
  ///
  /// - Parameters:
  ///   - name: A name for people.
  ///   - requiredPrerequisiteKeys: The keys under which the task must be given
  ///     prerequisites.
  ///   - body: The work.
  public init(
    name: String? = nil, requiredPrerequisiteKeys: Set<AnyHashable> = [],
    body: @escaping @Sendable (_ task: TaskWork<Output>) async throws -> Output
  ) {
    self.body = body
    keys = requiredPrerequisiteKeys
    super.init(name: name, hasHooks: false)
  }

  /// The keys that were given to the initializer.
  public override var requiredPrerequisiteKeys: Set<AnyHashable> { keys }

  /// Starts the closure in a Swift task.
  public override func main(_ run: TaskWork<Output>) {
    guard let body else { return }
    let task = Task {
      let result: Result<Output, any Error>
      do { result = .success(try await body(run)) } catch { result = .failure(error) }
      WorkflowThread.leavingDelegates { run.endReturned(with: result) }
    }
    // The Swift task also runs what follows from the end of the run, such as dependents.
    run.onStop { if run.isToBeStopped { task.cancel() } }
  }

  override func workflowIsGone() { body = nil }
}
