import Foundation
import Futures

// Delegates with a context of their own.
//
// The workflow calls a forwarder like any other delegate. The forwarder passes each call
// on to the context, one after the other.

extension Workflow {
  /// Makes an object the delegate of the workflow and calls it in a context.
  ///
  /// For example, a view needs its calls on the main queue:
  ///
  /// ```swift
  /// workflow.setDelegate(view, on: .main)
  /// ```
  ///
  /// The delegate gets the same calls in the same order, one at a time, even if the
  /// context runs several operations at once. No call is lost: calls that wait for the
  /// context keep the workflow alive. A call comes later than the transition that it
  /// reports, and the workflow does not wait for it: use the arguments rather than
  /// present states. A delegate with a context of its own may be slow, and may wait for
  /// work of the workflow.
  ///
  /// No call comes after the delegate has been released or, in the context, replaced. If
  /// the context drops an operation, the waiting calls are dropped as well.
  ///
  /// - Parameters:
  ///   - delegate: The delegate, which is not kept alive; `nil` for none.
  ///   - context: The context in which its methods are called.
  public func setDelegate(
    _ delegate: (any WorkflowDelegate)?, on context: some ExecutionContext
  ) {
    let calls = SerialCalls(in: ContextReference(context))
    replaceDelegate(with: delegate.map { WeakWorkflowDelegate($0, calls) })
  }

  func replaceDelegate(with new: WeakWorkflowDelegate?) {
    // Released after unlock: the context may be the user's.
    let old = core.change { state in
      defer { state.delegate = new }
      return state.delegate
    }
    withExtendedLifetime(old) {}
  }
}

extension AnyWorkflowTask {
  /// Makes an object the delegate of the task and calls it in a context.
  ///
  /// As with ``Workflow/setDelegate(_:on:)``, calls come in order and none is lost.
  ///
  /// - Parameters:
  ///   - delegate: The delegate, which is not kept alive; `nil` for none.
  ///   - context: The context in which its methods are called.
  public final func setDelegate(
    _ delegate: (any WorkflowTaskDelegate)?, on context: some ExecutionContext
  ) {
    let calls = SerialCalls(in: ContextReference(context))
    settingsMade.set { $0.delegate = delegate.map { WeakTaskDelegate($0, calls) } }
  }
}

/// Passes the calls of a workflow's delegate on to a context.
final class WorkflowDelegateForwarder: WorkflowDelegate, @unchecked Sendable {
  // Sendable: `delegate` never changes, except that it becomes nil, which is atomic.
  private weak var delegate: (any WorkflowDelegate)?
  private let calls: SerialCalls

  init(to delegate: any WorkflowDelegate, _ calls: SerialCalls) {
    self.delegate = delegate
    self.calls = calls
  }

  private func forward(
    from workflow: Workflow, _ call: @escaping @Sendable (any WorkflowDelegate) -> Void
  ) {
    calls.append { [self] in
      guard let delegate, workflow.core.read({ $0.delegate })?.value === self else { return }
      call(delegate)
    }
  }

  func workflowDidFinish(_ workflow: Workflow) {
    forward(from: workflow) { $0.workflowDidFinish(workflow) }
  }
  func workflow(_ workflow: Workflow, didEndRunWith outcome: WorkflowOutcome) {
    forward(from: workflow) { $0.workflow(workflow, didEndRunWith: outcome) }
  }
  func workflow(_ workflow: Workflow, task: AnyWorkflowTask, didFailWith error: any Error) {
    forward(from: workflow) { $0.workflow(workflow, task: task, didFailWith: error) }
  }
  func workflow(_ workflow: Workflow, taskDidCancel task: AnyWorkflowTask) {
    forward(from: workflow) { $0.workflow(workflow, taskDidCancel: task) }
  }
  func workflow(_ workflow: Workflow, taskDidSkip task: AnyWorkflowTask) {
    forward(from: workflow) { $0.workflow(workflow, taskDidSkip: task) }
  }
  func workflow(_ workflow: Workflow, taskDidStart task: AnyWorkflowTask) {
    forward(from: workflow) { $0.workflow(workflow, taskDidStart: task) }
  }
  func workflow(_ workflow: Workflow, taskDidFinish task: AnyWorkflowTask) {
    forward(from: workflow) { $0.workflow(workflow, taskDidFinish: task) }
  }
}

/// Passes the calls of a task's delegate on to a context.
final class TaskDelegateForwarder: WorkflowTaskDelegate, @unchecked Sendable {
  // Sendable: `delegate` never changes, except that it becomes nil, which is atomic.
  private weak var delegate: (any WorkflowTaskDelegate)?
  private let calls: SerialCalls

  init(to delegate: any WorkflowTaskDelegate, _ calls: SerialCalls) {
    self.delegate = delegate
    self.calls = calls
  }

  private func forward(
    from task: AnyWorkflowTask, _ call: @escaping @Sendable (any WorkflowTaskDelegate) -> Void
  ) {
    calls.append { [self] in
      guard let delegate, task.delegateIfAny === self else { return }
      call(delegate)
    }
  }

  func task(_ task: AnyWorkflowTask, didFinishWith result: any Sendable) {
    forward(from: task) { $0.task(task, didFinishWith: result) }
  }
  func task(_ task: AnyWorkflowTask, didFailWith error: any Error) {
    forward(from: task) { $0.task(task, didFailWith: error) }
  }
  func taskDidCancel(_ task: AnyWorkflowTask) {
    forward(from: task) { $0.taskDidCancel(task) }
  }
  func taskDidSkip(_ task: AnyWorkflowTask) {
    forward(from: task) { $0.taskDidSkip(task) }
  }
}

/// Calls closures one after the other in a context.
///
/// The context is asked to start one operation at a time, a *turn*. A turn makes a
/// bounded number of the waiting calls; if more wait then, another turn follows. A
/// context that starts operations inside the call that hands them over causes no
/// recursion: such a turn comes back unused, and the thread that handed it over makes the
/// calls in a loop.
final class SerialCalls: Sendable {
  private struct State {
    var waiting = FIFO<@Sendable () -> Void>()
    /// A turn waits in the context or makes calls.
    var isUnderWay = false
  }

  /// How many calls a turn makes at most.
  private static let limit = 128

  private let context: ContextReference
  private let state = Lock(State())

  init(in context: ContextReference) { self.context = context }

  /// Makes a call after those that wait.
  func append(_ call: @escaping @Sendable () -> Void) {
    let isFirst = state.withLock { state in
      state.waiting.append(call)
      defer { state.isUnderWay = true }
      return !state.isUnderWay
    }
    if isFirst { goOn() }
  }

  /// Hands turns to the context.
  fileprivate func goOn() {
    while true {
      let turn = CallTurn(of: self)
      context.start(turn)
      guard turn.hasComeBack(), makeCalls() else { return }
    }
  }

  /// Makes calls until none waits or the turn's limit is reached; returns `false` if none
  /// waits.
  fileprivate func makeCalls() -> Bool {
    for _ in 0..<Self.limit {
      guard let call = takeFirst() else { return false }
      call()
    }
    return true
  }

  private func takeFirst() -> (@Sendable () -> Void)? {
    state.withLock { state in
      let first = state.waiting.popFirst()
      state.isUnderWay = first != nil
      return first
    }
  }

  /// Drops the waiting calls after the context has dropped a turn.
  fileprivate func drop() { state.replace(with: State()) }
}

/// The operation with which a context makes the waiting calls.
///
///   made ── start ──▶ working ──▶ finished          a second start: ignored
///     ├──── started within the call that hands it over: comes back, finished
///     └──── released unstarted: the calls are dropped
///
/// Cancelling it changes nothing: a call reports news and is not work.
private final class CallTurn: Operation, @unchecked Sendable {
  // Sendable: `phase` decides which thread makes the calls; the rest never changes.
  private enum Phase {
    static let handedOver: UInt8 = 0
    static let waiting: UInt8 = 1
    static let working: UInt8 = 2
    static let finished: UInt8 = 3
    static let cameBack: UInt8 = 4
  }

  private let calls: SerialCalls
  private let thread = pthread_self()
  private let phase = Atomic<UInt8>(Phase.handedOver)

  init(of calls: SerialCalls) {
    self.calls = calls
    super.init()
    name = "Workflow delegate"
  }

  deinit { if phase.load(ordering: .acquiring) <= Phase.waiting { calls.drop() } }

  override var isAsynchronous: Bool { true }
  override var isExecuting: Bool { phase.load(ordering: .acquiring) == Phase.working }
  override var isFinished: Bool { phase.load(ordering: .acquiring) >= Phase.finished }

  /// Called once, after the context was asked to start the turn: whether it did so inside
  /// that call.
  func hasComeBack() -> Bool {
    let (_, phase) = phase.compareExchange(
      expected: Phase.handedOver, desired: Phase.waiting, ordering: .acquiringAndReleasing)
    return phase == Phase.cameBack
  }

  private func leave(_ phase: UInt8, for next: UInt8) -> Bool {
    self.phase.compareExchange(
      expected: phase, desired: next, ordering: .acquiringAndReleasing
    ).exchanged
  }

  override func start() {
    if pthread_equal(thread, pthread_self()) != 0 {
      willChange(.isFinished)
      let comesBack = leave(Phase.handedOver, for: Phase.cameBack)
      didChange(.isFinished, if: comesBack)
      if comesBack { return }
    }
    willChange(.isExecuting)
    let isWorking =
      leave(Phase.handedOver, for: Phase.working) || leave(Phase.waiting, for: Phase.working)
    didChange(.isExecuting)
    guard isWorking else { return }
    let mayHaveMore = calls.makeCalls()
    willChange([.isExecuting, .isFinished])
    phase.store(Phase.finished, ordering: .releasing)
    didChange([.isExecuting, .isFinished])
    if mayHaveMore { calls.goOn() }
  }
}
