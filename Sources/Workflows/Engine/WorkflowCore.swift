import Foundation
import Futures

/// A workflow without its face: the graph, the tasks and what is told of them.
///
/// Workflows that run inside one another share one lock (see `WorkflowTree`), so what
/// happens in one of them and what follows in the others is one change. Each function
/// takes the lock, changes the graph, notes what follows in `Effects`, lets go of the
/// lock and carries the effects out:
///
/// 1. workers get in line for ready tasks (after 3, where that means that they
///    work on the spot);
/// 2. the work of runs that have ended otherwise is told to stop, futures of tasks settle,
///    and delays before next attempts begin;
/// 3. one thread at a time tells the world what has happened in a workflow, in order.
///    Others leave their news to that thread;
/// 4. tasks around a workflow end as that has ended.
///
/// Who owns whom:
///
///   Workflow ──▶ WorkflowCore ◀── AnyWorkflowTask (each, for good)
///                    │   ▲
///                    │   └────── Worker
///                    ├──▶ the tasks, until the Workflow is released
///                    └──▶ the Workflow, while a task is active or news is told
///
/// So a workflow that nobody holds runs to its end, and is then released with
/// its tasks; a task that somebody holds keeps its state and its result.
final class WorkflowCore: @unchecked Sendable {
  // Sendable: `state` is only touched with the lock of the tree held; `workflow` is
  // written once, by the workflow's init, and becomes nil atomically; the rest never
  // changes.

  /// Tasks that run in the same context.
  struct Pool {
    let context: ContextReference
    var ready = ReadyList()
    /// Workers that the context has not started.
    var workersInLine = 0
    /// The context starts operations where it is asked to: one worker is
    /// enough, and it must not ask from within itself.
    var isSynchronous: Bool
    /// A look is taken soon whether a worker is missing.
    var isWatched = false
    /// It is in the line of a limit.
    var isWaitingForRoom = false
    /// The tasks that run here; not counted in the pool of the workflow itself.
    var taskCount = 0
    /// Workers that exist, or are about to be made.
    var workerCount = 0

    /// Nothing will come back to it by its number.
    var isUnused: Bool {
      taskCount == 0 && workerCount == 0 && ready.isEmpty && !isWatched && !isWaitingForRoom
    }

    /// A worker is about to be put in line.
    mutating func expectWorker() {
      workersInLine += 1
      workerCount += 1
    }
  }

  /// What only some runs have.
  struct RunExtras {
    var run: UInt32
    var stop: [@Sendable () -> Void] = []
    var timer: Future<Void>?
  }

  /// A future of a task, which waits for the end of a run.
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
    /// The pools by their contexts, once a task has a context of its own.
    var poolNumbers: [ObjectIdentifier: UInt32] = [:]
    /// The numbers of pools that were given up.
    var freePools: [UInt32] = []
    var room = Room()
    /// Limits for tasks of this workflow and of those inside, by name.
    var limits: [String: NamedLimit] = [:]
    /// The names of the limits of tasks that have one.
    var limitNames: [TaskIndex: String] = [:]
    /// The limits of tasks that execute and have a permit.
    var permits: [TaskIndex: NamedLimit] = [:]
    /// The workflows that tasks of this one run.
    var nestings: [Nesting] = []
    /// Set while this workflow is the work of a task that is in a workflow.
    var owner: Owner?
    /// It has changed together with another one, which is not yet all.
    var isToConclude = false
    /// Started, and not yet come to rest.
    var isRunning = false
    var failsFast = false
    var timeout: Duration?
    /// The clock of the run that goes on, if it has one.
    var runTimer: Future<Void>?
    /// The workflow, while a task is active, or something has yet to be told.
    var keptAlive: Workflow?

    var calendar = WorkflowClock.Calendar()
    var errors: [TaskIndex: any Error] = [:]
    var extras: [TaskIndex: RunExtras] = [:]
    var attempts: [TaskIndex: TaskAttempts] = [:]
    /// When the first task of the last run began, once one has.
    var runBegan: UInt64 = 0
    /// No task has begun in the run that is going on.
    var isRunNew = false
    var keys: [TaskIndex: [AnyHashable: TaskIndex]] = [:]

    var news: ContiguousArray<Delivery> = []
    var isTelling = false
    /// How often each task has yet to be told, by its hooks, that it was
    /// cancelled, reset or is to be retried; it does not run before.
    var untoldHooks: [TaskIndex: Int] = [:]
    /// Pools whose workers work where they are put in line, and for which the
    /// thread that tells has found something to do.
    var spawnsAfterTelling: [PoolReference] = []
    /// Workflows around this one whose runs have ended, but for what is told here: they
    /// say so afterwards.
    var endingAfterTelling: [Workflow] = []
    var delegate: WeakWorkflowDelegate?
    var streams: Streams = [:]
    /// Streams of the workflows around this one.
    var outerStreams: Streams = [:]
    var progress: WorkflowProgress?
    /// The promises of the outcome of the run, each with a number that grows.
    var outcomes: [ObjectIdentifier: (number: UInt64, promise: Promise<WorkflowOutcome>)] = [:]
    /// Once the workflow was resumed from a journal.
    var journal: CoreJournal?
    /// The futures of tasks that wait for the end of a run, by a number that grows.
    var taskWaiters: [TaskIndex: [UInt64: TaskWaiter]] = [:]
    var lastWaiter: UInt64 = 0
    #if PROPERATIONS_INVARIANTS
      var eventsUntilLongLook = 0
    #endif

    /// The futures that wait for the end of a task's run, which has come; in order.
    mutating func takeWaiters(_ index: TaskIndex) -> [TaskWaiter]? {
      guard !taskWaiters.isEmpty, let waiters = taskWaiters.removeValue(forKey: index) else {
        return nil
      }
      return waiters.sorted { $0.key < $1.key }.map(\.value)
    }

    /// The promises of the outcome, in order.
    mutating func takeOutcomes() -> [Promise<WorkflowOutcome>] {
      defer { outcomes = [:] }
      return outcomes.values.sorted { $0.number < $1.number }.map(\.promise)
    }

    /// The error of a task, if it has failed.
    func error(of task: AnyWorkflowTask) -> (any Error)? {
      errors[task.index] ?? task.keptError?.error(of: task)
    }

    /// Whether the workflow has something to do or to tell.
    var mustBeKept: Bool { graph.activeCount > 0 || isTelling || isRunning || !news.isEmpty }

    /// Whether anyone but tasks' own delegates and hooks is told.
    var hasWatchers: Bool {
      delegate != nil || !streams.isEmpty || !outerStreams.isEmpty || progress != nil
    }
  }

  /// A pool of some workflow of the tree.
  struct PoolReference {
    let core: WorkflowCore
    let pool: Int
  }

  /// A look in two milliseconds, with the lock held, whether what was expected has
  /// happened: that a worker comes, or that room is taken.
  struct Look {
    let core: WorkflowCore
    let body: @Sendable (inout State, inout Effects) -> Void

    /// After unlock.
    func takeSoon() {
      DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(2)) {
        core.perform(body)
      }
    }
  }

  /// What follows from a change, once the lock is free.
  struct Effects {
    var firstSpawn: PoolReference?
    var otherSpawns: [PoolReference] = []
    /// Pools whose workers work where they are put in line: after the news.
    var lateSpawns: [PoolReference] = []
    var looks: [Look] = []
    var stopped: [RunExtras] = []
    var passedOn: [() -> Void] = []
    /// Starts the clocks of the run, and of delays before next attempts.
    var clocks: [() -> Void] = []
    /// Futures of tasks whose runs have ended, and how.
    var waiters: [(TaskWaiter, Delivery)] = []
    var journal: JournalEffects?
    /// What to tell first, if this thread is the one to tell.
    var news: ContiguousArray<Delivery> = []
    var tells = false
    /// Other workflows of the tree that may have something to tell.
    var others: ContiguousArray<WorkflowCore> = []
    /// There may be room that was not taken.
    var offersRoom = false
    /// The limit of the workflow is gone.
    var clearsLine = false
    /// What must not be released under the lock.
    var garbage: [Any] = []
    var released: [Workflow] = []

    /// What the change means for workflows inside or around this one; dealt with
    /// while the lock is still held.
    var steps: ContiguousArray<TreeStep> = []
    /// Other workflows that have changed.
    var changed: ContiguousArray<WorkflowCore> = []

    /// Notes that a workflow has changed beside the one that was asked to.
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
  /// Post every kind of notification, because the center was given.
  let postsEverything: Bool
  let tree = WorkflowTree()
  /// Only to be touched with the lock of the tree held.
  @exclusivity(unchecked) final var state: State
  private(set) weak var workflow: Workflow?

  init(
    context: ContextReference, isSynchronous: Bool, notificationCenter: NotificationCenter,
    postsEverything: Bool
  ) {
    self.notificationCenter = notificationCenter
    self.postsEverything = postsEverything
    state = State(pools: [Pool(context: context, isSynchronous: isSynchronous)])
  }

  /// Called once, by the workflow's init.
  func belongs(to workflow: Workflow) { self.workflow = workflow }

  // MARK: Taking the lock

  /// Looks at the state.
  @inline(__always)
  func read<Value>(_ body: (borrowing State) -> Value) -> Value { tree.withLock { body(state) } }

  /// Changes the state without consequences; returns what must be released.
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

  /// Changes the state and carries out what follows.
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

  /// With the lock held: what every change may have brought about.
  ///
  /// - Returns: Whether the workflow has news that no thread tells.
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
    let comesToRest = state.isRunning && state.graph.activeCount == 0
    return !state.isTelling && (!state.news.isEmpty || comesToRest)
  }

  /// With the lock held: the same for the other workflows that have changed.
  private func concludeOthers(_ effects: inout Effects) {
    // (The list may grow meanwhile: the end of one is news to the one around it.)
    var next = 0
    while next < effects.changed.count {
      let core = effects.changed[next]
      next += 1
      core.state.isToConclude = false
      // (Another thread may tell their news before this one comes to them.)
      if core.conclude(&effects) { effects.others.append(core) }
      #if PROPERATIONS_INVARIANTS
        core.state.check()
      #endif
    }
  }

  /// After unlock, on any thread.
  @inline(__always)
  private func carryOut(_ effects: inout Effects) {
    if let first = effects.firstSpawn {
      first.core.spawn(first.pool)
      for other in effects.otherSpawns { other.core.spawn(other.pool) }
    }
    for look in effects.looks { look.takeSoon() }
    if !effects.stopped.isEmpty {
      for extras in effects.stopped {
        extras.timer?.cancel()
        for stop in extras.stop { stop() }
      }
    }
    if effects.journal != nil { effects.journal?.carryOut() }
    // (Before the news: work may wait for a task, but not for observers.)
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

  // MARK: Telling

  /// With the lock held: notes the end of a run, if observers or futures want to know.
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

  /// Whether anyone could want to know what happens to a task.
  @inline(__always)
  func wantsNews(of task: AnyWorkflowTask, _ state: borrowing State) -> Bool {
    task.hasHooks || postsEverything || WorkflowNotification.isAnyUsed || task.hasSettings
      || state.hasWatchers
  }

  /// Tells the news of the workflow, unless another thread does.
  private func tellIfNeeded() {
    let isTeller = change { state in
      defer { state.isTelling = true }
      return !state.isTelling
    }
    var news: ContiguousArray<Delivery> = []
    if isTeller { tell(&news) }
  }

  /// A worker has called the hook of a task that it has begun: it goes on with the news
  /// that were held up by that.
  func wasCalled(_ hook: StartHook) {
    if var news = hook.wasCalled() { tell(&news, isOwn: false) }
  }

  /// Whether delegates are called, who may take their time.
  ///
  /// (Streams and counters do not, and a notification center calls its observers where it
  /// is told to, in the thread that posts or in a queue of theirs.)
  private func callsDelegates(_ news: borrowing ContiguousArray<Delivery>) -> Bool {
    read { $0.delegate != nil } || news.contains(where: \.isForDelegate)
  }

  /// Whether the calling thread has work to do, so that it should not call delegates.
  private var isThreadAtWork: Bool {
    guard WorkflowThread.existing != nil else { return false }
    return WorkflowThread.isAtWork(for: self, isInline: read { $0.pools[0].isSynchronous })
  }

  /// Has a thread tell the news that has no other work.
  ///
  /// - Parameter isForHooks: Whether hooks are to be called for it, too.
  private func tellElsewhere(_ news: ContiguousArray<Delivery>, isForHooks: Bool) {
    NewsThreads.call { [workflow] in
      var news = news
      withExtendedLifetime(workflow) { self.tell(&news, isOwn: false, isForHooks: isForHooks) }
    }
  }

  /// Tells the world what has happened until nothing is left to tell; on one
  /// thread at a time.
  ///
  /// A thread that is there for the work of tasks leaves it to another one to call
  /// delegates, for they may be slow, and may wait for the task that this thread has begun.
  /// It calls no hooks but for what it has brought about itself. Where work is started in
  /// the call that asks for it, that call tells the news, too, before it returns.
  ///
  /// - Parameters:
  ///   - news: What to tell first; its buffer is used again.
  ///   - isOwn: Whether this thread has brought that about.
  ///   - isForHooks: Whether hooks are to be called for that, too.
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
    // (Out here: the last reference must not go with the lock held.)
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
        if state.isRunning, state.graph.activeCount == 0, !waitsForNewsInside(state, &kept),
          let rest = comesToRest(&state)
        {
          return rest
        }
        state.isTelling = false
        if !state.mustBeKept { released = state.keptAlive.take() }
        swap(&spawns, &state.spawnsAfterTelling)
        swap(&ending, &state.endingAfterTelling)
        // The next ones to tell find the buffer.
        swap(&news, &state.news)
        return nil
      }
      if let rest { tell(rest) } else if news.isEmpty { break }
      if isAtWork, callsDelegates(news) || news.contains(where: \.isForHook) {
        return tellElsewhere(news, isForHooks: true)
      }
    }
    for pool in spawns { pool.core.spawn(pool.pool) }
    // (Not in this call: workflows may be nested deeply.)
    for outer in ending { WorkflowThread.current.call { outer.core.tellIfNeeded() } }
  }
}
