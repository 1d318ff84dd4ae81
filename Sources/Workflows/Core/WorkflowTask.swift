import Futures

/// A task of a workflow: work with a result that can be run, cancelled, retried and run
/// again.
///
/// Make one of the provided kinds (``BlockWorkflowTask``, ``AsyncWorkflowTask``,
/// ``ExternalConditionTask``, ...), or subclass and override ``main(_:)`` for work that
/// is needed in several places:
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
/// A task belongs to one ``Workflow``, which runs it when its prerequisites have
/// finished. Its dependents read the result with ``AnyWorkflowTask/result(of:)``, other
/// code with ``result``.
///
/// A workflow releases its tasks without recursion, however long a chain of them is. A
/// subclass that stores its prerequisites keeps them, also after the workflow has been
/// released, and Swift releases stored properties by recursion. If the last task of a chain
/// of tens of thousands of such tasks outlives the workflow, its release overflows the stack.
/// Release such tasks before the workflow, or read results with
/// ``TaskWork/result(forKey:)`` and store no task.
open class WorkflowTask<Output: Sendable>: AnyWorkflowTask, @unchecked Sendable {
  // Sendable: `stored` is read and written under the workflow's lock.

  /// The result of the last run.
  ///
  /// Only accessed with the workflow's lock held.
  @exclusivity(unchecked) final var stored: Output?

  /// Makes a task that is ready and in no workflow.
  ///
  /// - Parameter name: A name for people.
  public init(name: String? = nil) {
    super.init(name: name, hasHooks: true)
    if type(of: self) == WorkflowTask<Output>.self { hasHooks = false }
  }

  /// For kinds of tasks that cannot be subclassed.
  override init(name: String?, hasHooks: Bool) { super.init(name: name, hasHooks: hasHooks) }

  // MARK: The result

  /// The result of a finished task; `nil` in every other state.
  ///
  /// A thread that sees the task finished also sees its result.
  public final var result: Output? { core?.read { _ in stored } ?? nil }

  /// The result of a finished task, whatever its type.
  public override var anyResult: (any Sendable)? { result }

  /// The type of the task's result.
  public override var outputType: Any.Type { Output.self }

  // MARK: The work

  /// Does the work of one run: override it, and do not call `super`.
  ///
  /// It is called in the task's context. The work ends the run with
  /// ``TaskWork/finish(with:)``, ``TaskWork/fail(with:)`` or ``TaskWork/cancel()``,
  /// before `main(_:)` returns or later, from any thread. Each call ends only this run:
  /// after a cancellation and a retry, a late callback of the first run changes nothing.
  /// Long work checks ``TaskWork/isExecuting`` now and then and returns if it is `false`.
  /// If a task is cancelled and retried, `main(_:)` may be called again before an earlier
  /// call has returned.
  ///
  /// If the last reference to the run is released before the run has ended, the run is
  /// abandoned, as for a ``BlockWorkflowTask``: the task still executes, but the workflow
  /// no longer waits for it, and the outcome is ``WorkflowOutcome/stuck(_:)``. Callbacks
  /// that end the run therefore have to hold it. If the task has a
  /// ``AnyWorkflowTask/timeout``, the workflow waits for it, and it ends the abandoned run.
  ///
  /// Only a workflow makes runs. To test the work of a subclass, put the task in a
  /// workflow whose context is `.inline` and start that workflow.
  ///
  /// The default implementation calls ``main()``, which older subclasses override. That
  /// finishes with an empty value, where the type of the result has one (`Void`,
  /// optionals), and otherwise fails with ``WorkflowError/noWork(_:)``.
  ///
  /// - Parameter run: The run.
  open func main(_ run: TaskWork<Output>) {
    // The work ends the run through the task.
    run.giveAway()
    // (As a method of the superclass, where it is not deprecated.)
    (self as AnyWorkflowTask).main()
  }

  /// Does the work without its run: the form of earlier versions.
  ///
  /// - Warning: Override ``main(_:)`` instead. A late callback cannot know
  ///   here to which run it belongs: ``finish(with:)`` then ends the run that the task is
  ///   in at that moment, unless the work has kept ``currentWork``. And a run that is
  ///   never ended executes for ever instead of being stuck.
  ///
  /// A call from other code than the workflow, on a task that does not execute, has no
  /// effect on the task: tasks of the library do nothing then, and the result of an
  /// override is ignored.
  @available(*, deprecated, message: "Override 'main(_:)' instead; it gets the run that it ends.")
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

  /// Finishes the task, if it executes; its dependents may then run.
  ///
  /// A call from inside the task's ``main(_:)`` is for the run that the call belongs to:
  /// it is ignored if that run has been cancelled or reset, even if the task executes
  /// again. A call from anywhere else is for the run that the task is in at that moment.
  /// Where that could be a later run, keep ``currentWork`` and end that run. A task that
  /// does not execute, such as one that is in no workflow, does not change: check the
  /// returned value.
  ///
  /// - Parameter result: The result.
  /// - Returns: Whether the task finished. With a journal, whether its result is now being
  ///   recorded: the task finishes later, or fails if that is impossible.
  @discardableResult
  public final func finish(with result: Output) -> Bool { finish(with: result, run: currentRun) }

  @discardableResult
  @inline(__always)
  final func finish(
    with result: Output, run: UInt32?,
    ifStill isWanted: (borrowing WorkflowCore.State) -> Bool = { _ in true }
  ) -> Bool {
    core?.finish(
      self, run: run, ifStill: isWanted, store: { stored = result }, box: { ResultBox(result) })
      ?? false
  }

  /// The run that the task is in, for callbacks that come later.
  ///
  /// Finishing it does nothing after that run has been cancelled or reset.
  /// ``finish(with:)`` on the task itself would end the run that has begun since.
  public final var currentWork: TaskWork<Output> {
    let inside = currentRun
    let run = inside ?? core?.read { $0.graph[index].run } ?? 0
    return TaskWork(of: self, run: run, isOnly: false)
  }

  // MARK: For subclasses

  /// Called when the task has finished, before observers are informed.
  ///
  /// - Parameter result: The result.
  open func didFinish(with result: Output) {}

  // MARK: For the library

  override func work(in run: UInt32) { main(TaskWork(of: self, run: run, isOnly: true)) }

  override func store(_ box: ResultObject) {
    guard let box = box as? ResultBox<Output> else {
      preconditionFailure("a result is of another type than its task")
    }
    stored = box.result
  }

  override func takeResult() -> AnyObject? {
    guard let old = stored.take() else { return nil }
    // Releasing plain values runs no code, so they need no box.
    return _isPOD(Output.self) ? nil : ResultBox(old)
  }

  override func callDidFinish(_ box: ResultObject) {
    if let box = box as? ResultBox<Output> { didFinish(with: box.result) }
  }

  override func tellDelegateOfFinish(_ box: ResultObject) {
    guard delegateCaller != nil, let box = box as? ResultBox<Output> else { return }
    tellDelegate { [self] in $0.task(self, didFinishWith: box.result) }
  }
}

extension WorkflowTask where Output == Void {
  /// Finishes the task, if it executes.
  ///
  /// - Returns: Whether the task finished. With a journal, whether its result is now being
  ///   recorded: the task finishes later, or fails if that is impossible.
  @discardableResult
  public final func finish() -> Bool { finish(with: ()) }
}
