import Foundation
import Futures

// Workers, and the tasks that wait for one.

extension WorkflowCore {
  /// With the lock held: hands a task to its context.
  @inline(__always)
  func enqueue(_ index: TaskIndex, _ state: inout State, _ effects: inout Effects) {
    let node = state.graph[index]
    let pool = Int(node.pool)
    if state.graph.list(index) { state.pools[pool].ready.append(index, priority: node.priority) }
    ensureWorkers(pool, &state, &effects)
  }

  /// With the lock held: sees to it that a worker comes for the ready tasks.
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
        // This thread is a worker and will come for it, unless the work it is
        // in goes on for long, or waits for that very task.
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
    state.pools[pool].expectWorker()
    effects.spawn(self, pool, isLate: state.pools[pool].isSynchronous)
    return true
  }

  /// With the lock held: the same for a pool that perhaps nothing needs any more.
  @discardableResult
  func ensureWorkersOrGiveUp(
    _ pool: Int, _ state: inout State, _ effects: inout Effects
  ) -> Bool {
    let isWorking = ensureWorkers(pool, &state, &effects)
    if let context = giveUp(pool, &state) { effects.garbage.append(context) }
    return isWorking
  }

  /// Puts a worker in line.
  ///
  /// Contexts may start it in this very call, and the next one in the work of its
  /// tasks. So that a chain of them needs no stack, those of a thread that is in many
  /// workers start one after the other.
  func spawn(_ pool: Int) {
    let context = read { $0.pools[pool].context }
    let worker = Worker(of: self, pool: pool, on: context)
    guard let thread = WorkflowThread.existing, let frame = thread.frame else {
      return context.start(worker)
    }
    if frame.depth >= Worker.deepest {
      thread.call { thread.start(worker, on: context) }
    } else {
      thread.start(worker, on: context)
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
      while !state.pools[pool].ready.isEmpty, hasRoom(for: pool, &state),
        let index = state.pools[pool].ready.popFirst()
      {
        // (`hookWasTold` comes back to one that is held.)
        guard state.graph.unlist(index, from: pool), !state.isReleased,
          !isHeldByHooks(index, state), state.graph.mayBegin(index),
          state.limitNames.isEmpty || takePermit(index, &state),
          state.graph.begin(index, at: time)
        else { continue }
        if state.isRunNew { (state.isRunNew, state.runBegan) = (false, time) }
        let task = state.tasks[Int(index)]
        if wantsNews(of: task, state) { state.news.append(.started(task)) }
        if !state.pools[pool].isSynchronous, state.pools[pool].workersInLine == 0,
          !state.pools[pool].ready.isEmpty, hasRoom(for: pool, &state)
        {
          state.pools[pool].expectWorker()
          effects.spawn(self, pool, isLate: false)
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
    func leavesTasks(_ state: inout State) -> Bool {
      !state.pools[pool].ready.isEmpty && state.pools[pool].workersInLine == 0
        && hasRoom(for: pool, &state)
    }
    return perform { state, effects in
      guard leavesTasks(&state) else {
        // Room that this worker was called for, and did not need, is for the next.
        effects.offersRoom = true
        return true
      }
      if state.pools[pool].isSynchronous { return false }
      state.pools[pool].expectWorker()
      effects.spawn(self, pool, isLate: false)
      return true
    }
      // The context may just have turned out to be of that kind.
      && change { !$0.pools[pool].isSynchronous || !leavesTasks(&$0) }
  }

  /// The context has dropped a worker without starting it.
  func workerWasDropped(pool: Int) {
    change { $0.pools[pool].workersInLine -= 1 }
    cancelReadyTasks(pool: pool)
  }

  /// A worker has been released.
  func workerIsGone(pool: Int) {
    // (The pool of the workflow itself stays.)
    if pool == 0 { return }
    _ = change { state in
      state.pools[pool].workerCount -= 1
      return giveUp(pool, &state)
    }
  }

  /// The queue of a pool was cancelled.
  func cancelReadyTasks(pool: Int) {
    perform { state, effects in
      // (Room that a worker was called for is for the next.)
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

  /// With the lock held: the pool of a context.
  ///
  /// Constant time. What is not an object has a pool of its own, and so has a
  /// value each time that it is given.
  func pool(of context: ContextReference, _ state: inout State) -> UInt32 {
    // (The pools keep the objects by whose addresses they are known.)
    if state.poolNumbers.isEmpty { state.poolNumbers[state.pools[0].context.poolIdentity] = 0 }
    let identity = context.poolIdentity
    if let number = state.poolNumbers[identity] { return number }
    let pool = Pool(context: context, isSynchronous: context.isInline)
    let number = state.freePools.popLast() ?? UInt32(state.pools.count)
    if number < state.pools.count {
      state.pools[Int(number)] = pool
    } else {
      state.pools.append(pool)
    }
    state.poolNumbers[identity] = number
    return number
  }

  /// With the lock held: a task runs in another pool from its next start on.
  ///
  /// - Returns: A context that no task needs any more, to be released without the lock.
  func move(_ index: TaskIndex, to pool: UInt32, _ state: inout State) -> ContextReference? {
    let old = state.graph[index].pool
    if pool == old { return nil }
    state.graph.setPool(index, pool)
    if pool > 0 { state.pools[Int(pool)].taskCount += 1 }
    guard old > 0 else { return nil }
    state.pools[Int(old)].taskCount -= 1
    return giveUp(Int(old), &state)
  }

  /// With the lock held: makes the number of a pool free that nothing needs any more.
  ///
  /// - Returns: The context of the pool, to be released without the lock.
  func giveUp(_ pool: Int, _ state: inout State) -> ContextReference? {
    guard pool > 0, state.pools[pool].isUnused else { return nil }
    let context = state.pools[pool].context
    state.poolNumbers[context.poolIdentity] = nil
    state.pools[pool] = Pool(context: .inline, isSynchronous: true)
    state.freePools.append(UInt32(pool))
    return context
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
