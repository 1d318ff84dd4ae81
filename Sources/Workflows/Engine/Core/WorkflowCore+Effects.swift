import Futures

// What follows from a change: noted with the lock held, carried out without it.

extension WorkflowCore {
  /// A pool of one of the workflows in the tree.
  struct PoolReference {
    let core: WorkflowCore
    let pool: Int
  }

  /// A delayed check that something expected has happened: that a worker has started, or
  /// that offered room has been taken.
  ///
  /// It is made after two milliseconds, with the lock held.
  struct Look {
    let core: WorkflowCore
    let body: @Sendable (inout State, inout Effects) -> Void

    /// After unlock: schedules the check.
    func takeSoon() { NewsThreads.lookSoon { core.perform(body) } }
  }

  /// The consequences of a change, carried out after unlock.
  struct Effects {
    var firstSpawn: PoolReference?
    var otherSpawns: [PoolReference] = []
    /// Pools with contexts of the user: such a context may run the worker inside the call, and
    /// its tasks may wait for what the other effects start or end.
    var customSpawns: [PoolReference] = []
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

    /// With the lock held: notes that a pool needs a worker.
    mutating func spawn(_ core: WorkflowCore, _ pool: Int, _ state: inout State) {
      state.pools[pool].workersInLine += 1
      state.pools[pool].workerCount += 1
      let reference = PoolReference(core: core, pool: pool)
      if state.pools[pool].isSynchronous {
        lateSpawns.append(reference)
      } else if !state.pools[pool].context.isQueue, !state.pools[pool].startsElsewhere {
        customSpawns.append(reference)
      } else if firstSpawn == nil {
        firstSpawn = reference
      } else {
        otherSpawns.append(reference)
      }
    }
  }

  // MARK: Carrying them out

  /// After unlock, on any thread: carries out the effects.
  @inline(__always)
  func carryOut(_ effects: inout Effects) {
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
    for pool in effects.customSpawns { pool.core.spawn(pool.pool) }
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
}
