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
/// 1. workers are queued for ready tasks (after step 3 if the worker runs inside the call
///    that queues it);
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

  /// The tasks that run in one context, and the workers for them.
  struct Pool {
    let context: ContextReference
    var ready = ReadyList()
    /// Workers that the context has not started yet.
    var workersInLine = 0
    /// The context starts an operation inside the call that hands it over.
    ///
    /// One worker is enough then, and it must not ask for another from inside itself.
    var isSynchronous: Bool
    /// A check whether a worker is missing is scheduled.
    var isWatched = false
    /// The pool waits in the line of a limit.
    var isWaitingForRoom = false
    /// The number of tasks that run here.
    ///
    /// Not counted in the pool of the workflow itself.
    var taskCount = 0
    /// Workers that exist or are about to be made.
    var workerCount = 0

    /// Whether nothing refers to the pool by its number any more.
    var isUnused: Bool {
      taskCount == 0 && workerCount == 0 && ready.isEmpty && !isWatched && !isWaitingForRoom
    }

    /// Counts a worker that is about to be queued.
    mutating func expectWorker() {
      workersInLine += 1
      workerCount += 1
    }
  }

  /// State that only some runs of tasks have.
  struct RunExtras {
    var run: UInt32
    var stop: [@Sendable () -> Void] = []
    var timer: Future<Void>?
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
    var pools: [Pool]
    /// The pools by their contexts.
    ///
    /// Empty until a task has a context of its own.
    var poolNumbers: [ObjectIdentifier: UInt32] = [:]
    /// The numbers of pools that are free for reuse.
    var freePools: [UInt32] = []
    var room = Room()
    /// Limits for tasks of this workflow and of the workflows inside it, by name.
    var limits: [String: NamedLimit] = [:]
    /// The limit's name of each task that has one.
    var limitNames: [TaskIndex: String] = [:]
    /// The limit of each executing task that holds a permit.
    var permits: [TaskIndex: NamedLimit] = [:]
    /// The place of each task that waits for a permit, or for which one is reserved.
    var places: [TaskIndex: NamedLimit.Place] = [:]
    /// The inner workflows that tasks of this one run.
    var nestings: [Nesting] = []
    /// The task that runs this workflow, while that task is in a workflow.
    var owner: Owner?
    /// The workflow has changed together with another one and is in `Effects.changed`.
    var isToConclude = false
    /// A run has started and the workflow has not been quiescent since.
    var isRunning = false
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
    /// Not set before it begins.
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
    var delegate: WeakWorkflowDelegate?
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

    /// Whether something runs, or may still run: in a quiescent workflow an end starts nothing.
    var goesOn: Bool { isRunning || graph.activeCount > 0 || graph.executingCount > 0 }

    /// Whether the run has ended, apart from news that is not delivered yet.
    var comesToRest: Bool { isRunning && graph.activeCount == 0 && stopping == 0 }

    /// Whether there are observers besides the tasks' own delegates and hooks.
    var hasWatchers: Bool {
      delegate != nil || !streams.isEmpty || !outerStreams.isEmpty || progress != nil
    }
  }

  /// A pool of one of the workflows in the tree.
  struct PoolReference {
    let core: WorkflowCore
    let pool: Int
  }

  /// A delayed check that something expected has happened: that a worker has started, or
  /// that offered room has been taken.
  ///
  /// It runs after two milliseconds, with the lock held.
  struct Look {
    let core: WorkflowCore
    let body: @Sendable (inout State, inout Effects) -> Void

    /// After unlock: schedules the check.
    func takeSoon() {
      DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(2)) {
        core.perform(body)
      }
    }
  }

  /// The consequences of a change, carried out after unlock.
  struct Effects {
    var firstSpawn: PoolReference?
    var otherSpawns: [PoolReference] = []
    /// Pools with synchronous contexts: their workers start after the news is delivered.
    var lateSpawns: [PoolReference] = []
    var looks: [Look] = []
    var stopped: [RunExtras] = []
    /// The workflows whose runs end after the closures in `stopped` have returned.
    var stopping: ContiguousArray<WorkflowCore> = []
    var passedOn: [() -> Void] = []
    /// Starts timers: of the run, and of delays before next attempts.
    var clocks: [() -> Void] = []
    /// Futures that waited for the end of a task's run, each with that end.
    var waiters: [(TaskWaiter, Delivery)] = []
    var journal: JournalEffects?
    /// The first news to deliver, if this thread delivers.
    var news: ContiguousArray<Delivery> = []
    var tells = false
    /// Other workflows of the tree that may have news to deliver.
    var others: ContiguousArray<WorkflowCore> = []
    /// There may be room that no worker has taken.
    var offersRoom = false
    /// The limit of the workflow was removed.
    var clearsLine = false
    /// Objects that must not be released under the lock.
    var garbage: [Any] = []
    var released: [Workflow] = []

    /// The consequences for workflows inside or around this one, carried out while the
    /// lock is still held.
    var steps: ContiguousArray<TreeStep> = []
    /// Other workflows that have changed.
    var changed: ContiguousArray<WorkflowCore> = []

    /// Notes that a workflow other than the called one has changed.
    mutating func hasChanged(_ core: WorkflowCore) {
      if core.state.isToConclude { return }
      core.state.isToConclude = true
      changed.append(core)
    }

    mutating func spawn(_ core: WorkflowCore, _ pool: Int, isLate: Bool) {
      let reference = PoolReference(core: core, pool: pool)
      if isLate {
        lateSpawns.append(reference)
      } else if firstSpawn == nil {
        firstSpawn = reference
      } else {
        otherSpawns.append(reference)
      }
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
    context: ContextReference, isSynchronous: Bool, clock: any Clock<Duration>,
    notificationCenter: NotificationCenter, postsEverything: Bool
  ) {
    self.clock = clock
    self.notificationCenter = notificationCenter
    self.postsEverything = postsEverything
    state = State(pools: [Pool(context: context, isSynchronous: isSynchronous)])
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
        effects.released.append(workflow)
      }
    }
    if state.owner != nil { tellOwnerOfRest(&effects) }
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

  /// After unlock, on any thread: carries out the effects.
  @inline(__always)
  private func carryOut(_ effects: inout Effects) {
    if let first = effects.firstSpawn {
      first.core.spawn(first.pool)
      for other in effects.otherSpawns { other.core.spawn(other.pool) }
    }
    for look in effects.looks { look.takeSoon() }
    if !effects.stopped.isEmpty { stopWork(effects.stopped, effects.stopping) }
    if effects.journal != nil { effects.journal?.carryOut() }
    // Before the news: work may wait for a task's future, but must not wait for
    // observers.
    if !effects.waiters.isEmpty { for (waiter, end) in effects.waiters { waiter.deliver(end) } }
    if !effects.clocks.isEmpty { for start in effects.clocks { start() } }
    if effects.tells { tell(&effects.news) }
    for core in effects.others { core.tellIfNeeded() }
    if !effects.passedOn.isEmpty {
      let thread = WorkflowThread.current
      for pass in effects.passedOn { thread.call(pass) }
    }
    for pool in effects.lateSpawns { pool.core.spawn(pool.pool) }
  }

  /// After unlock: stops the timers and the work of runs that have ended.
  ///
  /// - Parameter stopping: The workflows whose runs end after that.
  private func stopWork(_ runs: [RunExtras], _ stopping: ContiguousArray<WorkflowCore>) {
    for extras in runs { extras.timer?.cancel() }
    if runs.allSatisfy(\.stop.isEmpty) { return }
    WorkflowThread.current.stopWork {
      for extras in runs { for stop in extras.stop { stop() } }
      for core in stopping { core.perform(core.hasStopped) }
    }
  }

  // MARK: Telling

  /// With the lock held: notes the end of a task's run, if observers or futures want it.
  @inline(__always)
  func noteEnd(
    of task: AnyWorkflowTask, _ state: inout State, _ effects: inout Effects,
    _ news: () -> Delivery
  ) {
    let waiters = state.takeWaiters(task.index)
    let isWanted = wantsNews(of: task, state)
    guard isWanted || waiters != nil else { return }
    let news = news()
    if isWanted { state.news.append(news) }
    for waiter in waiters ?? [] { effects.waiters.append((waiter, news)) }
  }

  /// Whether any observer may want news of a task.
  @inline(__always)
  func wantsNews(of task: AnyWorkflowTask, _ state: borrowing State) -> Bool {
    task.hasHooks || postsEverything || WorkflowNotification.isAnyUsed || task.hasSettings
      || state.hasWatchers
  }

  /// Delivers the news of the workflow, unless another thread does.
  private func tellIfNeeded() {
    let isTeller = change { state in
      defer { state.isTelling = true }
      return !state.isTelling
    }
    var news: ContiguousArray<Delivery> = []
    if isTeller { tell(&news) }
  }

  /// Continues the delivery that a start hook held up, after the worker has called the
  /// hook.
  func wasCalled(_ hook: StartHook) {
    if var news = hook.wasCalled() { tell(&news, isOwn: false) }
  }

  /// Whether delivering the news calls delegates, which may be slow.
  ///
  /// Streams and counters are fast. A notification center calls its observers on the
  /// posting thread or on a queue of theirs, as they have chosen.
  private func callsDelegates(_ news: borrowing ContiguousArray<Delivery>) -> Bool {
    read { $0.delegate != nil } || news.contains(where: \.isForDelegate)
  }

  /// Whether the calling thread runs tasks and therefore should not call delegates.
  private var isThreadAtWork: Bool {
    guard WorkflowThread.existing != nil else { return false }
    return WorkflowThread.isAtWork(for: self, isInline: read { $0.pools[0].isSynchronous })
  }

  /// Delivers the news on a thread that has no other work.
  ///
  /// - Parameter isForHooks: Whether to call hooks for this news, too.
  private func tellElsewhere(_ news: ContiguousArray<Delivery>, isForHooks: Bool) {
    NewsThreads.call { [workflow] in
      var news = news
      withExtendedLifetime(workflow) { self.tell(&news, isOwn: false, isForHooks: isForHooks) }
    }
  }

  /// Delivers all news of the workflow, on one thread at a time.
  ///
  /// A thread that runs tasks leaves calls of delegates to another thread: a delegate may
  /// be slow, and may wait for the task that this thread has begun. Such a thread calls
  /// hooks only for its own changes. In a synchronous context, the call that starts the
  /// work also delivers the news before it returns.
  ///
  /// - Parameters:
  ///   - news: The first news to deliver. Its buffer is reused.
  ///   - isOwn: Whether this thread made the changes that the news reports.
  ///   - isForHooks: Whether to call hooks for the first news, too.
  private func tell(
    _ news: inout ContiguousArray<Delivery>, isOwn: Bool = true, isForHooks: Bool = true
  ) {
    let isAtWork = isThreadAtWork
    var isForHooks = isForHooks
    if isAtWork, callsDelegates(news) || (!isOwn && news.contains(where: \.isForHook)) {
      let callsHooks = isOwn && !news.contains(where: \.hasStartHook)
      if callsHooks { for item in news { callHook(for: item) } }
      return tellElsewhere(news, isForHooks: !callsHooks)
    }
    // Declared outside the loop: the last reference must not be released with the lock
    // held.
    var (kept, released): (Workflow?, Workflow?)
    defer { withExtendedLifetime((kept, released)) {} }
    var spawns: [PoolReference] = []
    var ending: [Workflow] = []
    while true {
      for index in news.indices {
        let item = news[index]
        if case .started(_, let hook?) = item, hook.holdsUp(news[index...]) { return }
        if isForHooks { callHook(for: item) }
        tellObservers(item)
      }
      isForHooks = true
      news.removeAll(keepingCapacity: news.capacity <= 1024)
      let rest: Rest? = change { state in
        if !state.news.isEmpty {
          swap(&news, &state.news)
          return nil
        }
        if state.comesToRest, !waitsForNewsInside(state, &kept), let rest = comesToRest(&state) {
          return rest
        }
        state.isTelling = false
        if !state.mustBeKept { released = state.keptAlive.take() }
        swap(&spawns, &state.spawnsAfterTelling)
        swap(&ending, &state.endingAfterTelling)
        // The next delivery reuses the buffer.
        swap(&news, &state.news)
        return nil
      }
      if let rest { tell(rest) } else if news.isEmpty { break }
      if isAtWork, callsDelegates(news) || news.contains(where: \.isForHook) {
        return tellElsewhere(news, isForHooks: true)
      }
    }
    for pool in spawns { pool.core.spawn(pool.pool) }
    // Deferred, because workflows may be nested deeply.
    for outer in ending { WorkflowThread.current.call { outer.core.tellIfNeeded() } }
  }
}
