import Futures

// How many tasks execute at the same time.
//
// A limit holds for everything inside a workflow: a task takes room of the limit of its
// own workflow and of every limit around it. A workflow knows the nearest of these
// limits, its *limiter*: the workflow itself if it has a limit, otherwise the limiter of
// the workflow around it. Where there is no limit, nothing is counted, however deeply
// workflows are nested. A paused workflow is one whose limit leaves no room.
//
// A pool whose tasks find a limit full enters the line of that limit. When a task gives
// its room back, the first pool in line gets a worker. If that worker finds the next
// limit full, the pool enters the line of that one. A worker may come late or never: its
// queue may be suspended or busy. Room that has not been taken after two milliseconds is
// therefore offered to the next pool, too. A worker that comes too late puts its pool in
// line again.

extension WorkflowCore {
  struct Room {
    /// How many tasks may take room in this workflow and the workflows inside it.
    var maximum = Int.max
    /// How many tasks take room.
    ///
    /// Counted only while there is a limit.
    var taken = 0
    /// The workflow with the nearest limit: this workflow or one around it.
    ///
    /// It therefore exists for as long as it is noted here.
    var limiter: Unmanaged<WorkflowCore>?
    /// How many of the workflow's own tasks the limits have counted.
    var counted = 0
    /// No task may begin, whatever the limit.
    var isPaused = false
    /// The pools that wait for room under this limit.
    var line = FIFO<PoolReference>()
    /// A check whether offered room has been taken is scheduled.
    var isWatched = false

    var hasLimit: Bool { maximum != .max || isPaused }
    /// How many more tasks may begin.
    var free: Int { isPaused ? 0 : maximum - taken }
  }

  // MARK: Asking for room

  /// With the lock held: whether one more task of a pool may execute.
  ///
  /// If not, the pool enters the line of the limit that is full.
  @inline(__always)
  func hasRoom(for pool: Int, _ state: inout State) -> Bool {
    state.room.limiter == nil || hasLimitedRoom(for: pool, &state)
  }

  private func hasLimitedRoom(for pool: Int, _ state: inout State) -> Bool {
    // Tasks that began or ended in this very change are not counted yet.
    let change = state.graph.occupiedCount - state.room.counted
    if state.room.hasLimit, state.room.isFull(after: change) {
      if let pool = getInLine(pool, &state) { state.room.line.append(pool) }
      return false
    }
    var next = Self.limiter(beyond: state)
    while let limiter = next {
      if limiter.state.room.isFull(after: change) {
        if let pool = getInLine(pool, &state) { limiter.state.room.line.append(pool) }
        return false
      }
      next = Self.limiter(beyond: limiter.state)
    }
    return true
  }

  /// Marks a pool as waiting for room.
  ///
  /// - Returns: `nil` if the pool already waits in a line.
  private func getInLine(_ pool: Int, _ state: inout State) -> PoolReference? {
    if state.pools[pool].isWaitingForRoom { return nil }
    state.pools[pool].isWaitingForRoom = true
    return PoolReference(core: self, pool: pool)
  }

  /// The nearest limiter other than the workflow itself.
  private static func limiter(beyond state: borrowing State) -> WorkflowCore? {
    state.room.hasLimit
      ? state.owner?.core.state.room.limiter?.takeUnretainedValue()
      : state.room.limiter?.takeUnretainedValue()
  }

  // MARK: Taking it and giving it back

  /// With the lock held: updates the limits with the number of tasks that take room.
  func countRoom(_ effects: inout Effects) {
    let change = state.graph.occupiedCount - state.room.counted
    state.room.counted += change
    guard state.room.limiter != nil else { return }
    Self.takeRoom(change, &state)
    if change < 0 { offerRoom(&effects) }
  }

  /// With the lock held: changes how much room is taken of all limits.
  static func takeRoom(_ amount: Int, _ state: inout State) {
    if amount == 0 { return }
    if state.room.hasLimit { state.room.taken += amount }
    var next = Self.limiter(beyond: state)
    while let limiter = next {
      limiter.state.room.taken += amount
      next = Self.limiter(beyond: limiter.state)
    }
  }

  /// With the lock held: gives free room to the pools that wait in line.
  func offerRoom(_ effects: inout Effects) {
    var next = state.room.limiter?.takeUnretainedValue()
    while let limiter = next {
      var room = limiter.state.room.free
      // A pool that finds no room after all is in line again.
      var poolCount = limiter.state.room.line.count
      while room > 0, poolCount > 0, let pool = limiter.state.room.line.popFirst() {
        poolCount -= 1
        if pool.ensureWorkers(&effects) { room -= 1 }
      }
      if limiter.state.room.free > 0, !limiter.state.room.line.isEmpty,
        !limiter.state.room.isWatched
      {
        limiter.state.room.isWatched = true
        effects.looks.append(
          Look(core: limiter) { state, effects in
            state.room.isWatched = false
            effects.offersRoom = true
          })
      }
      next = Self.limiter(beyond: limiter.state)
    }
  }

  // MARK: Which limits there are

  /// Changes the workflow's own limit.
  func changeLimit(_ change: (inout Room) -> Void) {
    perform { state, effects in
      let hadLimit = state.room.hasLimit
      change(&state.room)
      if state.room.hasLimit != hadLimit {
        state.room.limiter =
          hadLimit ? state.owner?.core.state.room.limiter : Unmanaged.passUnretained(self)
        let inside = Self.spread(state.room.limiter, over: state.nestings)
        state.room.taken = hadLimit ? 0 : state.room.counted + inside
        effects.clearsLine = hadLimit
      }
      effects.offersRoom = true
    }
  }

  /// With the lock held, after the limit was removed: the pools that waited for it get
  /// workers or enter the line of another limit.
  func clearLine(_ effects: inout Effects) {
    while let pool = state.room.line.popFirst() { pool.ensureWorkers(&effects) }
  }

  /// With the lock held: sets the limiter of inner workflows that have no nearer one.
  ///
  /// - Returns: How much room all of them take.
  @discardableResult
  static func spread(
    _ limiter: Unmanaged<WorkflowCore>?, over nestings: [Nesting]
  ) -> Int {
    var taken = 0
    var next = nestings
    while let inner = next.popLast()?.inner.core {
      if inner.state.room.hasLimit {
        taken += inner.state.room.taken
      } else {
        inner.state.room.limiter = limiter
        taken += inner.state.room.counted
        next += inner.state.nestings
      }
    }
    return taken
  }
}

extension WorkflowCore.Room {
  fileprivate func isFull(after change: Int) -> Bool { free <= change }
}

extension WorkflowCore.PoolReference {
  /// With the lock held, for a pool that was in line: makes sure that a worker comes.
  @discardableResult
  fileprivate func ensureWorkers(_ effects: inout WorkflowCore.Effects) -> Bool {
    core.state.pools[pool].isWaitingForRoom = false
    return core.ensureWorkersOrGiveUp(pool, &core.state, &effects)
  }
}
