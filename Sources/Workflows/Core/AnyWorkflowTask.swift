import Foundation
import Futures

/// A task of a workflow, with a result of any type: the base class of all tasks.
///
/// Sets of tasks, delegates and events use this type. You cannot construct one; every
/// ``WorkflowTask`` is one.
///
/// A task is a *concept* of work, not one execution: it can run, be cancelled, be retried
/// and be reset any number of times, and reports its state at any time. All of its
/// methods may be called from any thread, from inside its own work, and from delegates
/// and observers. A message that has no meaning in the present state does nothing.
open class AnyWorkflowTask: NSObject, @unchecked Sendable {
  // Sendable: `index` and `keptError` are written and read under the lock of
  // `home`; the rest is atomic or never changes.

  /// The workflow that the task is in, set once.
  private let home = OnceReference<WorkflowCore>()
  /// The state of a task that is in no workflow; `inWorkflow` once it is in one.
  private let stateOutside = Atomic(WorkflowTaskState.ready.rawValue)
  private let settings = OnceReference<TaskSettings>()
  private let givenName: String?
  /// The task's number in its workflow.
  ///
  /// Only accessed with the workflow's lock held.
  @exclusivity(unchecked) final var index: TaskIndex = -1
  /// The error, set when the workflow is released.
  ///
  /// Only accessed with its lock held.
  @exclusivity(unchecked) final var keptError: KeptError?
  /// Whether a subclass may have overridden hooks such as `didStart`.
  @exclusivity(unchecked) final var hasHooks = true

  private static let inWorkflow: UInt8 = 255

  init(name: String?, hasHooks: Bool) {
    givenName = name
    super.init()
    self.hasHooks = hasHooks
  }

  // The error may hold the last reference to a task whose error holds another one.
  deinit { if keptError != nil { FlatRelease.release(keptError.take()) } }

  // MARK: What the task is

  /// A name for people, which need not be unique.
  ///
  /// By default it contains the type and the address of the task.
  public final var name: String {
    get { settings.load()?.get(\.name) ?? givenName ?? defaultName }
    set { settingsMade.set { $0.name = newValue } }
  }

  /// Restores the default name of the task.
  public final func resetName() { settingsMade.set { $0.name = defaultName } }

  private var defaultName: String {
    let type = String(describing: type(of: self)).prefix { $0 != "<" }
    return "\(type) 0x\(String(UInt(bitPattern: ObjectIdentifier(self)), radix: 16))"
  }

  /// The type of the task's result.
  public var outputType: Any.Type { Any.self }

  /// The keys under which the task must be given prerequisites.
  ///
  /// Override it to name the prerequisites that the work needs. Typed keys
  /// (``PrerequisiteKey/named``) also state the type of the result. A workflow refuses
  /// the task if a key is missing. Empty by default.
  open var requiredPrerequisiteKeys: Set<AnyHashable> { [] }

  /// The workflow that the task is in, if it is in one that still exists.
  public final var workflow: Workflow? { home.load()?.workflow }

  // MARK: How the task stands

  /// The present state of the task.
  public final var state: WorkflowTaskState {
    while true {
      if let core = home.load() { return core.read { $0.graph[index].state } }
      if let state = WorkflowTaskState(rawValue: stateOutside.load(ordering: .acquiring)) {
        return state
      }
    }
  }

  /// Whether the task is ready to run.
  public final var isReady: Bool { state == .ready }

  /// Whether the task executes.
  ///
  /// In ``WorkflowTask/main(_:)`` of a run that has been cancelled or reset it is `false`, even
  /// if the task has meanwhile begun another run. Async work and callbacks ask
  /// ``TaskWork/isExecuting``.
  public final var isExecuting: Bool {
    guard let core = home.load() else { return false }
    let run = currentRun
    return core.read {
      run == nil ? $0.graph[index].state == .executing : $0.graph.isExecuting(index, run: run)
    }
  }

  /// Whether the task is cancelled.
  public final var isCancelled: Bool { state == .cancelled }
  /// Whether the task has finished and has a result.
  public final var isFinished: Bool { state == .finished }
  /// Whether the task has failed and has an error.
  public final var isFailed: Bool { state == .failed }

  /// Whether the task was skipped; see ``TriggerRule`` and ``TaskSkipped``.
  public final var isSkipped: Bool { state == .skipped }

  /// The error of a failed task.
  ///
  /// A thread that sees the task failed also sees its error.
  public final var error: (any Error)? { home.load()?.read { $0.error(of: self) } }

  /// When the task finished or failed; `nil` in every other state.
  public final var finishDate: Date? {
    home.load()?.read { state in
      let date = state.graph[index].endDate
      return date.isNaN ? nil : Date(timeIntervalSinceReferenceDate: date)
    }
  }

  /// The result of a finished task, whatever its type.
  public var anyResult: (any Sendable)? { nil }

  // MARK: Changing the state

  /// Runs the task if it is ready.
  ///
  /// The task begins as soon as its context has room. A task that is in no workflow
  /// cannot be started: nothing happens.
  public final func start() { home.load()?.start(self) }

  /// Cancels the task, unless it has ended, and its dependents.
  ///
  /// Dependents that run whatever happens to others (see ``TriggerRule``) are not
  /// cancelled. Executing work is not interrupted: it sees ``isExecuting`` become `false`
  /// (async work is cancelled as Swift tasks are), and its result is ignored.
  public final func cancel() { send(.cancel) }

  /// Clears the results and errors of the task and its dependents, and makes them ready
  /// or pending.
  ///
  /// The tasks are not started. Executing work is told to stop, as by ``cancel()``.
  public final func reset() { send(.reset) }

  /// Runs the task and its dependents again, as far as they have failed or were
  /// cancelled.
  ///
  /// Each task runs as soon as its prerequisites have finished. A dependent that ran
  /// or was skipped because this task had ended (see ``TriggerRule``) is reset; it runs again
  /// or is skipped when this task has ended again. A retry runs no other skipped tasks.
  public final func retry() { send(.retry) }

  private func send(_ message: TaskMessage) {
    while true {
      if let core = home.load() { return core.send(message, to: self) }
      let raw = stateOutside.load(ordering: .acquiring)
      guard let old = WorkflowTaskState(rawValue: raw) else { continue }
      guard let transition = old.transition(on: message, verdict: .runs) else {
        hearsOutside(message)
        return
      }
      let (isExchanged, _) = stateOutside.compareExchange(
        expected: raw, desired: transition.state.rawValue, ordering: .acquiringAndReleasing)
      guard isExchanged else { continue }
      hearsOutside(message)
      tellOutside(message)
      return
    }
  }

  /// Calls the delegate and the hooks of a task that is in no workflow.
  private func tellOutside(_ message: TaskMessage) {
    if let calls = settingsIfAny?.get(\.hookCalls) {
      calls.append { [self] in callHookOutside(message) }
    } else {
      callHookOutside(message)
    }
    if message == .cancel { tellDelegate { [self] in $0.taskDidCancel(self) } }
  }

  private func callHookOutside(_ message: TaskMessage) {
    switch message {
    case .cancel: didCancel()
    case .reset: didReset()
    default: didRetry()
    }
  }

  /// Fails the task, if it executes.
  ///
  /// A call from inside the task's ``WorkflowTask/main(_:)`` is for the run that the call
  /// belongs to: it is ignored if that run has been cancelled or reset, even if the task
  /// executes again. A call from anywhere else is for the run that the task is in at that
  /// moment. Where that could be a later run, keep ``WorkflowTask/currentWork`` and end
  /// that run. A task that does not execute, such as one that is in no workflow, does not
  /// change: check the returned value.
  ///
  /// - Parameter error: The reason.
  /// - Returns: Whether the task failed, or tries again.
  @discardableResult
  public final func fail(with error: any Error) -> Bool {
    home.load()?.fail(self, run: currentRun, with: error) ?? false
  }

  // MARK: For subclasses

  // The hooks are called as each of them says, unless `callHooks(on:)` has given them a
  // context.

  /// The work of a task whose type of result is unknown; see ``WorkflowTask/main(_:)``.
  open func main() {}

  /// Called when the task begins to execute: on the thread that then runs its work,
  /// before observers are informed.
  ///
  /// With ``callHooks(on:)``, this and the other hooks are called later, in a context.
  open func didStart() {}
  /// Called when the task was cancelled, before observers are informed and before it runs
  /// again.
  open func didCancel() {}
  /// Called when the task was skipped, before observers are informed.
  open func didSkip() {}
  /// Called when the task was reset, before observers are informed and before it runs
  /// again.
  open func didReset() {}
  /// Called when the task is retried, before observers are informed and before it runs
  /// again.
  open func didRetry() {}
  /// Called when the task has failed, before observers are informed.
  ///
  /// - Parameter error: The error.
  open func didFail(with error: any Error) {}

  // MARK: For the library

  /// The core of the task's workflow, once the task is in one.
  final var core: WorkflowCore? { home.load() }

  /// Puts the task in a workflow, with the workflow's lock held.
  ///
  /// Returns the previous state of the task, or `nil` if it is in another workflow.
  final func enter(_ core: WorkflowCore) -> WorkflowTaskState? {
    guard home.storeIfNil(core) === core else { return nil }
    let raw = stateOutside.exchange(Self.inWorkflow, ordering: .acquiringAndReleasing)
    return WorkflowTaskState(rawValue: raw)
  }

  /// The number of the task's run whose work the calling thread is in, if any.
  @inline(__always)
  final var currentRun: UInt32? {
    guard let frame = WorkflowThread.existing?.frame, frame.task == ObjectIdentifier(self) else {
      return nil
    }
    return frame.run
  }

  final var hasSettings: Bool { settings.isSet }
  final var settingsIfAny: TaskSettings? { settings.load() }
  final var settingsMade: TaskSettings { settings.load() ?? settings.storeIfNil(TaskSettings()) }
  final var delegateCaller: TaskDelegateCaller? { settings.load()?.get(\.delegate) }

  /// Executes one run on the thread of a worker, with the task's timeout and retry policy.
  final func perform(run: UInt32) {
    if let settings = settings.load(), let core = home.load() {
      let (timeout, policy) = settings.get { ($0.timeout, $0.retryPolicy) }
      if let policy, policy.needsBeginning, core.isFirstAttempt(of: self) {
        settings.beginAttempts(policy)
      }
      if let timeout { core.limit(self, run: run, to: timeout) }
    }
    work(in: run)
  }

  /// Does the work of one run on the thread of a worker.
  func work(in run: UInt32) { main() }

  /// Whether messages are passed to ``hears(_:changedFrom:_:)``.
  var hearsMessages: Bool { false }

  /// Handles a travelling message, with the lock held, whether or not the task changed.
  ///
  /// - Parameters:
  ///   - before: The state before the message; `nil` if the task did not change.
  ///   - now: The state after the message.
  func hears(
    _ message: TaskMessage, changedFrom before: WorkflowTaskState?, to now: WorkflowTaskState,
    _ effects: inout WorkflowCore.Effects
  ) {}

  /// Handles a timeout, with the lock held, just before the run fails.
  func hearsTimeout(_ effects: inout WorkflowCore.Effects) {}

  /// Handles a message to a task that is in no workflow.
  func hearsOutside(_ message: TaskMessage) {}

  /// The nesting of the workflow that the task runs, if that is its work.
  var nesting: Nesting? { nil }

  /// Handles the end of the inner workflow: all of its tasks have finished.
  func innerHasFinished(run: UInt32, ending: UInt32) {}

  /// Stores a result of the task's type, with the lock held.
  func store(_ box: ResultObject) {}

  /// Removes and returns the result, with the lock held.
  func takeResult() -> AnyObject? { nil }

  /// Calls the task's hook for a result.
  func callDidFinish(_ box: ResultObject) {}
  /// Calls the task's delegate for a result.
  func tellDelegateOfFinish(_ box: ResultObject) {}

  /// Handles the release of the workflow: the task will never run again.
  func workflowIsGone() {}

  // MARK: Describing

  /// The type, the address, the name and the state.
  open override var description: String {
    let address = String(UInt(bitPattern: ObjectIdentifier(self)), radix: 16)
    return "<\(type(of: self)): 0x\(address) name = \(name); state = \(state)>"
  }

  /// The description of the task and, indented, of its dependents.
  ///
  /// A task that is reached twice is shown with its dependents only once. Of a large
  /// graph, only the first thousand lines are shown.
  open override var debugDescription: String {
    guard let core = home.load() else { return description }
    return core.tree(from: [self])
  }
}
