import Foundation
import Futures

// A task in an operation queue that is not a `TaskQueue`: a plain queue.

extension TaskCore {
  @usableFromInline
  final func join(_ task: AnyFuture, _ queue: OperationQueue, implicitly: Bool) -> Bool {
    if implicitly, phase != .created { return false }
    if let queue = queue as? TaskQueue { return queue.add(task, implicitly: implicitly) }
    guard phase == .created, !implicitly || !mayBeInQueue(task) else { return false }
    note(foreignQueue: queue)
    return put(task, in: queue)
  }

  /// The queue whose slot a task has that begins to work, if the library knows it.
  ///
  /// A plain queue may have passed the task on to another queue, which runs this thread, unless
  /// the task has waited once more in its slot.
  final var queueOfSlot: OperationQueue? {
    let (home, foreignQueue) = state.withLock { ($0.home, $0.foreignQueue) }
    return home ?? OperationQueue.current ?? foreignQueue
  }

  /// Notes the plain queue whose slot the task needs, so that waits and explanations know it.
  final func note(foreignQueue queue: OperationQueue) {
    state.withLock { if $0.foreignQueue == nil { $0.foreignQueue = queue } }
  }

  /// The value of the task's `isReady`.
  ///
  /// A plain queue that reads it may be taking the task at this moment.
  final func isReady(_ task: AnyFuture) -> Bool {
    let phase = phase
    if phase == .created { return isReadyBeforeEnqueuing(task) }
    return !isTakenBySecondQueue(task) && (phase == .ready || phase == .executing)
  }

  /// Takes in a task that a plain queue has.
  ///
  /// - Parameter isStarted: Whether the queue has started it, and will not do so again.
  final func adopt(_ task: AnyFuture, isStarted: Bool = false) {
    willBeEnqueued(task)
    guard enqueue(task, in: nil, implicitly: false) else { return }
    if !isStarted { task.noteEnqueued() }
    WorkLoop.current.beforeHandlers {
      if isOperator {
        // Nothing tells which queue has the operator.
        let queue = TaskQueue()
        for source in upstreams(of: task) { queue.add(source, implicitly: true) }
      }
      beginWaiting(task, isBlocked: false)
    }
    guard state.withLock({ $0.machine.isNoLongerBusy() }) else { return }
    // The handlers may block, and this thread may take other tasks in.
    DispatchQueue(label: "end of a task").async { WorkLoop.current.resumeDelivery(of: task) }
  }

  /// Whether a queue starts the task.
  ///
  /// A call of `start()` by hand is a mistake.
  final func prepareForeignStart(_ task: AnyFuture) -> Bool {
    if task.isSettled { return true }
    if isBeingStarted(task) { return true }
    if phase == .created {
      fail(task, ProducerTaskError.notEnqueued(task: task.taskName))
    }
    return false
  }

  final func runInForeignQueue(_ task: AnyFuture) {
    guard !task.isSettled else { return }
    let phase: TaskStateMachine.Phase? = state.withLock { state in
      guard state.isForeign || state.machine.phase == .created else { return nil }
      state.foreignStart = .starting
      return state.machine.phase
    }
    guard let phase else { return }
    if phase == .created { adopt(task, isStarted: true) }
    // What is ready now runs here, on the thread whose queue Foundation knows, perhaps only when
    // the closure on top of the stack has returned. What becomes ready later does not.
    state.withLock { if $0.machine.phase != .ready { $0.foreignStart = .started } }
    runForeign(task)
  }

  /// Posts that the task is ready, and posts it again later: another thread that has found
  /// the task not ready may be the last to record that.
  final func announceReadiness(_ task: AnyFuture, again delay: Double) {
    task.postReadiness()
    placeBecomesReady(task)
    guard delay < 5 else { return }
    ReadinessQueue.queue.asyncAfter(deadline: .now() + delay) { [weak task] in
      guard let task, let core = task.taskCore, core.phase == .ready,
        core.state.withLock({ $0.foreignStart == .none })
      else { return }
      core.announceReadiness(task, again: delay * 10)
    }
  }

  /// On the thread for readiness: adopts a task, elsewhere if code of the user runs then.
  ///
  /// As for conditions, each such task has a queue of its own: `willEnqueue()` may block.
  fileprivate final func adoptBesideOthers(_ task: AnyFuture) {
    // A queue reads the readiness of each task again and again.
    guard phase == .created else { return }
    let runsUserCode = hasHook || isOperator || state.withLock { $0.extras != nil }
    if !runsUserCode { return adopt(task) }
    DispatchQueue(label: "adoption of a task").async { self.adopt(task) }
  }

  /// A task in a plain queue is ready.
  final func scheduleInForeignQueue(_ task: AnyFuture) {
    switch state.withLock({ $0.foreignStart }) {
    case .none: announceReadiness(task, again: 0.001)
    case .starting: break
    // Not here: this thread has ended the last wait of the task, and belongs to others.
    case .started: DispatchQueue(label: "start of a task").async { self.runForeign(task) }
    }
  }

  private final func runForeign(_ task: AnyFuture) {
    guard phase == .ready, !passes(task) else { return }
    let source = isOperator ? task.upstreamFuture ?? task : task
    WorkLoop.current.runInline(.link(task, reading: source))
  }
}

extension TaskCore {
  /// Passes the machine an event, and announces what it changes.
  @inline(__always)
  final func change<Action>(
    _ task: AnyFuture, _ event: (inout TaskStateMachine) -> Action
  ) -> Action {
    change(task, event) { $1 }
  }
}

#if !(canImport(Darwin) || PROPERATIONS_AS_ON_DARWIN)

  extension TaskCore {
    @inline(__always)
    final func willChange(
      _ task: AnyFuture, by event: (inout TaskStateMachine) -> Void
    ) -> OperationKeys { [] }

    /// Passes the machine an event.
    ///
    /// Nothing observes its states here.
    ///
    /// - Parameter rest: What belongs to the event; called under the same lock.
    @inline(__always)
    final func change<Action, Outcome>(
      _ task: AnyFuture, _ event: (inout TaskStateMachine) -> Action,
      _ rest: (inout State, Action) -> Outcome
    ) -> Outcome {
      state.withLock { state in
        let action = event(&state.machine)
        return rest(&state, action)
      }
    }

    @usableFromInline
    final func willBeAdded(_ task: AnyFuture, to queue: OperationQueue) {
      if phase == .created { note(foreignQueue: queue) }
    }

    final func put(_ task: AnyFuture, in queue: OperationQueue) -> Bool {
      guard task.prepareForQueue() else { return false }
      queue.addReliably(task)
      task.hasBeenAdded()
      return true
    }

    final func isReadyBeforeEnqueuing(_ task: AnyFuture) -> Bool {
      if mayBeInQueue(task) {
        // At once: a task that is cancelled before it is adopted must not finish before
        // the queue has started it.
        task.noteEnqueued()
        // Not on this thread: a queue may read `isReady` with its lock held.
        ReadinessQueue.queue.async { self.adoptBesideOthers(task) }
      }
      return false
    }

    /// Whether a queue has the task or is taking it.
    final func mayBeInQueue(_ task: AnyFuture) -> Bool { task.isInOperationQueue != false }

    /// Whether a second queue has got a task that runs in its first queue.
    ///
    /// In the second queue the task may finish only after that queue has started it.
    final func isTakenBySecondQueue(_ task: AnyFuture) -> Bool {
      guard !state.withLock({ $0.isForeign }), mayBeInQueue(task) else { return false }
      task.noteEnqueued()
      return true
    }

    final func isBeingStarted(_ task: AnyFuture) -> Bool { task.isBeingStartedByQueue }

    @inline(__always)
    final func placeBecomesReady(_ task: AnyFuture) {}

    @inline(__always)
    final func hasJoinedTaskQueue(_ task: AnyFuture) {}
  }

#endif
