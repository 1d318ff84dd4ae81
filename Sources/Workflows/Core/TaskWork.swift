import Futures

/// One run of a task, as the work that runs sees it.
///
/// Closures of block and async tasks get one, and so does the work of subclasses,
/// ``WorkflowTask/main(_:)``. It reads results of prerequisites and ends the run, from
/// any thread, now or later:
///
/// ```swift
/// let user = BlockWorkflowTask<User>(name: "user") { task in
///   api.loadUser { result in
///     switch result {
///     case .success(let user): task.finish(with: user)
///     case .failure(let error): task.fail(with: error)
///     }
///   }
/// }
/// ```
///
/// It belongs to its run: once that has been cancelled or reset, ending it does
/// nothing, even if the task executes again. If a block lets go of it and the
/// run has not ended, nobody can be expected to end it: the task goes on
/// executing (``WorkflowTask/finish(with:)`` on the task still works), but the
/// workflow does not wait for it any more, and its outcome is
/// ``WorkflowOutcome/stuck(_:)``.
///
/// Whatever can be read of the task (its state, prerequisites, progress, ...)
/// can be read of the run as well: `task.prerequisiteTasks`.
@dynamicMemberLookup
public final class TaskWork<Output: Sendable>: Sendable {
  /// The task.
  public let task: WorkflowTask<Output>
  private let run: UInt32
  /// Nobody need end the run through this object any more.
  private let isOver: Atomic<Bool>

  /// - Parameter isOnly: Whether nothing else is given to the work with which
  ///   it could end the run.
  init(of task: WorkflowTask<Output>, run: UInt32, isOnly: Bool) {
    self.task = task
    self.run = run
    isOver = Atomic(!isOnly)
  }

  deinit {
    if !isOver.load(ordering: .relaxed) { task.core?.abandon(task, run: run) }
  }

  /// Somebody else has a means to end the run.
  func giveAway() { isOver.store(true, ordering: .relaxed) }

  // MARK: What the work may want to know

  /// A property of the task.
  ///
  /// - Parameter path: Which one.
  public subscript<Value>(dynamicMember path: KeyPath<WorkflowTask<Output>, Value>) -> Value {
    task[keyPath: path]
  }

  /// The task's name.
  public var name: String { task.name }
  /// The workflow, if it still exists.
  public var workflow: Workflow? { task.workflow }

  /// Whether this run goes on: it has not ended and was not cancelled or reset.
  public var isExecuting: Bool {
    task.core?.read { $0.graph.isExecuting(task.index, run: run) } ?? false
  }

  /// Whether the work should stop: the opposite of ``isExecuting``.
  ///
  /// It is `true` from the end of the run on, however the run has ended: by a result, a
  /// failure, a time limit, a cancellation or a reset. A result that the work gives after
  /// that is dropped. Ask the task, not the run, whether it was cancelled.
  public var isCancelled: Bool { !isExecuting }

  /// Which attempt this run is, the first being one; see
  /// ``AnyWorkflowTask/retryPolicy``.
  public var attempt: Int {
    task.core?.read { state in
      guard let attempts = state.attempts[task.index] else { return 1 }
      return run >= attempts.firstRun ? Int(run - attempts.firstRun) + 1 : 1
    } ?? 1
  }

  /// Why the attempt before this one failed; `nil` in the first.
  public var previousError: (any Error)? {
    let previous = attempt - 1
    return task.failedAttempts.last { $0.number == previous }?.error
  }

  /// Calls a closure when the run ends otherwise than by its own doing: when
  /// it is cancelled, reset or runs out of time.
  ///
  /// At once, if it has ended already. The closure may also be called after
  /// the work has ended the run.
  ///
  /// The closure is kept until the run ends. If it captures the run, the run is
  /// kept as well, and does not count as forgotten when the work lets go of it: the
  /// workflow then waits for a run that nothing can end, instead of being stuck.
  /// Capture what is to be stopped, or the run weakly.
  ///
  /// - Parameter stop: Stops the work; may be called on any thread.
  public func onStop(_ stop: @escaping @Sendable () -> Void) {
    if task.core?.onStop(task, run: run, stop) != true { stop() }
  }

  // MARK: Ending the run

  /// Makes the task finish, if this run goes on.
  ///
  /// - Parameter result: The result.
  /// - Returns: Whether the task finished.
  @discardableResult
  public func finish(with result: Output) -> Bool {
    isOver.store(true, ordering: .relaxed)
    return task.finish(with: result, run: run)
  }

  /// Makes the task fail, if this run goes on.
  ///
  /// - Parameter error: Why.
  /// - Returns: Whether the task failed, or tries again.
  @discardableResult
  public func fail(with error: any Error) -> Bool {
    isOver.store(true, ordering: .relaxed)
    return task.core?.fail(task, run: run, with: error) ?? false
  }

  /// Cancels the task and all that depend on it, if this run goes on.
  public func cancel() {
    isOver.store(true, ordering: .relaxed)
    _ = task.core?.cancel(task, run: run)
  }

  /// Ends the run without a result, if it goes on, because the work is not to be done:
  /// the task is skipped.
  ///
  /// The same as failing with ``TaskSkipped``.
  public func skip() { fail(with: TaskSkipped()) }

  /// Ends the run like a result.
  ///
  /// - Parameter result: A success finishes the task; a failure makes it fail,
  ///   or cancels it if the error means cancellation.
  public func end(with result: Result<Output, any Error>) {
    switch result {
    case .success(let value): finish(with: value)
    case .failure(let error):
      if error.isCancellation { cancel() } else { fail(with: error) }
    }
  }

  // MARK: Results of prerequisites

  /// The result of a prerequisite; see ``AnyWorkflowTask/result(of:)``.
  ///
  /// - Parameter prerequisite: One of the task's prerequisites.
  public func result<Value>(of prerequisite: WorkflowTask<Value>) throws -> Value {
    try task.result(of: prerequisite)
  }

  /// The result of the prerequisite that has a key; see
  /// ``AnyWorkflowTask/result(forKey:)``.
  ///
  /// - Parameter key: The key.
  public func result<Value>(forKey key: PrerequisiteKey<Value>) throws -> Value {
    try task.result(forKey: key)
  }

  /// The result of the first prerequisite, if it has finished.
  public var anyPrerequisiteResult: (any Sendable)? { task.anyPrerequisiteResult }
  /// The results of all prerequisites, one entry each.
  public var allPrerequisiteResults: [(any Sendable)?] { task.allPrerequisiteResults }

  /// The result of the prerequisite that has a key.
  ///
  /// - Parameter key: The key; a typed one counts as its name.
  public func prerequisiteResult(forKey key: AnyHashable) -> (any Sendable)? {
    task.prerequisiteResult(forKey: key)
  }
}

extension TaskWork where Output == Void {
  /// Makes the task finish, if this run goes on.
  ///
  /// - Returns: Whether the task finished.
  @discardableResult
  public func finish() -> Bool { finish(with: ()) }
}
