import Futures

/// One run of a task, as its work sees it.
///
/// The closures of block and async tasks receive one, and so does the work of subclasses,
/// ``WorkflowTask/main(_:)``. The work reads results of prerequisites from it and ends
/// the run with it, from any thread, now or later:
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
/// It belongs to its run: after that run has been cancelled or reset, ending it does
/// nothing, even if the task executes again. If the last reference to it is released
/// before the run has ended, the run is abandoned. The task then still executes
/// (``WorkflowTask/finish(with:)`` on the task still works), but the workflow no longer
/// waits for it, and the outcome is ``WorkflowOutcome/stuck(_:)``.
///
/// Properties of the task (its state, prerequisites, progress, ...) can be read from the
/// run as well: `task.prerequisiteTasks`.
@dynamicMemberLookup
public final class TaskWork<Output: Sendable>: Sendable {
  /// The task.
  public let task: WorkflowTask<Output>
  private let run: UInt32
  /// The run has ended, or can be ended by other means than this object.
  private let isOver: Atomic<Bool>
  /// The work has returned and ends the run itself.
  private let hasReturned = Atomic(false)

  /// - Parameter isOnly: Whether the work has no other means to end the run.
  init(of task: WorkflowTask<Output>, run: UInt32, isOnly: Bool) {
    self.task = task
    self.run = run
    isOver = Atomic(!isOnly)
  }

  deinit {
    if isOver.load(ordering: .relaxed) { return }
    task.core?.abandon(task, run: run)
  }

  /// Notes that the run can also be ended by other means.
  func giveAway() { isOver.store(true, ordering: .relaxed) }

  // MARK: What the work may want to know

  /// Returns a property of the task.
  ///
  /// - Parameter path: The key path of the property.
  public subscript<Value>(dynamicMember path: KeyPath<WorkflowTask<Output>, Value>) -> Value {
    task[keyPath: path]
  }

  /// The task's name.
  public var name: String { task.name }
  /// The workflow, if it still exists.
  public var workflow: Workflow? { task.workflow }

  /// Whether this run still executes: it has not ended and was not cancelled or reset.
  public var isExecuting: Bool {
    task.core?.read { $0.graph.isExecuting(task.index, run: run) } ?? false
  }

  /// Whether the work should stop: the opposite of ``isExecuting``.
  ///
  /// It is `true` from the end of the run on, however the run has ended: by a result, a
  /// failure, a time limit, a cancellation or a reset. A result that the work gives after
  /// that is dropped. Ask the task, not the run, whether it was cancelled.
  public var isCancelled: Bool { !isExecuting }

  /// The number of the attempt that this run is; the first is one.
  ///
  /// See ``AnyWorkflowTask/retryPolicy``.
  public var attempt: Int {
    task.core?.read { state in
      guard let attempts = state.attempts[task.index] else { return 1 }
      return run >= attempts.firstRun ? Int(run - attempts.firstRun) + 1 : 1
    } ?? 1
  }

  /// The error of the previous attempt; `nil` in the first attempt.
  public var previousError: (any Error)? {
    let previous = attempt - 1
    return task.failedAttempts.last { $0.number == previous }?.error
  }

  /// Calls a closure when the run is cancelled, is reset or times out.
  ///
  /// If the run has ended already, or the workflow is released, the closure is called at once. It
  /// may also be called
  /// after the work has ended the run. The run of the workflow ends, for all observers,
  /// after these closures have returned. So the closure must not wait for that end.
  /// Nor may it wait for work that waits for the future of a task that ends in the same call,
  /// or of the task around this workflow: these futures settle after the closures.
  ///
  /// The closure is kept until the run ends. If it captures the run, it keeps the run
  /// too, and the run is then never abandoned: the workflow waits for a run that nothing
  /// can end, instead of being stuck. Capture the object to stop, or capture the run
  /// weakly.
  ///
  /// - Parameter stop: Stops the work; may be called on any thread.
  public func onStop(_ stop: @escaping @Sendable () -> Void) {
    if task.core?.onStop(task, run: run, stop) != true { stop() }
  }

  // MARK: Ending the run

  /// Finishes the task, if this run still executes.
  ///
  /// - Parameter result: The result.
  /// - Returns: Whether the task finished. With a journal, whether its result is now being
  ///   recorded: the task finishes later, or fails if that is impossible.
  @discardableResult
  public func finish(with result: Output) -> Bool {
    isOver.store(true, ordering: .relaxed)
    return task.finish(with: result, run: run)
  }

  /// Fails the task, if this run still executes.
  ///
  /// - Parameter error: The reason.
  /// - Returns: Whether the task failed, or tries again.
  @discardableResult
  public func fail(with error: any Error) -> Bool {
    isOver.store(true, ordering: .relaxed)
    return task.core?.fail(task, run: run, with: error) ?? false
  }

  /// Cancels the task and its dependents, if this run still executes.
  public func cancel() {
    isOver.store(true, ordering: .relaxed)
    task.core?.cancel(task, run: run)
  }

  /// Skips the task, if this run still executes, because a condition for its work does
  /// not hold.
  ///
  /// The same as failing with ``TaskSkipped``. The task has no result.
  public func skip() { fail(with: TaskSkipped()) }

  /// Ends the run as a `Result` says.
  ///
  /// - Parameter result: A success finishes the task. A failure fails it, or cancels it
  ///   if the error means cancellation.
  public func end(with result: Result<Output, any Error>) {
    switch result {
    case .success(let value): finish(with: value)
    case .failure(let error):
      if error.isCancellation { cancel() } else { fail(with: error) }
    }
  }

  /// Ends the run after its work has returned, so that nothing is left to stop.
  ///
  /// The closures of `onStop` are called at every end of a run.
  func endReturned(with result: Result<Output, any Error>) {
    hasReturned.store(true, ordering: .releasing)
    end(with: result)
  }

  /// Whether the work may still go on when the run has ended.
  var isToBeStopped: Bool { !hasReturned.load(ordering: .acquiring) }

  // MARK: Results of prerequisites

  /// Returns the result of a prerequisite; see ``AnyWorkflowTask/result(of:)``.
  ///
  /// - Parameter prerequisite: One of the task's prerequisites.
  public func result<Value>(of prerequisite: WorkflowTask<Value>) throws -> Value {
    try task.result(of: prerequisite)
  }

  /// Returns the result of the prerequisite with a key; see
  /// ``AnyWorkflowTask/result(forKey:)``.
  ///
  /// - Parameter key: The key.
  public func result<Value>(forKey key: PrerequisiteKey<Value>) throws -> Value {
    try task.result(forKey: key)
  }

  /// The result of the first prerequisite, if it has finished.
  public var anyPrerequisiteResult: (any Sendable)? { task.anyPrerequisiteResult }
  /// The results of all prerequisites, one entry for each.
  public var allPrerequisiteResults: [(any Sendable)?] { task.allPrerequisiteResults }

  /// Returns the result of the prerequisite with a key.
  ///
  /// - Parameter key: The key; a typed key counts as its name.
  public func prerequisiteResult(forKey key: AnyHashable) -> (any Sendable)? {
    task.prerequisiteResult(forKey: key)
  }
}

extension TaskWork where Output == Void {
  /// Finishes the task, if this run still executes.
  ///
  /// - Returns: Whether the task finished. With a journal, whether its result is now being
  ///   recorded: the task finishes later, or fails if that is impossible.
  @discardableResult
  public func finish() -> Bool { finish(with: ()) }
}
