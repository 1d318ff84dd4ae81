import Foundation
import Futures

// Workers, and the tasks that wait for a worker.

extension WorkflowCore {
  /// With the lock held: hands a task to its context.
  @inline(__always)
  func enqueue(_ index: TaskIndex, _ state: inout State, _ effects: inout Effects) {
    let node = state.graph[index]
    let pool = Int(node.pool)
    if state.graph.list(index) { state.pools[pool].ready.append(index, priority: node.priority) }
    ensureWorkers(pool, &state, &effects)
  }

  /// With the lock held: makes sure that a worker comes for the ready tasks of a pool.
  ///
  /// - Returns: Whether a worker of the pool will ask for a task.
  @inline(__always)
  @discardableResult
  func ensureWorkers(_ pool: Int, _ state: inout State, _ effects: inout Effects) -> Bool {
    guard !state.pools[pool].ready.isEmpty, state.pools[pool].workersInLine == 0,
      hasRoom(for: pool, &state)
    else { return false }
    let frame = WorkflowThread.existing?.frame
    let isOwnWorker = frame.map { $0.core === self && $0.pool == pool } ?? false
    if isOwnWorker {
      if state.pools[pool].isSynchronous { return true }
      if state.pools[pool].ready.count == 1 {
        // This thread is a worker of the pool and will take the task, unless its present
        // work goes on for long or waits for that very task.
        if !state.pools[pool].isWatched {
          state.pools[pool].isWatched = true
          effects.looks.append(
            Look(core: self) { [self] state, effects in
              state.pools[pool].isWatched = false
              ensureWorkersOrGiveUp(pool, &state, &effects)
            })
        }
        return true
      }
    }
    effects.spawn(self, pool, &state)
    return true
  }

  /// With the lock held: does the same for a pool that may be unused, and then frees it.
  @discardableResult
  func ensureWorkersOrGiveUp(
    _ pool: Int, _ state: inout State, _ effects: inout Effects
  ) -> Bool {
    let isWorking = ensureWorkers(pool, &state, &effects)
    if let context = state.pools.giveUp(pool) { effects.garbage.append(context) }
    return isWorking
  }

  /// Queues a worker on the context of a pool.
  ///
  /// Some contexts start the worker inside this call, and its tasks may queue the next
  /// worker. To bound the stack, a thread inside many workers starts further workers one
  /// after the other.
  func spawn(_ pool: Int) {
    let context = read { $0.pools[pool].context }
    let worker = Worker(of: self, pool: pool, on: context)
    guard !context.isQueue, let thread = WorkflowThread.existing, let frame = thread.frame,
      frame.depth >= Worker.deepest
    else { return worker.handOver() }
    thread.call { worker.handOver() }
  }

  /// Notes that a worker waits until this thread is no longer inside the call that has started
  /// another one.
  ///
  /// It stays in line. The worker that needs it takes the tasks meanwhile.
  func workerWaits(pool: Int) { change { $0.pools[pool].isSynchronous = true } }

  /// Notes that the context has started a worker.
  ///
  /// A context may start some operations inside the call and others on threads of its own, as
  /// a thread pool does whose callers help when it is full. The last worker decides.
  ///
  /// Returns `false` if the worker has nothing to do, because the context started it
  /// inside the very worker that asked for it.
  func workerStarted(pool: Int, isNested: Bool, isInCall: Bool) -> Bool {
    change { state in
      state.pools[pool].workersInLine -= 1
      if isNested || !isInCall { state.pools[pool].isSynchronous = isNested }
      if !isInCall { state.pools[pool].startsElsewhere = true }
      return !isNested
    }
  }

  /// Begins the next ready task for a worker.
  ///
  /// - Parameter end: The time after which the worker begins no more tasks.
  /// - Returns: The task, its run, and the hook that the worker has to call first, if
  ///   any.
  func beginNext(pool: Int, until end: UInt64) -> (AnyWorkflowTask, UInt32, StartHook?)? {
    perform { state, effects in
      let time = WorkflowClock.now
      if time >= end { return nil }
      while !state.pools[pool].ready.isEmpty, hasRoom(for: pool, &state),
        let index = state.pools[pool].ready.popFirst()
      {
        // A task that its hooks hold back is dropped here; `hookWasTold` lists it again.
        guard state.graph.unlist(index, from: pool), !state.isReleased,
          !isHeldByHooks(index, state), state.graph.mayBegin(index),
          state.journal == nil || !removesRecordFirst(index, &state, &effects),
          state.limits.names.isEmpty || takePermit(index, &state, &effects),
          state.graph.begin(index, at: time)
        else { continue }
        if state.isRunNew { (state.isRunNew, state.runBegan) = (false, time) }
        let task = state.tasks[Int(index)]
        if state.journal != nil, let error = errorOfRemoval(index, &state) {
          if wantsNews(of: task, state) { state.news.append(.started(task, nil)) }
          fail(task, with: error, &state, &effects)
          continue
        }
        // This thread cannot deliver the start to the hook before the work begins.
        let hook =
          task.hasHooks && (state.isTelling || !state.news.isEmpty) ? StartHook() : nil
        if wantsNews(of: task, state) { state.news.append(.started(task, hook)) }
        if !state.pools[pool].isSynchronous, state.pools[pool].workersInLine == 0,
          !state.pools[pool].ready.isEmpty, hasRoom(for: pool, &state)
        {
          effects.spawn(self, pool, &state)
        }
        return (task, state.graph[index].run, hook)
      }
      return nil
    }
  }

  /// Ends a worker.
  ///
  /// If it leaves ready tasks behind, queues another one.
  ///
  /// Returns `false` if the other worker would start inside this one. The worker must
  /// then continue itself; otherwise every batch would use more of the stack.
  func workerMayStop(pool: Int) -> Bool {
    func leavesTasks(_ state: inout State) -> Bool {
      // In a synchronous context, the worker in line may wait for this very worker.
      (state.pools[pool].workersInLine == 0 || state.pools[pool].isSynchronous)
        && !state.pools[pool].ready.isEmpty && hasRoom(for: pool, &state)
    }
    return perform { state, effects in
      guard leavesTasks(&state) else {
        // This worker was called for room that it did not need. The next pool gets that
        // room.
        effects.offersRoom = true
        return true
      }
      if state.pools[pool].isSynchronous { return false }
      effects.spawn(self, pool, &state)
      return true
    }
      // The context may just have turned out to be synchronous.
      && change { !$0.pools[pool].isSynchronous || !leavesTasks(&$0) }
  }

  /// Cancels the ready tasks of a pool whose context dropped a worker without starting
  /// it.
  func workerWasDropped(pool: Int) {
    change { $0.pools[pool].workersInLine -= 1 }
    cancelReadyTasks(pool: pool)
  }

  /// Notes that a worker has been released.
  func workerIsGone(pool: Int) {
    // The pool of the workflow itself is never freed.
    if pool == 0 { return }
    _ = change { state in
      state.pools[pool].workerCount -= 1
      return state.pools.giveUp(pool)
    }
  }

  /// Cancels the ready tasks of a pool whose queue was cancelled.
  func cancelReadyTasks(pool: Int) {
    perform { state, effects in
      // A worker may have been called for room. The next pool gets that room.
      effects.offersRoom = true
      var waiting: [TaskIndex] = []
      while let index = state.pools[pool].ready.popFirst() {
        if state.graph.unlist(index, from: pool),
          state.graph[index].flags.contains(.isHandedOver)
        {
          waiting.append(index)
        }
      }
      guard !state.isReleased, !waiting.isEmpty else { return }
      propagate(.cancel, from: waiting, &state, &effects)
    }
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

  /// Whether a queue starts the operations, and so not inside the call.
  var isQueue: Bool {
    switch self {
    case .operationQueue, .dispatchQueue: true
    case .inline, .custom: false
    }
  }
}
