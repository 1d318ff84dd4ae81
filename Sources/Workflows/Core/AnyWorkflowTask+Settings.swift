import Foundation
import Futures

extension AnyWorkflowTask {
  /// The delegate of the task, which is not kept alive.
  ///
  /// It is called on the thread that delivers the news. ``setDelegate(_:on:)`` gives it a
  /// context.
  public final var delegate: (any WorkflowTaskDelegate)? {
    get { settingsIfAny?.get(\.delegate)?.delegate }
    set { settingsMade.set { $0.delegate = newValue.map { TaskDelegateCaller($0) } } }
  }

  /// The queue in which the task runs: its own, or else the workflow's.
  ///
  /// `nil` if the task runs in a context of another kind. A new queue applies from the
  /// task's next start. Setting `nil` returns the task to the workflow's context.
  public final var operationQueue: OperationQueue? {
    get {
      let own = settingsIfAny?.get(\.context)
      let context = own ?? core?.read { $0.pools[0].context }
      guard case .operationQueue(let queue)? = context else { return nil }
      return queue
    }
    set { changeContext(newValue.map { ContextReference($0) }) }
  }

  /// Makes the task run in a context of its own.
  ///
  /// Tasks with the same queue, the same object or `.inline` share its slots: one
  /// operation of the context runs several of them. A context that is a value (a
  /// structure) has no identity: each task with such a context has an operation to
  /// itself.
  ///
  /// - Parameter context: Where it runs from its next start on.
  public final func setContext(_ context: some ExecutionContext) {
    changeContext(ContextReference(context))
  }

  private func changeContext(_ context: ContextReference?) {
    settingsMade.set { $0.context = context }
    applyScheduling()
  }

  /// The task's priority among ready tasks of the same context; normal by default.
  ///
  /// A task that is ready keeps its place; a change applies from its next start.
  /// It does not order the tasks that wait for a permit of ``Workflow/limit(_:to:)``: they get
  /// theirs in the order in which they came.
  public final var priority: Operation.QueuePriority {
    get { settingsIfAny?.get(\.priority) ?? .normal }
    set {
      settingsMade.set { $0.priority = newValue }
      applyScheduling()
    }
  }

  /// When and how often the task tries again by itself after a failure; never by default.
  ///
  /// An attempt that fails and is followed by another does not fail the task. Observers
  /// see no failure but a retry (``didRetry()``, the notification and the event), and
  /// ``WorkflowEvent/taskAttemptDidFail(_:_:)`` with the error. The work finds the number
  /// of its attempt and the error of the previous one in ``TaskWork``. Cancelling or
  /// resetting the task, and the timeout of the run, end the wait between two attempts.
  ///
  /// ```swift
  /// upload.retryPolicy = RetryPolicy(attempts: 3, delay: .exponential(.seconds(1)))
  /// ```
  ///
  /// The closures of the policy are called on the thread on which an attempt has ended.
  /// The policy's clock measures the waits, and the deadline from the beginning of the first
  /// attempt. If its `sleep` throws, the next attempt begins at once. The policy goes when the
  /// workflow is released, as the closures of tasks do.
  public final var retryPolicy: RetryPolicy? {
    get { settingsIfAny?.get(\.retryPolicy) }
    set { settingsMade.set { $0.retryPolicy = newValue } }
  }

  /// How long a run of the task may last; without limit by default.
  ///
  /// A run that lasts longer fails with ``WorkflowError/timedOut(_:after:)``. The time
  /// counts from the call of its work, after ``didStart()``. The work is told to stop, as
  /// by ``cancel()``, but not interrupted.
  public final var timeout: Duration? {
    get { settingsIfAny?.get(\.timeout) }
    set { settingsMade.set { $0.timeout = newValue } }
  }

  /// How much the task counts in the workflow's progress; one by default.
  ///
  /// A negative weight counts as zero. Set it before you read the workflow's progress.
  public final var progressWeight: Int64 {
    get { settingsIfAny?.get(\.weight) ?? 1 }
    set { settingsMade.set { $0.weight = max(newValue, 0) } }
  }

  /// Passes context, priority and limit to the workflow, if the task is in one.
  final func applyScheduling() {
    guard let core, let settings = settingsIfAny else { return }
    var scheduling = settings.current
    while true {
      _ = core.change { core.schedule(index, scheduling, &$0) }
      // If two threads change settings, the later change has to win.
      let latest = settings.current
      if latest.changes == scheduling.changes { return }
      scheduling = latest
    }
  }
}

extension WorkflowCore {
  /// With the lock held: sets the context, priority and limit of a task from its next
  /// start.
  ///
  /// - Returns: A context that no task needs any more, to be released after unlock.
  func schedule(
    _ index: TaskIndex, _ scheduling: TaskSettings.Values, _ state: inout State
  ) -> ContextReference? {
    state.graph.setPriority(index, Int8(clamping: scheduling.priority.rawValue))
    let (old, new) = (
      state.graph[index].pool, scheduling.context.map { state.pools.number(of: $0) } ?? 0
    )
    var left: ContextReference?
    if new != old {
      state.graph.setPool(index, new)
      left = state.pools.moveTask(from: old, to: new)
    }
    // Compared first: an unused dictionary then costs other tasks nothing.
    if state.limits.names[index] != scheduling.limitName {
      state.limits.names[index] = scheduling.limitName
    }
    return left
  }
}
