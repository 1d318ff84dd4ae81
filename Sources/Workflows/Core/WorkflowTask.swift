import Futures

/// A step of a workflow: work that can be run, cancelled, retried and run
/// again, and that has a result.
///
/// Make one of the ready kinds (``BlockWorkflowTask``, ``AsyncWorkflowTask``,
/// ``ExternalConditionTask``, ...), or subclass and override ``main(_:)`` for
/// work that is needed in several places:
///
/// ```swift
/// final class Render: WorkflowTask<Report>, @unchecked Sendable {
///   private let user: WorkflowTask<User>
///
///   init(user: WorkflowTask<User>) {
///     self.user = user
///     super.init(name: "render")
///   }
///
///   override func main(_ run: TaskWork<Report>) {
///     run.end(with: Result { try Report(for: run.result(of: user)) })
///   }
/// }
/// ```
///
/// A task belongs to one ``Workflow``, which runs it when its prerequisites
/// have finished. The result is read with ``AnyWorkflowTask/result(of:)`` from
/// tasks that depend on it, and with ``result`` from anywhere.
open class WorkflowTask<Output: Sendable>: AnyWorkflowTask, @unchecked Sendable {
  // Sendable: `stored` is read and written under the workflow's lock.

  /// The result of the last run; only under the workflow's lock.
  @exclusivity(unchecked) final var stored: Output?

  /// Makes a task that is ready and in no workflow.
  ///
  /// - Parameter name: A name for people.
  public init(name: String? = nil) {
    super.init(name: name, hasHooks: true)
    if type(of: self) == WorkflowTask<Output>.self { hasHooks = false }
  }

  /// For tasks that nobody can subclass.
  override init(name: String?, hasHooks: Bool) { super.init(name: name, hasHooks: hasHooks) }

  // MARK: The result

  /// The result of a finished task; `nil` in every other state.
  ///
  /// Whoever sees the task finished sees its result.
  public final var result: Output? { core?.read { _ in stored } ?? nil }

  /// The result of a finished task, whatever its type.
  public override var anyResult: (any Sendable)? { result }

  /// The type of the task's result.
  public override var outputType: Any.Type { Output.self }

  // MARK: The work

  /// Does the work of one run: override it, and do not call `super`.
  ///
  /// It runs in the task's context and ends the run with ``TaskWork/finish(with:)``,
  /// ``TaskWork/fail(with:)`` or ``TaskWork/cancel()``, before it returns or later,
  /// from any thread. What it ends is this run, whenever that is: after a
  /// cancellation and a retry a late callback of the first run changes nothing.
  /// Long work looks at ``TaskWork/isExecuting`` now and then and returns if that is
  /// `false`. A task that is cancelled and retried may be in `main(_:)` again before
  /// an earlier call has returned.
  ///
  /// A run that is let go of before it has ended is given up, as it is for a
  /// ``BlockWorkflowTask``: the task goes on executing, but the workflow waits for it
  /// no more, and its outcome is ``WorkflowOutcome/stuck(_:)``. So the callbacks that
  /// end the run have to hold it. A ``AnyWorkflowTask/timeout`` ends a run that was
  /// forgotten.
  ///
  /// Only a workflow makes runs. To test the work of a subclass, put the task in a
  /// workflow whose context is `.inline` and start that.
  ///
  /// By default it calls ``main()``, which older subclasses override. That finishes
  /// with nothing, where the type of the result has such a value (`Void`, optionals),
  /// and else fails with ``WorkflowError/noWork(_:)``.
  ///
  /// - Parameter run: The run.
  open func main(_ run: TaskWork<Output>) {
    // The work ends it through the task.
    run.giveAway()
    main()
  }

  /// Does the work without knowing its run: the form of earlier versions.
  ///
  /// - Warning: Deprecated; override ``main(_:)`` instead. Work that is called back
  ///   later does not know here to which run the call belongs: ``finish(with:)`` then
  ///   ends whatever run the task is in, unless the work has kept ``currentWork``. And
  ///   a run that is forgotten executes for ever instead of being stuck.
  ///
  /// Called by other code than the workflow, on a task that does not execute, it has
  /// no effect on the task: a task of the library does nothing then, and what an
  /// override finishes with is ignored.
  open override func main() {
    guard let run = currentRun else { return }
    if let nothing = () as? Output {
      finish(with: nothing, run: run)
    } else if let optional = Output.self as? any ExpressibleByNilLiteral.Type,
      let nothing = optional.init(nilLiteral: ()) as? Output
    {
      finish(with: nothing, run: run)
    } else {
      fail(with: WorkflowError.noWork(self))
    }
  }

  /// Makes the task finish, if it executes; its dependents may run then.
  ///
  /// Called from inside the task's ``main(_:)`` it means the run that the call
  /// belongs to: it is ignored if that run has been cancelled or reset, even if
  /// the task executes again. From anywhere else it means whatever run the task
  /// is in; take ``currentWork`` along where that could be another one. A task that
  /// does not execute, such as one that is in no workflow, stays as it is: look at
  /// what is returned.
  ///
  /// - Parameter result: The result.
  /// - Returns: Whether the task finished.
  @discardableResult
  public final func finish(with result: Output) -> Bool { finish(with: result, run: currentRun) }

  @discardableResult
  @inline(__always)
  final func finish(
    with result: Output, run: UInt32?, ifStill isWanted: () -> Bool = { true }
  ) -> Bool {
    core?.finish(
      self, run: run, ifStill: isWanted, store: { stored = result }, box: { ResultBox(result) })
      ?? false
  }

  /// The run that the task is in, for callbacks that come later.
  ///
  /// Finishing that does nothing any more once the run has been cancelled or
  /// reset, whereas ``finish(with:)`` called on the task itself would end the
  /// run that has begun since.
  public final var currentWork: TaskWork<Output> {
    let inside = currentRun
    let run = inside ?? core?.read { $0.graph[index].run } ?? 0
    return TaskWork(of: self, run: run, isOnly: false)
  }

  // MARK: For subclasses

  /// Called when the task has finished, before observers are told.
  ///
  /// - Parameter result: The result.
  open func didFinish(with result: Output) {}

  // MARK: For the library

  override func work(in run: UInt32) { main(TaskWork(of: self, run: run, isOnly: true)) }

  override func takeResult() -> AnyObject? {
    guard let old = stored.take() else { return nil }
    // Plain values release nothing.
    return _isPOD(Output.self) ? nil : ResultBox(old)
  }

  override func callDidFinish(_ box: ResultObject) {
    if let box = box as? ResultBox<Output> { didFinish(with: box.result) }
  }

  override func tellDelegateOfFinish(_ box: ResultObject) {
    guard let delegate = delegateIfAny, let box = box as? ResultBox<Output> else { return }
    delegate.task(self, didFinishWith: box.result)
  }
}

extension WorkflowTask where Output == Void {
  /// Makes the task finish, if it executes.
  ///
  /// - Returns: Whether the task finished.
  @discardableResult
  public final func finish() -> Bool { finish(with: ()) }
}
