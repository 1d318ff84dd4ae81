import Foundation
import Futures

// Delegates, some of which have a context of their own.
//
// A caller keeps no delegate alive. It calls the delegate at once, or passes each call on to
// the context, one after the other.

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
    replaceDelegate(with: delegate.map { WorkflowDelegateCaller($0, calls) })
  }

  func replaceDelegate(with new: WorkflowDelegateCaller?) {
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
    settingsMade.set { $0.delegate = delegate.map { TaskDelegateCaller($0, calls) } }
  }
}

/// Calls the delegate of a workflow, perhaps in a context.
final class WorkflowDelegateCaller: @unchecked Sendable {
  // Sendable: `delegate` never changes, except that it becomes nil, which is atomic.
  private(set) weak var delegate: (any WorkflowDelegate)?
  private let calls: SerialCalls?

  /// - Parameter calls: The context in which the delegate is called; if `nil`, the
  ///   delivering thread calls it.
  init(_ delegate: any WorkflowDelegate, _ calls: SerialCalls? = nil) {
    self.delegate = delegate
    self.calls = calls
  }

  fileprivate func call(
    for workflow: Workflow, _ body: @escaping @Sendable (any WorkflowDelegate, Workflow) -> Void
  ) {
    guard let calls else {
      if let delegate { body(delegate, workflow) }
      return
    }
    calls.append { [self] in
      guard let delegate, workflow.core.read({ $0.delegate }) === self else { return }
      body(delegate, workflow)
    }
  }
}

/// Calls the delegate of a task, perhaps in a context.
final class TaskDelegateCaller: @unchecked Sendable {
  // Sendable: `delegate` never changes, except that it becomes nil, which is atomic.
  private(set) weak var delegate: (any WorkflowTaskDelegate)?
  private let calls: SerialCalls?

  /// - Parameter calls: The context in which the delegate is called; if `nil`, the
  ///   delivering thread calls it.
  init(_ delegate: any WorkflowTaskDelegate, _ calls: SerialCalls? = nil) {
    self.delegate = delegate
    self.calls = calls
  }

  fileprivate func call(
    for task: AnyWorkflowTask, _ body: @escaping @Sendable (any WorkflowTaskDelegate) -> Void
  ) {
    guard let calls else {
      if let delegate { body(delegate) }
      return
    }
    calls.append { [self] in
      guard let delegate, task.delegateCaller === self else { return }
      body(delegate)
    }
  }
}

extension WorkflowCore {
  /// After unlock: calls a method of the workflow's delegate, if it has one.
  func tellDelegate(_ body: @escaping @Sendable (any WorkflowDelegate, Workflow) -> Void) {
    if let caller = read({ $0.delegate }), let workflow { caller.call(for: workflow, body) }
  }
}

extension AnyWorkflowTask {
  /// Calls a method of the task's delegate, if it has one.
  final func tellDelegate(_ body: @escaping @Sendable (any WorkflowTaskDelegate) -> Void) {
    delegateCaller?.call(for: self, body)
  }
}

/// Calls closures one after the other in a context.
///
/// The context is asked to start one operation at a time, a *turn*. A turn makes a
/// bounded number of the waiting calls; if more wait then, another turn follows. A
/// context that starts operations inside the call that hands them over causes no
/// recursion: such a turn asks for no other one, and the thread that handed it over hands
/// over the next one when that call has returned.
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
  ///
  /// A call may concern another workflow with the same context, which may hold a lock: that
  /// one waits until this thread no longer asks the context.
  fileprivate func goOn() {
    var hasMore = true
    while hasMore {
      hasMore = false
      WorkLoop.current.ask(context) {
        let turn = CallTurn(of: self)
        context.start(turn)
        hasMore = turn.leavesCalls()
      } orLater: {
        self.goOn()
      }
    }
  }

  /// Makes calls until none waits or the limit of a turn is reached; returns `false` if
  /// none waits.
  fileprivate func makeCalls() -> Bool {
    for _ in 0..<Self.limit {
      guard let call = takeFirst() else { return false }
      releasingAutoreleased { call() }
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
///   handed over ── start ──▶ working in the call ──▶ left calls, or finished
///     │                        │ the call that hands the turn over returns
///     │ that call returns      ▼
///     └──▶ waiting ── start ──▶ working ──▶ finished     a second start: ignored
///
/// If calls still wait after its last one, the turn asks for another turn. A turn that ends
/// inside the call that hands it over leaves that to the thread in that call. If the context
/// releases the turn unstarted, the waiting calls are dropped.
///
/// Cancelling it changes nothing: a call reports news and is not work.
private final class CallTurn: Operation, @unchecked Sendable {
  // Sendable: `phase` decides which thread makes the calls; the rest never changes.
  private enum Phase {
    static let handedOver: UInt8 = 0
    static let waiting: UInt8 = 1
    static let working: UInt8 = 2
    static let workingInCall: UInt8 = 3
    static let finished: UInt8 = 4
    static let leftCalls: UInt8 = 5
  }

  private let calls: SerialCalls
  private let phase = Atomic<UInt8>(Phase.handedOver)

  init(of calls: SerialCalls) {
    self.calls = calls
    super.init()
    name = "Workflow delegate"
  }

  deinit { if phase.load(ordering: .acquiring) <= Phase.waiting { calls.drop() } }

  override var isAsynchronous: Bool { true }
  override var isExecuting: Bool {
    let phase = phase.load(ordering: .acquiring)
    return phase == Phase.working || phase == Phase.workingInCall
  }
  override var isFinished: Bool { phase.load(ordering: .acquiring) >= Phase.finished }

  /// Called once, when the call that hands the turn over has returned: whether the turn has
  /// ended inside that call, and calls may still wait.
  func leavesCalls() -> Bool {
    if leave(Phase.handedOver, for: Phase.waiting) || leave(Phase.workingInCall, for: Phase.working)
    {
      return false
    }
    return phase.load(ordering: .acquiring) == Phase.leftCalls
  }

  private func leave(_ phase: UInt8, for next: UInt8) -> Bool {
    self.phase.compareExchange(
      expected: phase, desired: next, ordering: .acquiringAndReleasing
    ).exchanged
  }

  override func start() {
    willChange(.isExecuting)
    let isWorking =
      leave(Phase.handedOver, for: Phase.workingInCall)
      || leave(Phase.waiting, for: Phase.working)
    didChange(.isExecuting)
    guard isWorking else { return }
    let mayHaveMore = calls.makeCalls()
    willChange([.isExecuting, .isFinished])
    let leavesCalls = mayHaveMore && leave(Phase.workingInCall, for: Phase.leftCalls)
    if !leavesCalls { phase.store(Phase.finished, ordering: .releasing) }
    didChange([.isExecuting, .isFinished])
    if mayHaveMore, !leavesCalls { calls.goOn() }
  }
}
