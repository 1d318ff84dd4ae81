import Futures

extension AnyWorkflowTask {
  /// Calls the hooks of a subclass in a context, from now on.
  ///
  /// Hooks are the methods that a subclass overrides to be told of its own transitions, such
  /// as ``didStart()`` and ``didFail(with:)``. A hook that changes a view needs the main
  /// queue. It can call `MainActor.assumeIsolated` there.
  ///
  /// ```swift
  /// let download = Download(showing: spinner)
  /// download.callHooks(on: .main)
  /// ```
  ///
  /// The hooks get the same calls in the same order, one at a time, even if the context runs
  /// several operations at once. No call is lost: calls that wait for the context keep the
  /// workflow alive. A call comes later than the transition that it reports. Neither the
  /// work nor observers wait for it, so ``didStart()`` may be called when the work has begun
  /// or has even ended. There is one exception: a task that was cancelled, reset or retried
  /// does not run again before the hook for that has returned. Code in the context must not
  /// wait for such a run. A message that the task got before it was added to a workflow holds up
  /// no run.
  ///
  /// Set the context before the first run: calls that wait for an earlier context are still made
  /// there, perhaps beside those in the new one. If the context drops an operation, the waiting
  /// calls are dropped as well, and hold up nothing. A task of a kind that cannot be subclassed
  /// has no hooks; for it the call has no effect.
  ///
  /// - Parameter context: The context in which the hooks are called.
  public final func callHooks(on context: some ExecutionContext) {
    let calls = SerialCalls(in: ContextReference(context))
    settingsMade.set { $0.hookCalls = calls }
  }
}

/// A call of a task's hook that waits for its context.
///
/// If the context drops it, the task must not be held back for ever.
final class HookCall: Sendable {
  private let core: WorkflowCore
  /// Kept until the call, so that the hook finds it.
  private let workflow: Workflow?
  private let news: Delivery
  private let wasMade = Atomic(false)

  init(of core: WorkflowCore, _ news: Delivery) {
    self.core = core
    self.news = news
    workflow = core.workflow
  }

  deinit { if !wasMade.load(ordering: .acquiring) { core.hookIsDone(with: news) } }

  func make() {
    wasMade.store(true, ordering: .releasing)
    core.callHookHere(for: news)
  }
}
