import Foundation
import Futures

/// The state of a workflow: the graph, the tasks, and the news for observers.
///
/// `Workflow` is the public class on top of it. Workflows that run inside one another
/// share one lock (see `WorkflowTree`), so that a change in one of them and its
/// consequences in the others are one step. Each function takes the lock, changes the
/// graph, collects the consequences in `Effects`, releases the lock and carries the
/// effects out:
///
/// 1. workers are queued for ready tasks (after step 2 if the context is one of the user's
///    own, after step 3 if the worker runs inside the call that queues it);
/// 2. work of runs that ended otherwise is stopped, futures of tasks settle, and delays
///    before next attempts begin;
/// 3. one thread at a time delivers the news of a workflow, in order; the other threads
///    leave their news to that thread;
/// 4. a task whose inner workflow has ended ends likewise.
///
/// Ownership:
///
///   Workflow ──▶ WorkflowCore ◀── AnyWorkflowTask (each, for good)
///                    │   ▲
///                    │   └────── Worker
///                    ├──▶ the tasks, until the Workflow is released
///                    └──▶ the Workflow, while a task is active or news is undelivered
///
/// A workflow without outside references therefore runs to its end and is then released
/// with its tasks. A task with an outside reference keeps its state and its result.
final class WorkflowCore: @unchecked Sendable {
  // Sendable: `state` is only accessed with the lock of the tree held; `workflow` is
  // written once, by the workflow's init, and becomes nil atomically; the rest never
  // changes.

  /// State that only some runs of tasks have.
  struct RunExtras {
    var run: UInt32
    var stop: [@Sendable () -> Void] = []
    var timer: Future<Void>?
    /// A thread has an error for the run and asks the retry policy.
    var isFailing = false
  }

  /// A future that waits for the end of a task's run.
  struct TaskWaiter {
    let future: AnyFuture
    let deliver: @Sendable (Delivery) -> Void
  }

  struct State {
    var graph = TaskGraph()
    var tasks: ContiguousArray<AnyWorkflowTask> = []
    var isReleased = false
    var name: String?
    var pools: Pools
    var room = Room()
    var limits = NamedLimits()
    /// The inner workflows that tasks of this one run.
    var nestings: [Nesting] = []
    /// How many of these a cancellation of all concerns; see `Nesting.isCancellable`.
    var cancellableNestings = 0
    /// The task that runs this workflow, while that task is in a workflow.
    var owner: Owner?
    /// The workflow has changed together with another one and is in `Effects.changed`.
    var isToConclude = false
    /// A run has started and the workflow has not been quiescent since.
    var isRunning = false
    /// How many runs have begun.
    var lastRun: UInt64 = 0
    var failsFast = false
    var timeout: Duration?
    /// How many threads, and workflows inside that hold up the run (see
    /// `Nesting.holdsUpRun`), are calling closures that stop work.
    ///
    /// The run ends after these closures.
    var stopping = 0
    /// The timer of the current run, if the run has a timeout.
    var runTimer: Future<Void>?
    /// The workflow itself, while it has work to do or news to deliver.
    var keptAlive: Workflow?

    var calendar = WorkflowClock.Calendar()
    var errors: [TaskIndex: any Error] = [:]
    var extras: [TaskIndex: RunExtras] = [:]
    var attempts: [TaskIndex: TaskAttempts] = [:]
    /// When the first task of the last run began.
    ///
    /// Not set before it begins. It may have begun before the run, if it was started alone.
    var runBegan: UInt64 = 0
    /// No task has begun in the current run.
    var isRunNew = false
    /// Observers were informed when the last task finished or was skipped, and no task was
    /// added since.
    var finishIsTold = false
    var keys: [TaskIndex: [AnyHashable: TaskIndex]] = [:]

    var news: ContiguousArray<Delivery> = []
    var isTelling = false
    /// For each task, how many pieces of news about a cancellation, reset or retry its
    /// hooks have yet to receive.
    ///
    /// The task does not run before they have.
    var untoldHooks: [TaskIndex: Int] = [:]
    /// Pools with synchronous contexts that got work while this thread delivered news:
    /// their workers start after the delivery.
    var spawnsAfterTelling: [PoolReference] = []
    /// Outer workflows whose runs have ended, but whose streams still wait for news from
    /// this workflow.
    ///
    /// They report their end after that news.
    var endingAfterTelling: [Workflow] = []
    var delegate: WorkflowDelegateCaller?
    var streams: Streams = [:]
    /// Streams of the workflows around this one.
    var outerStreams: Streams = [:]
    var progress: WorkflowProgress?
    /// The promises of the run's outcome, each with an increasing number.
    var outcomes: [ObjectIdentifier: (number: UInt64, promise: Promise<WorkflowOutcome>)] = [:]
    /// Set once the workflow has been resumed from a journal.
    var journal: CoreJournal?
    /// The futures that wait for the end of a task's run, by an increasing number.
    var taskWaiters: [TaskIndex: [UInt64: TaskWaiter]] = [:]
    var lastWaiter: UInt64 = 0
    #if PROPERATIONS_INVARIANTS
      var eventsUntilLongLook = 0
    #endif

    /// Removes and returns, in order, the futures that wait for the end of a task's run.
    mutating func takeWaiters(_ index: TaskIndex) -> [TaskWaiter]? {
      guard !taskWaiters.isEmpty, let waiters = taskWaiters.removeValue(forKey: index) else {
        return nil
      }
      return waiters.sorted { $0.key < $1.key }.map(\.value)
    }

    /// Removes and returns the promises of the outcome, in order.
    mutating func takeOutcomes() -> [Promise<WorkflowOutcome>] {
      defer { outcomes = [:] }
      return outcomes.values.sorted { $0.number < $1.number }.map(\.promise)
    }

    /// The error of a task, if the task has failed.
    func error(of task: AnyWorkflowTask) -> (any Error)? {
      errors[task.index] ?? task.keptError?.error(of: task)
    }

    /// Whether the workflow has work to do or news to deliver.
    var mustBeKept: Bool { graph.activeCount > 0 || isTelling || isRunning || !news.isEmpty }

    /// Whether a cancellation of all tasks concerns any, here or inside.
    var isCancellable: Bool { graph.cancellableCount > 0 || cancellableNestings > 0 }

    /// Whether something runs, or may still run: in a quiescent workflow an end starts nothing.
    var goesOn: Bool { isRunning || graph.activeCount > 0 || graph.executingCount > 0 }

    /// Whether the run has ended, apart from news that is not delivered yet.
    var comesToRest: Bool { isRunning && graph.activeCount == 0 && stopping == 0 }

    /// Whether there are observers besides the tasks' own delegates and hooks.
    var hasWatchers: Bool {
      delegate != nil || !streams.isEmpty || !outerStreams.isEmpty || progress != nil
    }
  }

  let notificationCenter: NotificationCenter
  /// Whether to post every kind of notification: the user passed this center explicitly.
  let postsEverything: Bool
  /// Measures timeouts of tasks and runs.
  let clock: any Clock<Duration>
  let tree = WorkflowTree()
  /// Only accessed with the lock of the tree held.
  @exclusivity(unchecked) final var state: State
  private(set) weak var workflow: Workflow?

  init(
    context: ContextReference, clock: any Clock<Duration>,
    notificationCenter: NotificationCenter, postsEverything: Bool
  ) {
    self.clock = clock
    self.notificationCenter = notificationCenter
    self.postsEverything = postsEverything
    state = State(pools: Pools(context))
  }

  /// Connects the core with its workflow.
  ///
  /// Called once, by the workflow's init.
  func belongs(to workflow: Workflow) { self.workflow = workflow }

  // MARK: Taking the lock

  /// Reads the state with the lock held.
  @inline(__always)
  func read<Value>(_ body: (borrowing State) -> Value) -> Value { tree.withLock { body(state) } }

  /// Changes the state, where the change has no consequences.
  ///
  /// The closure returns what must be released after unlock.
  @inline(__always)
  func change<Value>(_ body: (inout State) throws -> Value) rethrows -> Value {
    try tree.withLock {
      let value = try body(&state)
      #if PROPERATIONS_INVARIANTS
        state.check()
      #endif
      return value
    }
  }

  /// Changes the state and carries out the consequences.
  @discardableResult
  @inline(__always)
  func perform<Value>(_ body: (inout State, inout Effects) throws -> Value) rethrows -> Value {
    var effects = Effects()
    let value = try tree.withLock {
      let value = try body(&state, &effects)
      if !effects.steps.isEmpty { followSteps(&effects) }
      if conclude(&effects) {
        state.isTelling = true
        effects.tells = true
        swap(&effects.news, &state.news)
      }
      #if PROPERATIONS_INVARIANTS
        state.check()
      #endif
      if !effects.changed.isEmpty { concludeOthers(&effects) }
      return value
    }
    carryOut(&effects)
    return value
  }

  /// With the lock held: handles the consequences that any change may have.
  ///
  /// - Returns: Whether the workflow has news and no thread delivers it.
  @inline(__always)
  private func conclude(_ effects: inout Effects) -> Bool {
    if state.graph.occupiedCount != state.room.counted { countRoom(&effects) }
    if effects.clearsLine, !state.room.hasLimit { clearLine(&effects) }
    if effects.offersRoom, state.room.limiter != nil { offerRoom(&effects) }
    let mustBeKept = state.mustBeKept
    if mustBeKept != (state.keptAlive != nil) {
      if mustBeKept {
        state.keptAlive = workflow
      } else if let workflow = state.keptAlive.take() {
        effects.garbage.append(workflow)
      }
    }
    if state.owner != nil {
      countAsCancellable()
      tellOwnerOfRest(&effects)
    }
    return !state.isTelling && (!state.news.isEmpty || state.comesToRest)
  }

  /// With the lock held: does the same for the other workflows that have changed.
  private func concludeOthers(_ effects: inout Effects) {
    // The list may grow in the loop: the end of an inner workflow changes the outer one.
    var next = 0
    while next < effects.changed.count {
      let core = effects.changed[next]
      next += 1
      core.state.isToConclude = false
      // Another thread may deliver this workflow's news before this thread gets to it.
      if core.conclude(&effects) { effects.others.append(core) }
      #if PROPERATIONS_INVARIANTS
        core.state.check()
      #endif
    }
  }
}
