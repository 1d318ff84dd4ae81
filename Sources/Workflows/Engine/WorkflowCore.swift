import Foundation
import Futures

/// A workflow without its face: the graph, the tasks and the lock.
///
/// The only place where the lock is taken. Each function takes it, changes the
/// graph, notes what follows in `Effects`, lets go of the lock and carries the
/// effects out:
///
/// 1. workers get in line for ready tasks (after 4, where that means that they
///    work on the spot);
/// 2. the work of runs that have ended otherwise is told to stop;
/// 3. nested workflows get the messages that go on to them;
/// 4. one thread at a time tells the world what has happened, in order. Others
///    leave their news to that thread.
///
/// Who owns whom:
///
///   Workflow ──▶ WorkflowCore ◀── AnyWorkflowTask (each, for good)
///                    │   ▲
///                    │   └────── Worker
///                    ├──▶ the tasks, until the Workflow is released
///                    └──▶ the Workflow, while a task is active
///
/// So a workflow that nobody holds runs to its end, and is then released with
/// its tasks; a task that somebody holds keeps its state and its result.
final class WorkflowCore: @unchecked Sendable {
  // Sendable: everything mutable is in `lock`, but for `workflow`, which is
  // written once by the workflow's init and becomes nil atomically.

  /// Tasks that run in the same context.
  struct Pool {
    let context: ContextReference
    var ready = ReadyList()
    /// Workers that the context has not started.
    var workersInLine = 0
    /// The context starts operations where it is asked to: one worker is
    /// enough, and it must not ask from within itself.
    var isSynchronous: Bool
    /// Somebody will look in two milliseconds whether a worker is missing.
    var isWatched = false
  }

  /// What only some runs have.
  struct RunExtras {
    var run: UInt32
    var stop: [@Sendable () -> Void] = []
    var timer: Future<Void>?
  }

  /// Somebody who waits for the end of a task's run.
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
    var maximumConcurrency = Int.max
    /// `Nesting` has entries of the workflow.
    var hasNestedWorkflows = false
    /// Started, and not yet come to rest.
    var isRunning = false
    /// The workflow, while a task is active.
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
    var spawnsAfterTelling: [Int] = []
    var delegate: WeakWorkflowDelegate?
    var streams: [Int: AsyncStream<WorkflowEvent>.Continuation] = [:]
    var observers: [Int: @Sendable (Delivery) -> Void] = [:]
    var lastObserver = 0
    var progress: WorkflowProgress?
    var outcomes: [Promise<WorkflowOutcome>] = []
    /// Once the workflow was resumed from a journal.
    var journal: CoreJournal?
    /// Those who wait for the end of one task's run.
    var taskWaiters: [TaskIndex: [TaskWaiter]] = [:]
    #if PROPERATIONS_INVARIANTS
      var eventsUntilLongLook = 0
    #endif

    /// The error of a task, if it has failed.
    func error(of task: AnyWorkflowTask) -> (any Error)? {
      errors[task.index] ?? task.keptError?.error(of: task)
    }

    /// Whether anyone but tasks' own delegates and hooks is told.
    var hasWatchers: Bool {
      delegate != nil || !streams.isEmpty || !observers.isEmpty || progress != nil
        || !taskWaiters.isEmpty
    }
  }

  /// What follows from a change, once the lock is free.
  struct Effects {
    var firstSpawn = -1
    var otherSpawns: [Int] = []
    /// Pools whose workers work where they are put in line: after the news.
    var lateSpawns: [Int] = []
    var watch: [Int] = []
    var stopped: [RunExtras] = []
    var passedOn: [() -> Void] = []
    var journal: JournalEffects?
    /// What to tell first, if this thread is the one to tell.
    var news: ContiguousArray<Delivery> = []
    var tells = false
    /// What must not be released under the lock.
    var garbage: [Any] = []
    var released: Workflow?

    mutating func spawn(_ pool: Int, isLate: Bool) {
      if isLate {
        lateSpawns.append(pool)
      } else if firstSpawn < 0 {
        firstSpawn = pool
      } else {
        otherSpawns.append(pool)
      }
    }
  }

  let notificationCenter: NotificationCenter
  /// Post every kind of notification, because the center was given.
  let postsEverything: Bool
  private let lock: Lock<State>
  private(set) weak var workflow: Workflow?

  init(
    context: ContextReference, isSynchronous: Bool, notificationCenter: NotificationCenter,
    postsEverything: Bool
  ) {
    self.notificationCenter = notificationCenter
    self.postsEverything = postsEverything
    lock = Lock(State(pools: [Pool(context: context, isSynchronous: isSynchronous)]))
  }

  /// Called once, by the workflow's init.
  func belongs(to workflow: Workflow) { self.workflow = workflow }

  // MARK: Taking the lock

  /// Looks at the state.
  @inline(__always)
  func read<Value>(_ body: (borrowing State) -> Value) -> Value { lock.withLock { body($0) } }

  /// Changes the state without consequences; returns what must be released.
  @inline(__always)
  func change<Value>(_ body: (inout State) throws -> Value) rethrows -> Value {
    try lock.withLock { state in
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
    let value = try lock.withLock { state in
      let value = try body(&state, &effects)
      conclude(&state, &effects)
      #if PROPERATIONS_INVARIANTS
        state.check()
      #endif
      return value
    }
    carryOut(&effects)
    return value
  }

  /// With the lock held: what every change may have brought about.
  @inline(__always)
  private func conclude(_ state: inout State, _ effects: inout Effects) {
    let isActive = state.graph.activeCount > 0
    if isActive != (state.keptAlive != nil) {
      if isActive { state.keptAlive = workflow } else { effects.released = state.keptAlive.take() }
    }
    if !state.isTelling, !state.news.isEmpty || (!isActive && state.isRunning) {
      state.isTelling = true
      effects.tells = true
      swap(&effects.news, &state.news)
    }
  }

  /// After unlock, on any thread.
  @inline(__always)
  private func carryOut(_ effects: inout Effects) {
    if effects.firstSpawn >= 0 {
      spawn(effects.firstSpawn)
      for pool in effects.otherSpawns { spawn(pool) }
    }
    if !effects.watch.isEmpty { for pool in effects.watch { watch(pool) } }
    if !effects.stopped.isEmpty {
      for extras in effects.stopped {
        extras.timer?.cancel()
        for stop in extras.stop { stop() }
      }
    }
    if !effects.passedOn.isEmpty {
      let thread = WorkflowThread.current
      for pass in effects.passedOn { thread.call(pass) }
    }
    if effects.journal != nil { effects.journal?.carryOut() }
    if effects.tells { tell(&effects.news) }
    for pool in effects.lateSpawns { spawn(pool) }
  }

  // MARK: Workers

  /// With the lock held: hands a task to its context.
  @inline(__always)
  func enqueue(_ index: TaskIndex, _ state: inout State, _ effects: inout Effects) {
    let node = state.graph[index]
    let pool = Int(node.pool)
    if !node.flags.contains(.isListed) {
      state.graph.setListed(index, true)
      state.pools[pool].ready.append(index, priority: node.priority)
    }
    ensureWorkers(pool, &state, &effects)
  }

  /// With the lock held: sees to it that somebody comes for the ready tasks.
  @inline(__always)
  private func ensureWorkers(_ index: Int, _ state: inout State, _ effects: inout Effects) {
    guard !state.pools[index].ready.isEmpty, state.pools[index].workersInLine == 0,
      state.graph.occupiedCount < state.maximumConcurrency
    else { return }
    let frame = WorkflowThread.existing?.frame
    let isOwnWorker = frame.map { $0.core === self && $0.pool == index } ?? false
    if isOwnWorker {
      if state.pools[index].isSynchronous { return }
      if state.pools[index].ready.count == 1 {
        // This thread is a worker and will come for it, unless the work it is
        // in goes on for long, or waits for that very task.
        if !state.pools[index].isWatched {
          state.pools[index].isWatched = true
          effects.watch.append(index)
        }
        return
      }
    }
    state.pools[index].workersInLine += 1
    effects.spawn(index, isLate: state.pools[index].isSynchronous)
  }

  /// With the lock held: there may be room for tasks again.
  @inline(__always)
  func roomHasChanged(_ state: inout State, _ effects: inout Effects) {
    guard state.maximumConcurrency != Int.max else { return }
    for pool in state.pools.indices { ensureWorkers(pool, &state, &effects) }
  }

  /// Puts a worker in line.
  private func spawn(_ pool: Int) {
    let context = read { $0.pools[pool].context }
    context.start(Worker(of: self, pool: pool, on: context))
  }

  private func watch(_ pool: Int) {
    DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(2)) { [self] in
      perform { state, effects in
        state.pools[pool].isWatched = false
        ensureWorkers(pool, &state, &effects)
      }
    }
  }

  /// A worker has been started.
  ///
  /// `false` if there is nothing for it to do, because the context has started
  /// it within the very worker that asked for it.
  func workerStarted(pool: Int, isNested: Bool) -> Bool {
    change { state in
      state.pools[pool].workersInLine -= 1
      if isNested { state.pools[pool].isSynchronous = true }
      return !isNested
    }
  }

  /// A worker asks for a task, which then executes.
  ///
  /// - Parameter end: When the worker has to begin no more.
  func beginNext(pool: Int, until end: UInt64) -> (AnyWorkflowTask, UInt32)? {
    perform { state, effects in
      let time = WorkflowClock.now
      if time >= end { return nil }
      while state.graph.occupiedCount < state.maximumConcurrency,
        let index = state.pools[pool].ready.popFirst()
      {
        state.graph.setListed(index, false)
        // (`hookWasTold` comes back to one that is held.)
        guard !state.isReleased, !isHeldByHooks(index, state),
          state.graph.begin(index, at: time)
        else { continue }
        if state.isRunNew { (state.isRunNew, state.runBegan) = (false, time) }
        let task = state.tasks[Int(index)]
        if wantsNews(of: task, state) { state.news.append(.started(task)) }
        if !state.pools[pool].isSynchronous, state.pools[pool].workersInLine == 0,
          !state.pools[pool].ready.isEmpty,
          state.graph.occupiedCount < state.maximumConcurrency
        {
          state.pools[pool].workersInLine += 1
          effects.spawn(pool, isLate: false)
        }
        return (task, state.graph[index].run)
      }
      return nil
    }
  }

  /// A worker has come to its end; if it leaves tasks behind, another comes.
  ///
  /// `false` if the other would be started within this one: then it must go on
  /// itself, or every batch would take more of the stack.
  func workerMayStop(pool: Int) -> Bool {
    func leavesTasks(_ state: borrowing State) -> Bool {
      !state.pools[pool].ready.isEmpty && state.pools[pool].workersInLine == 0
        && state.graph.occupiedCount < state.maximumConcurrency
    }
    let mayStop = perform { state, effects in
      guard leavesTasks(state) else { return true }
      if state.pools[pool].isSynchronous { return false }
      state.pools[pool].workersInLine += 1
      effects.spawn(pool, isLate: false)
      return true
    }
    // The context may just have turned out to be of that kind.
    return mayStop && read { !$0.pools[pool].isSynchronous || !leavesTasks($0) }
  }

  /// The context has dropped a worker without starting it.
  func workerWasDropped(pool: Int) {
    change { $0.pools[pool].workersInLine -= 1 }
    cancelReadyTasks(pool: pool)
  }

  /// The queue of a pool was cancelled.
  func cancelReadyTasks(pool: Int) {
    perform { state, effects in
      var waiting: [TaskIndex] = []
      while let index = state.pools[pool].ready.popFirst() {
        state.graph.setListed(index, false)
        if state.graph[index].flags.contains(.isHandedOver) { waiting.append(index) }
      }
      guard !state.isReleased, !waiting.isEmpty else { return }
      propagate(.cancel, from: waiting, &state, &effects)
    }
  }

  /// With the lock held: the pool of a context.
  ///
  /// Constant time. What is not an object has a pool of its own, and so has a
  /// value each time that it is given.
  func pool(of context: ContextReference, _ state: inout State) -> UInt32 {
    // (The pools keep the objects by whose addresses they are known.)
    if state.poolNumbers.isEmpty { state.poolNumbers[state.pools[0].context.poolIdentity] = 0 }
    let identity = context.poolIdentity
    if let number = state.poolNumbers[identity] { return number }
    let number = UInt32(state.pools.count)
    state.pools.append(Pool(context: context, isSynchronous: context.isInline))
    state.poolNumbers[identity] = number
    return number
  }

  // MARK: Telling

  /// Whether anyone could want to know what happens to a task.
  @inline(__always)
  func wantsNews(of task: AnyWorkflowTask, _ state: borrowing State) -> Bool {
    task.hasHooks || postsEverything || WorkflowNotification.isAnyUsed || task.hasSettings
      || state.hasWatchers
  }

  /// Tells the world what has happened until nothing is left to tell; on one
  /// thread at a time.
  ///
  /// - Parameter news: What to tell first; its buffer is used again.
  private func tell(_ news: inout ContiguousArray<Delivery>) {
    var spawns: [Int] = []
    while true {
      for item in news { deliver(item) }
      news.removeAll(keepingCapacity: news.capacity <= 1024)
      let rest: Rest? = lock.withLock { state in
        if !state.news.isEmpty {
          swap(&news, &state.news)
          return nil
        }
        if state.isRunning, state.graph.activeCount == 0, let rest = comesToRest(&state) {
          return rest
        }
        state.isTelling = false
        swap(&spawns, &state.spawnsAfterTelling)
        // The next ones to tell find the buffer.
        swap(&news, &state.news)
        return nil
      }
      if let rest { tell(rest) } else if news.isEmpty { break }
    }
    for pool in spawns { spawn(pool) }
  }
}

extension ContextReference {
  /// Asks the context to start an operation.
  func start(_ operation: Operation) {
    switch self {
    case .inline: operation.start()
    case .operationQueue(let queue): queue.addReliably(operation)
    case .dispatchQueue(let queue): queue.async { operation.start() }
    case .custom(let custom): custom.context.execute(operation)
    }
  }

  /// What tasks have in common that share a pool.
  fileprivate var poolIdentity: ObjectIdentifier {
    switch self {
    case .inline: ObjectIdentifier(InlineContext.self)
    case .operationQueue(let queue): ObjectIdentifier(queue)
    case .dispatchQueue(let queue): ObjectIdentifier(queue)
    case .custom(let custom):
      type(of: custom.context) is AnyClass
        ? ObjectIdentifier(custom.context as AnyObject) : ObjectIdentifier(custom)
    }
  }

  /// Whether operations are started where the context is asked to.
  var isInline: Bool {
    if case .inline = self { return true }
    return false
  }
}
