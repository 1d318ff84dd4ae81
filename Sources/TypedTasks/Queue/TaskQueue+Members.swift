import Foundation
import Futures

// Tasks that come and go, and their slots.

extension TaskQueue {
  /// Adds a task and its upstreams.
  ///
  /// A consumer that the user adds waits until the user adds its producer too: the user
  /// may want the producer in another queue. A consumer that comes in because another
  /// task needs it brings its producer along.
  ///
  /// - Parameter place: The place among the barriers. A task that another one brings in is
  ///   besides that one, which may wait for it. A member of the group may come further in front.
  /// - Returns: Whether the task was added; also `true` if the user adds a task that is
  ///   already in a queue, and this is no mistake.
  @discardableResult
  final func add(
    _ task: AnyFuture, implicitly isImplicit: Bool, at place: Place = .last
  ) -> Bool {
    guard let core = task.taskCore else { return false }
    if !core.isOperator, !isImplicit || core.unqueuedProducer == nil {
      let places = places(of: [], before: (task, core), or: place)
      return enqueue(task, core, implicitly: isImplicit, at: places.last ?? place)
    }
    var isAdded = false
    // A handler of one of the tasks may wait for another one.
    WorkLoop.current.beforeHandlers {
      let upstreams = upstreams(of: task, core, implicitly: isImplicit)
      let places = places(of: upstreams, before: (task, core), or: place)
      for (index, (upstream, core)) in upstreams.enumerated() {
        enqueue(upstream, core, implicitly: true, at: places.isEmpty ? place : places[index])
      }
      isAdded = enqueue(task, core, implicitly: isImplicit, at: places.last ?? place)
    }
    return isAdded
  }

  /// The places of tasks that come in together, each after what it needs; none if all have the
  /// given place.
  ///
  /// A member of the group that has not begun goes where the group got it, if that is further in
  /// front. What it needs must not come behind it.
  private final func places(
    of upstreams: [(AnyFuture, TaskCore)], before last: (task: AnyFuture, core: TaskCore),
    or place: Place
  ) -> [Place] {
    guard groupNumber > 0 else { return [] }
    let given =
      switch place {
      case .besides(let other): state.withLock { _ in other.membership.epoch }
      case .epoch(let number): number
      case .last, .first, .besidesOperation: Int.max
      }
    var wanted: [ObjectIdentifier: Int] = [:]
    let places = (upstreams + [last]).reversed().map { task, core in
      let own = core.epochAsMember(in: self) ?? .max
      let epoch = min(given, own, wanted[ObjectIdentifier(task)] ?? .max)
      guard epoch < given else { return place }
      for source in core.isOperator ? core.upstreams(of: task) : core.sources {
        let id = ObjectIdentifier(source)
        wanted[id] = min(epoch, wanted[id] ?? .max)
      }
      return Place.epoch(epoch)
    }
    return places.reversed()
  }

  /// The tasks that come into the queue with a task, each after its own upstreams.
  private final func upstreams(
    of task: AnyFuture, _ core: TaskCore, implicitly isImplicit: Bool
  ) -> [(AnyFuture, TaskCore)] {
    // Without recursion: chains may be long. Each task is visited once, however many paths lead
    // to it. Operators with several upstreams make several paths.
    var stack = [(task: task, core: core, isVisited: false)]
    var seen: Set<ObjectIdentifier>?
    var order: [(AnyFuture, TaskCore)] = []
    while let (current, core, isVisited) = stack.popLast() {
      if isVisited {
        order.append((current, core))
        continue
      }
      if seen?.insert(ObjectIdentifier(current)).inserted == false { continue }
      stack.append((current, core, true))
      guard core.isOperator else {
        if isImplicit || current !== task, let (source, core) = core.unqueuedProducer {
          stack.append((source, core, false))
        }
        continue
      }
      core.willBeEnqueued(current)
      if !core.hasUpstream { seen = seen ?? [] }
      // The stack turns their order round.
      for source in core.upstreams(of: current).reversed() {
        if let core = source.taskCore, core.phase == .created {
          stack.append((source, core, false))
        }
      }
    }
    return order.dropLast()
  }

  @discardableResult
  private final func enqueue(
    _ task: AnyFuture, _ core: TaskCore, implicitly isImplicit: Bool, at place: Place
  ) -> Bool {
    guard core.enqueue(task, in: self, implicitly: isImplicit) else {
      return !isImplicit && reject(task, core)
    }
    core.hasJoinedTaskQueue(task)
    let isBlocked = state.withLock { state in
      let (epoch, isBlocked) = state.enter(task, at: place)
      core.membership = TaskCore.Membership(index: state.members.count, epoch: epoch)
      state.members.append(task)
      state.count += 1
      return isBlocked
    }
    // The task may end meanwhile; its end is told when the task is in the queue.
    defer { core.isNoLongerBusy(with: task) }
    if let error = refusal(of: task, core, at: place) {
      core.leaveBranches(task)
      core.fail(task, error)
      return false
    }
    core.beginWaiting(task, isBlocked: isBlocked)
    return true
  }

  /// Tells the group and the delegate of a new task; returns the error with which the group
  /// or the queue refuses the task, if they do.
  private final func refusal(
    of task: AnyFuture, _ core: TaskCore, at place: Place
  ) -> (any Error)? {
    if isObserved {
      let group = owner.flatMap { $0.willAdd(task) ? nil : $0 }
      // Also of a refused task: the delegate is told of its end.
      if let delegate {
        WorkLoop.current.holdUp(endOf: task) {
          delegate.taskQueue(self, willAdd: core.asTask(task))
        }
      }
      if let group {
        core.state.withLock { $0.isRefusedByGroup = true }
        return ProducerTaskError.groupFinished(group: group.ownerTask?.taskName ?? "")
      }
    }
    // What the tasks of a queue need is let in until the time is up.
    guard let phase = ShutDownQueues.phase(of: self) else { return nil }
    if phase != .over, case .besides = place { return nil }
    return ProperationsError.queueIsShutDown(queue: nameInErrors)
  }

  /// Leaves a task alone that is already in a queue or has ended, and tells the delegate.
  ///
  /// `true` if adding it is no mistake: then the delegate is not told.
  private final func reject(_ task: AnyFuture, _ core: TaskCore) -> Bool {
    // The library has added it as an upstream of another task; now the user adds it. When the
    // task has ended, its queue is not known any more.
    if core.becomesExplicit() {
      let home = core.home
      if home === self || (home == nil && task.isSettled && !core.isMember) { return true }
    }
    // It had its result before it was added, or was cancelled meanwhile. A thread that cancels
    // it may not have settled it yet.
    let (wasEnqueued, hasEnded) = core.state.withLock { state in
      (state.machine.wasEnqueued, state.machine.phase == .ended)
    }
    let isCancelled = task.isSettled ? task.outcome == .cancelled : hasEnded
    if isCancelled || (task.isSettled && !wasEnqueued) { return true }
    if let delegate {
      let error = ProducerTaskError.alreadyEnqueued(task: task.taskName)
      delegate.taskQueue(self, didReject: core.asTask(task), error: error)
    }
    return false
  }

  /// The task has settled, and its handlers have been called.
  ///
  /// - Parameter isOver: Whether its work has returned too.
  final func taskHasConcluded(_ task: AnyFuture, _ core: TaskCore, isOver: Bool) {
    if isObserved {
      let task = core.asTask(task)
      // A hook that adds a task for each that has failed would never come to an end.
      if !core.state.withLock({ $0.isRefusedByGroup }) { owner?.memberDidFinish(task) }
      delegate?.taskQueue(self, didFinish: task)
    }
    let next = state.withLock { state in
      state.members[core.membership.index] = nil
      state.count -= 1
      state.compact()
      return isOver ? state.leave(epoch: core.membership.epoch) : state.takeNext()
    }
    goOn(with: next)
  }

  /// The work of a concluded task has returned.
  final func workHasEnded(_ core: TaskCore) {
    goOn(with: state.withLock { $0.leave(epoch: core.membership.epoch) })
  }

  // MARK: Slots and operations

  /// Whether no barrier keeps a task from running.
  final func isOpen(for core: TaskCore) -> Bool {
    state.withLock { core.membership.epoch <= $0.firstEpoch }
  }

  /// Asks the operation queue for a slot.
  final func addSlot(for job: Continuation) {
    if slots.isAnyHeld { giveSlotsBack(for: job.future) }
    // The operation is ready, so no readiness can get lost.
    SchedulingPoints.handOff()
    slots.add()
    super.addOperation(
      BatchOperation(job, on: .operationQueue(self)) { [slots] in slots.remove() })
  }

  /// Notes that a task which can have parts has a slot.
  final func holdsSlot(_ task: AnyFuture, _ core: TaskCore) {
    state.withLock { $0.slotHolders[ObjectIdentifier(core)] = task }
    slots.holds()
    // The task may have ended meanwhile, and given its slot back.
    if core.state.withLock({ $0.slot == nil }) { hasGivenBackSlot(core) }
  }

  /// Notes that a task has given its slot back.
  final func hasGivenBackSlot(_ core: TaskCore) {
    let task = state.withLock { $0.slotHolders.removeValue(forKey: ObjectIdentifier(core)) }
    if task != nil { slots.stopsHolding() }
  }

  /// Lets groups give their slots back, because they wait for a task that asks for a slot.
  private final func giveSlotsBack(for task: AnyFuture) {
    // In most cases nothing waits for the task.
    if Graph.isAwaited(task, onlyBy: task) || !BlockedQueues.areAllSlotsBlocked(of: self) {
      return
    }
    for group in slotHolders where Graph.closesCycle(task, waitingFor: group) {
      // From the members: one whose closure blocks its thread is told by itself.
      if let core = group.taskCore { core.giveSlotBack(ifNeededFor: core.parts) }
    }
  }

  /// Adds an operation that is not a task; cancels it if the queue is shut down.
  final func addUnlessShutDown(_ operation: Operation) {
    // The library's own operations are refused where the user's work comes in.
    guard isShutDown, !(operation is PlaceholderOperation) else {
      return addRaw(operation, at: place(for: operation))
    }
    if operation.isFinished { return }
    // The queue lets the operation finish without doing its work. A future that has finished
    // cannot be added.
    if operation is AnyFuture {
      addRaw(operation, at: .last)
      operation.cancel()
    } else {
      // Uncounted: it is no work that the shut-down waits for or lists.
      operation.cancel()
      addNow(operation)
    }
  }

  private final func place(for operation: Operation) -> Place {
    switch operation {
    // Behind a barrier, handlers of a member would wait for the group, which waits for them,
    // and an operator in front of the barrier for a slot behind it.
    case let batch as BatchOperation: batch.isForTask ? .first : .last
    // What a later barrier waits for may need a closure that was waiting in front of it.
    case let occupying as OccupyingOperation:
      occupying.membersLeft.map { .besidesOperation($0) } ?? .last
    default: .last
    }
  }

  /// Adds an operation that is not a task.
  private final func addRaw(_ operation: Operation, at place: Place) {
    let id = ObjectIdentifier(operation)
    let (epoch, isHeld) = state.withLock { state in
      let (epoch, isHeld) = state.enter(operation, at: place)
      state.operations[id] = OtherOperation(
        operation: operation, epoch: epoch, isCounted: !isHeld)
      return (epoch, isHeld)
    }
    // The queue may have been shut down meanwhile, and not have found the operation.
    if !(operation is PlaceholderOperation), ShutDownQueues.phase(of: self) == .over {
      operation.cancel()
    }
    if !isHeld { slots.add() }
    _ = OperationObserver(of: operation) { [self] in
      let (next, last) = state.withLock { state in
        let last = state.operations.removeValue(forKey: id)
        return (state.leave(epoch: epoch), last)
      }
      if last?.isCounted == true { slots.remove() }
      goOn(with: next)
    }
    guard isHeld else { return addNow(operation) }
    // What has settled behind a barrier, as by a cancellation, is not kept until the
    // barrier has finished.
    guard let placeholder = operation as? PlaceholderOperation else { return }
    if let members = placeholder as? PendingMembers {
      return members.whenEmpty { [self, unowned members] in finishIfHeld(members) }
    }
    for future in placeholder.occupants {
      let isPending = future.watch { [self] _ in finishIfHeld(placeholder) }
      if !isPending { finishIfHeld(placeholder) }
    }
  }

  private final func finishIfHeld(_ placeholder: PlaceholderOperation) {
    if state.withLock({ $0.takeHeld(placeholder) }) { placeholder.finishUnstarted() }
  }

  /// Adds an operation regardless of barriers.
  final func addNow(_ operation: Operation) {
    // A future may have finished behind a barrier.
    if let future = operation as? AnyFuture, !future.prepareForQueue() { return }
    // Not with `addReliably`, which would call this queue again.
    SchedulingPoints.handOff()
    super.addOperation(operation)
    (operation as? AnyFuture)?.hasBeenAdded()
    repeatReadiness(of: operation)
  }
}

extension TaskQueue: SlotQueue {
  /// The tasks, the other operations and the barriers.
  package final var unfinishedOperations: [Operation] {
    state.withLock { state in
      state.members.compactMap { $0 } + state.operations.values.map(\.operation)
        + state.epochs.barriers
    }
  }

  package final var group: (task: AnyFuture, queue: OperationQueue?)? {
    owner?.ownerTask.map { ($0, $0.taskCore?.home) }
  }

  package final var hasBarriers: Bool { state.withLock { $0.epochs.count > 1 } }

  package final func holdsBack(_ task: AnyFuture) -> Bool {
    guard let core = task.taskCore, core.home === self else { return false }
    return !isOpen(for: core)
  }

  package final var futuresHeldByBarriers: [AnyFuture] {
    state.withLock { $0.heldByBarriers }.flatMap { operation in
      (operation as? AnyFuture).map { [$0] } ?? operation.futuresThatNeedSlots
    }
  }

  /// The groups that execute, and other tasks that wait for parts of them.
  ///
  /// They hold their slots while their members wait.
  package final var slotHolders: [AnyFuture] {
    // In the order in which they were added, so that a search can be repeated.
    let all = state.withLock { state in
      state.slotHolders.values.sorted {
        $0.taskCore!.membership.index < $1.taskCore!.membership.index
      }
    }
    return all.filter { $0.taskCore?.holdsSlotForParts == true }
  }
}
