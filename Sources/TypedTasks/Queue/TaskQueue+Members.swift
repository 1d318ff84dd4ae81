import Foundation
import Futures
import Synchronization

// Tasks that come and go, and their slots.

extension TaskQueue {
  /// How many waiting tasks are counted by `operationCount`.
  private static let earlySlotLimit = 8

  /// Adds a task, and what is upstream of it; `false` if it was added before.
  ///
  /// A consumer that the user adds himself waits for him to add its producer,
  /// too: he may want it in another queue. One that comes in because another
  /// task needs it brings its producer along, for nobody else would.
  ///
  /// - Parameter parent: A task of this queue that brings it in, and may wait
  ///   for it: they are on the same side of every barrier.
  @discardableResult
  final func add(
    _ task: AnyFuture, implicitly isImplicit: Bool, besides parent: TaskCore? = nil
  ) -> Bool {
    guard let core = task.taskCore else { return false }
    if !core.isOperator, !isImplicit || core.unqueuedProducer == nil {
      return enqueue(task, core, implicitly: isImplicit, besides: parent)
    }
    // Upstream first, and without recursion: chains may be long.
    var order = [(task, core)]
    var next = 0
    while next < order.count {
      let (current, core) = order[next]
      next += 1
      guard core.isOperator else {
        if isImplicit || next > 1, let source = core.unqueuedProducer { order.append(source) }
        continue
      }
      core.willBeEnqueued(current)
      if core.hasUpstream {
        guard let source = current.upstreamFuture, let core = source.taskCore,
          core.phase == .created
        else { continue }
        order.append((source, core))
      } else {
        for source in core.sources {
          if let core = source.taskCore, core.phase == .created { order.append((source, core)) }
        }
      }
    }
    for (upstream, core) in order.dropFirst().reversed() {
      enqueue(upstream, core, implicitly: true, besides: parent)
    }
    return enqueue(task, core, implicitly: isImplicit, besides: parent)
  }

  @discardableResult
  private final func enqueue(
    _ task: AnyFuture, _ core: TaskCore, implicitly isImplicit: Bool, besides parent: TaskCore?
  ) -> Bool {
    guard core.enqueue(in: self, implicitly: isImplicit) else {
      return isImplicit || reject(task, core)
    }
    state.withLock { state in
      let place = state.placeInEpochs(besides: parent)
      core.membership.index = state.members.count
      core.membership.epoch = state.firstEpoch + place
      state.members.append(task)
      state.count += 1
      state.epochs[place].pending += 1
    }
    // (It may end meanwhile; that is told when it is in.)
    defer { core.isNoLongerBusy(with: task) }
    if isObserved {
      if let owner {
        guard owner.willAdd(task) else {
          core.fail(task, ProducerTaskError.groupFinished(group: owner.ownerTask?.taskName ?? ""))
          return false
        }
      }
      if let delegate { core.tellWillAdd(delegate, self, task) }
    }
    core.beginWaiting(task)
    if core.state.withLock({ $0.machine.isWaiting }) { giveEarlySlot(task, core) }
    return true
  }

  /// The task is in a queue already, or has ended; `true` if that is no mistake.
  private final func reject(_ task: AnyFuture, _ core: TaskCore) -> Bool {
    // The library has added it as another one's upstream; now the user does.
    if core.becomesExplicit(in: self) { return true }
    // It had its result before it was added, or was cancelled meanwhile.
    if task.isSettled,
      task.outcome == .cancelled || !core.state.withLock({ $0.machine.wasEnqueued })
    {
      return true
    }
    let error = ProducerTaskError.alreadyEnqueued(task: task.taskName)
    if core.phase != .executing, !task.isSettled { core.fail(task, error) }
    if let delegate { core.tellDidReject(delegate, self, task, error) }
    return false
  }

  /// The task has settled, and its handlers have been called.
  final func taskHasConcluded(_ task: AnyFuture, _ core: TaskCore) {
    if isObserved {
      if let owner { core.tellMemberFinished(owner, task) }
      if let delegate { core.tellDidFinish(delegate, self, task) }
    }
    let (next, earlySlot) = state.withLock { state in
      state.members[core.membership.index] = nil
      state.count -= 1
      let earlySlot = core.membership.hasEarlySlot.take()
      if earlySlot != nil { state.earlySlots -= 1 }
      state.compact()
      return (state.leave(epoch: core.membership.epoch), earlySlot)
    }
    earlySlot?.fill(nil)
    goOn(with: next)
  }

  // MARK: Slots

  /// Whether a task may run now, as far as barriers go.
  final func isOpen(for core: TaskCore) -> Bool {
    guard hasBarrier.load(ordering: .acquiring) else { return true }
    return state.withLock { core.membership.epoch <= $0.firstEpoch }
  }

  /// Gets a slot for a task that is ready.
  final func admit(_ job: Continuation, core: TaskCore) {
    if hasBarrier.load(ordering: .acquiring) {
      let isHeld = state.withLock { state in
        let place = core.membership.epoch - state.firstEpoch
        guard place > 0 else { return false }
        state.epochs[place].held.append(.task(job, core))
        return true
      }
      if isHeld { return }
    }
    let early: Slot? = state.withLock { state in
      guard let slot = core.membership.hasEarlySlot.take() else { return nil }
      state.earlySlots -= 1
      return slot
    }
    if let early { return early.fill(job) }
    // (It is ready: no readiness can get lost.)
    SchedulingPoints.handOff()
    super.addOperation(Slot(job, of: self))
  }

  /// Lets `operationCount` see the first few of those who wait.
  private final func giveEarlySlot(_ task: AnyFuture, _ core: TaskCore) {
    // An operator waits for what the queue counts already.
    if core.isOperator { return }
    guard state.withLock({ $0.earlySlots < Self.earlySlotLimit }) else { return }
    let slot = Slot(for: task, of: self)
    let isGiven = state.withLock { state in
      guard state.earlySlots < Self.earlySlotLimit, core.membership.hasEarlySlot == nil,
        core.membership.index < state.members.count,
        state.members[core.membership.index] === task
      else { return false }
      state.earlySlots += 1
      core.membership.hasEarlySlot = slot
      return true
    }
    guard isGiven else { return }
    SchedulingPoints.handOff()
    super.addOperation(slot)
    // It may have been filled while the queue adopted it.
    repeatReadiness(of: slot)
    // It may have got another slot just before, or have ended.
    if task.isSettled || !core.state.withLock({ $0.machine.isWaiting }) {
      let unused = state.withLock { state -> Slot? in
        guard core.membership.hasEarlySlot === slot else { return nil }
        core.membership.hasEarlySlot = nil
        state.earlySlots -= 1
        return slot
      }
      unused?.fill(nil)
    }
  }

  /// Adds an operation that is no task.
  final func addRaw(_ operation: Operation) {
    if hasBarrier.load(ordering: .acquiring) {
      let isHeld = state.withLock { state in
        guard state.epochs.count > 1 else { return false }
        state.epochs[state.epochs.count - 1].held.append(.operation(operation))
        state.epochs[state.epochs.count - 1].pending += 1
        return true
      }
      if isHeld {
        countOff(operation, in: state.withLock { $0.firstEpoch + $0.epochs.count - 1 })
        return
      }
    }
    addNow(operation)
  }

  /// Adds an operation whatever barriers there are.
  final func addNow(_ operation: Operation) {
    // (Not by `addReliably`: that would come back here.)
    SchedulingPoints.handOff()
    super.addOperation(operation)
    repeatReadiness(of: operation)
  }
}
