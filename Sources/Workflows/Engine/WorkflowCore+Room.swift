import Futures

// How many tasks execute at the same time.
//
// A limit holds for all that is inside: a task takes room of the limit of its own
// workflow, and of every limit around it. A workflow knows the nearest of them, its
// *limiter*: itself, if it has a limit, or else that of the workflow around it. So
// where there is no limit nothing is counted, however deep workflows are nested. A
// workflow that is paused is one whose limit leaves no room.
//
// A pool whose tasks find a limit full gets in the line of that limit. When a task
// gives its room back, the first pool in line gets a worker. If that finds the next
// limit full, it gets in line there. A worker may come late, or not at all: its queue
// may be suspended, or busy. So room that has not been taken after two milliseconds is
// offered to the next pool, too; a worker that comes too late gets in line again.

extension WorkflowCore {
  struct Room {
    /// How many tasks may take room in this workflow and those inside.
    var maximum = Int.max
    /// How many do; counted only where there is a limit.
    var taken = 0
    /// The workflow whose limit is the nearest; it is this one, or around this one, so
    /// it exists for as long as it is noted here.
    var limiter: Unmanaged<WorkflowCore>?
    /// How many of the workflow's own tasks the limits know of.
    var counted = 0
    /// Nothing may begin, whatever the limit.
    var isPaused = false
    /// The pools that wait for room under this limit.
    var line = FIFO<PoolReference>()
    /// A look is taken soon whether room that was offered has been taken.
    var isWatched = false

    var hasLimit: Bool { maximum != .max || isPaused }
    /// How many more tasks may begin.
    var free: Int { isPaused ? 0 : maximum - taken }
  }

  // MARK: Asking for room

  /// With the lock held: whether one more task of a pool may execute.
  ///
  /// If not, the pool waits in the line of the limit that is full.
  @inline(__always)
  func hasRoom(for pool: Int, _ state: inout State) -> Bool {
    state.room.limiter == nil || hasLimitedRoom(for: pool, &state)
  }

  private func hasLimitedRoom(for pool: Int, _ state: inout State) -> Bool {
    // (What has begun or ended in this very change is not counted yet.)
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

  /// - Returns: `nil` if the pool is in a line.
  private func getInLine(_ pool: Int, _ state: inout State) -> PoolReference? {
    if state.pools[pool].isWaitingForRoom { return nil }
    state.pools[pool].isWaitingForRoom = true
    return PoolReference(core: self, pool: pool)
  }

  /// The nearest limiter that is not the workflow itself.
  private static func limiter(beyond state: borrowing State) -> WorkflowCore? {
    state.room.hasLimit
      ? state.owner?.core.state.room.limiter?.takeUnretainedValue()
      : state.room.limiter?.takeUnretainedValue()
  }

  // MARK: Taking it and giving it back

  /// With the lock held: tells the limits how many tasks of the workflow take room.
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

  /// With the lock held: pools that wait in line get what room there is.
  func offerRoom(_ effects: inout Effects) {
    var next = state.room.limiter?.takeUnretainedValue()
    while let limiter = next {
      var room = limiter.state.room.free
      while room > 0, let pool = limiter.state.room.line.popFirst() {
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

  /// With the lock held, when there is no limit any more: the pools that wait for it get
  /// workers, or get in the line of another one.
  func clearLine(_ effects: inout Effects) {
    while let pool = state.room.line.popFirst() { pool.ensureWorkers(&effects) }
  }

  /// With the lock held: sets the limiter of workflows inside that have no nearer one.
  ///
  /// - Returns: How much room is taken in all of them.
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
  /// With the lock held, for a pool that was in line.
  @discardableResult
  fileprivate func ensureWorkers(_ effects: inout WorkflowCore.Effects) -> Bool {
    core.state.pools[pool].isWaitingForRoom = false
    return core.ensureWorkersOrGiveUp(pool, &core.state, &effects)
  }
}
