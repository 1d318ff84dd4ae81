import Foundation
import Futures

/// A step of a workflow whose result's type does not matter: what all tasks
/// have in common.
///
/// Sets of tasks, delegates and events speak of these. You cannot construct
/// one; every ``WorkflowTask`` is one.
///
/// A task is a *concept* of work, not one execution: it can run, be cancelled,
/// be retried and be reset as often as you like, and says at any time how it
/// stands. All of its methods may be called from any thread, from inside its
/// own work, and from delegates and observers; a message that means nothing in
/// the present state does nothing.
open class AnyWorkflowTask: NSObject, @unchecked Sendable {
  // Sendable: `index` and `keptError` are written and read under the lock of
  // `home`; the rest is atomic or never changes.

  /// Which workflow the task is in, once it is in one.
  private let home = OnceReference<WorkflowCore>()
  /// The state of a task that is in no workflow; `inWorkflow` once it is.
  private let stateOutside = Atomic(WorkflowTaskState.ready.rawValue)
  private let settings = OnceReference<TaskSettings>()
  private let givenName: String?
  /// The task's number in its workflow; only to be used under its lock.
  @exclusivity(unchecked) final var index: TaskIndex = -1
  /// The error, once the workflow is gone; under its lock, too.
  @exclusivity(unchecked) final var keptError: KeptError?
  /// Whether `didStart` and its like may be overridden.
  @exclusivity(unchecked) final var hasHooks = true

  private static let inWorkflow: UInt8 = 255

  init(name: String?, hasHooks: Bool) {
    givenName = name
    super.init()
    self.hasHooks = hasHooks
  }

  // MARK: What the task is

  /// A name for people; it need not be unique.
  ///
  /// By default it is made of the type and the address of the task.
  public final var name: String {
    get { settings.load()?.get(\.name) ?? givenName ?? defaultName }
    set { settingsMade.set { $0.name = newValue } }
  }

  /// Goes back to the name that the task has by default.
  public final func resetName() { settingsMade.set { $0.name = defaultName } }

  private var defaultName: String {
    let type = String(describing: type(of: self)).prefix { $0 != "<" }
    return "\(type) 0x\(String(UInt(bitPattern: ObjectIdentifier(self)), radix: 16))"
  }

  /// The type of the task's result.
  public var outputType: Any.Type { Any.self }

  /// The keys under which the task must be given prerequisites.
  ///
  /// Override it to name what the work cannot do without; typed keys
  /// (``PrerequisiteKey/named``) also say of what type. A workflow refuses the
  /// task if one is missing. Empty by default.
  open var requiredPrerequisiteKeys: Set<AnyHashable> { [] }

  /// The workflow that the task is in, if it is in one that still exists.
  public final var workflow: Workflow? { home.load()?.workflow }

  // MARK: How the task stands

  /// Where the task stands now.
  public final var state: WorkflowTaskState {
    while true {
      if let core = home.load() { return core.read { $0.graph[index].state } }
      if let state = WorkflowTaskState(rawValue: stateOutside.load(ordering: .acquiring)) {
        return state
      }
    }
  }

  /// Whether the task could run.
  public final var isReady: Bool { state == .ready }

  /// Whether the task executes.
  ///
  /// From inside a run that has been cancelled or reset it is `false`, even if
  /// the task has meanwhile begun another run.
  public final var isExecuting: Bool {
    guard let core = home.load() else { return false }
    let run = currentRun
    return core.read {
      run == nil ? $0.graph[index].state == .executing : $0.graph.isExecuting(index, run: run)
    }
  }

  /// Whether the task is cancelled.
  public final var isCancelled: Bool { state == .cancelled }
  /// Whether the task has finished, so that it has a result.
  public final var isFinished: Bool { state == .finished }
  /// Whether the task has failed, so that it has an error.
  public final var isFailed: Bool { state == .failed }

  /// Whether the task was skipped; see ``TriggerRule`` and ``TaskSkipped``.
  public final var isSkipped: Bool { state == .skipped }

  /// The error of a failed task.
  ///
  /// Whoever sees the task failed sees its error.
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
  /// It begins as soon as its context has room. A task that is in no workflow
  /// cannot be started: nothing happens.
  public final func start() { home.load()?.start(self) }

  /// Cancels the task, unless it has ended, and all that depend on it, but for those that
  /// run whatever happens to others (see ``TriggerRule``).
  ///
  /// Work that executes is not interrupted: it sees ``isExecuting`` become
  /// `false` (async work is cancelled as Swift tasks are), and what it finishes
  /// with is ignored.
  public final func cancel() { send(.cancel) }

  /// Clears the task's result or error and makes it ready or pending, and
  /// likewise all tasks that depend on it.
  ///
  /// It is not started. Work that executes is told to stop, as in ``cancel()``.
  public final func reset() { send(.reset) }

  /// Runs the task again if it has failed or was cancelled, and likewise all
  /// tasks that depend on it.
  ///
  /// Each runs as soon as its prerequisites have finished. A task that has run because
  /// this one had ended (see ``TriggerRule``) is reset, and runs again, or is skipped,
  /// when this one has ended again. A skipped task is not run by a retry.
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

  /// A task that is in no workflow tells its own delegate and hooks.
  private func tellOutside(_ message: TaskMessage) {
    switch message {
    case .cancel:
      didCancel()
      delegateIfAny?.taskDidCancel(self)
    case .reset: didReset()
    default: didRetry()
    }
  }

  /// Makes the task fail, if it executes.
  ///
  /// Called from inside the task's ``WorkflowTask/main(_:)`` it means the run that
  /// the call belongs to: it is ignored if that run has been cancelled or reset, even
  /// if the task executes again. From anywhere else it means whatever run the task
  /// is in; take ``WorkflowTask/currentWork`` along where that could be another one.
  /// A task that does not execute, such as one that is in no workflow, stays as it
  /// is: look at what is returned.
  ///
  /// - Parameter error: Why.
  /// - Returns: Whether the task failed, or tries again.
  @discardableResult
  public final func fail(with error: any Error) -> Bool {
    home.load()?.fail(self, run: currentRun, with: error) ?? false
  }

  // MARK: For subclasses

  /// The work of a task whose type of result is unknown; see ``WorkflowTask/main(_:)``.
  open func main() {}

  /// Called when the task has begun to execute, by the thread that then does its work,
  /// and before observers are told.
  open func didStart() {}
  /// Called when the task was cancelled, before observers are told and before it
  /// runs again.
  open func didCancel() {}
  /// Called when the task was skipped, before observers are told.
  open func didSkip() {}
  /// Called when the task was reset, before observers are told and before it runs
  /// again.
  open func didReset() {}
  /// Called when the task is to run again, before observers are told and before it
  /// does.
  open func didRetry() {}
  /// Called when the task has failed, before observers are told.
  ///
  /// - Parameter error: The error.
  open func didFail(with error: any Error) {}

  // MARK: For the library

  /// The workflow's inside, once the task is in one.
  final var core: WorkflowCore? { home.load() }

  /// Puts the task in a workflow; with the workflow's lock held.
  ///
  /// `nil` if it is in another; else the state that it was in.
  final func enter(_ core: WorkflowCore) -> WorkflowTaskState? {
    guard home.storeIfNil(core) === core else { return nil }
    let raw = stateOutside.exchange(Self.inWorkflow, ordering: .acquiringAndReleasing)
    return WorkflowTaskState(rawValue: raw)
  }

  /// The number of the run whose work the calling thread is in, if it is this
  /// task's.
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
  final var delegateIfAny: (any WorkflowTaskDelegate)? {
    settings.load()?.get(\.delegate)?.value
  }

  /// Does one run; on the thread of a worker.
  final func perform(run: UInt32) {
    if let timeout = settings.load()?.get(\.timeout), let core = home.load() {
      core.limit(self, run: run, to: timeout)
    }
    work(in: run)
  }

  /// Does the work of one run; on the thread of a worker.
  func work(in run: UInt32) { main() }

  /// Whether messages are passed to ``hears(_:changedFrom:_:)``.
  var hearsMessages: Bool { false }

  /// A travelling message has reached the task; with the lock held, whether or
  /// not the task changed.
  func hears(
    _ message: TaskMessage, changedFrom before: WorkflowTaskState?,
    _ effects: inout WorkflowCore.Effects
  ) {}

  /// A run has taken too long, and is about to fail; with the lock held.
  func hearsTimeout(_ effects: inout WorkflowCore.Effects) {}

  /// The same for a task that is in no workflow.
  func hearsOutside(_ message: TaskMessage) {}

  /// The workflow that the task runs, if that is its work.
  var nesting: Nesting? { nil }

  /// All tasks of the workflow inside have finished.
  func innerHasFinished(run: UInt32, ending: UInt32) {}

  /// Takes the result out; with the lock held.
  func takeResult() -> AnyObject? { nil }

  /// Calls the hook for a result.
  func callDidFinish(_ box: ResultObject) {}
  /// The same, for the task's delegate.
  func tellDelegateOfFinish(_ box: ResultObject) {}

  /// The workflow is gone: the task will never run again.
  func workflowIsGone() {}

  // MARK: Describing

  /// The type, the address, the name and the state.
  open override var description: String {
    let address = String(UInt(bitPattern: ObjectIdentifier(self)), radix: 16)
    return "<\(type(of: self)): 0x\(address) name = \(name); state = \(state)>"
  }

  /// The description of the task and, indented, of all that depend on it.
  ///
  /// A task that is reached twice is shown with what depends on it only once.
  /// Of a large graph it shows the first thousand lines.
  open override var debugDescription: String {
    guard let core = home.load() else { return description }
    return core.tree(from: [self])
  }
}
