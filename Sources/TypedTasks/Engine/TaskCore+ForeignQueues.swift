import Foundation
import Futures

// A task in an operation queue that is no task queue.

extension TaskCore {
  @usableFromInline
  final func join(_ task: AnyFuture, _ queue: OperationQueue) -> Bool {
    if let queue = queue as? TaskQueue { return queue.add(task, implicitly: false) }
    return phase == .created && put(task, in: queue)
  }

  @usableFromInline
  final func startIfIdle(_ task: AnyFuture, in queue: OperationQueue) {
    guard phase == .created else { return }
    if let queue = queue as? TaskQueue {
      queue.add(task, implicitly: true)
    } else if !mayBeInQueue(task) {
      _ = put(task, in: queue)
    }
  }

  /// Queues read this; a queue that is not a task queue may just be taking the
  /// task.
  final func isReady(_ task: AnyFuture) -> Bool {
    let phase = phase
    if phase == .created { return isReadyBeforeEnqueuing(task) }
    return !isTakenBySecondQueue(task) && (phase == .ready || phase == .executing)
  }

  final func adopt(_ task: AnyFuture) {
    willBeEnqueued(task)
    guard enqueue(in: nil, implicitly: false) else { return }
    task.noteEnqueued()
    if isOperator {
      // Nobody tells which queue it is that has the stage.
      let queue = TaskQueue()
      for source in upstreams(of: task) { queue.add(source, implicitly: true) }
    }
    beginWaiting(task, isBlocked: false)
    isNoLongerBusy(with: task)
  }

  /// Whether a queue is starting the task; by hand it is a mistake.
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
    let isForeign = state.withLock { state in
      if state.isForeign || state.machine.phase == .created {
        state.isStartedByForeignQueue = true
        return true
      }
      return false
    }
    guard isForeign else { return }
    if phase == .created { adopt(task) } else { runForeign(task) }
  }

  /// Says that the task is ready, and says it again: a queue that is just
  /// adopting the task does not hear it.
  final func announceReadiness(_ task: AnyFuture, again delay: Double) {
    task.post("isReady")
    placeBecomesReady(task)
    guard delay < 5 else { return }
    DispatchQueue.global().asyncAfter(deadline: .now() + delay) { [weak task] in
      guard let task, let core = task.taskCore, core.phase == .ready,
        !core.state.withLock({ $0.isStartedByForeignQueue })
      else { return }
      core.announceReadiness(task, again: delay * 10)
    }
  }

  final func runForeign(_ task: AnyFuture) {
    let source = isOperator ? task.upstreamFuture ?? task : task
    WorkLoop.current.runInline(.link(task, reading: source))
  }
}

#if !(canImport(Darwin) || PROPERATIONS_AS_ON_DARWIN)

  extension TaskCore {
    @usableFromInline
    final func willBeAdded(_ task: AnyFuture, to queue: OperationQueue) {}

    final func put(_ task: AnyFuture, in queue: OperationQueue) -> Bool {
      queue.addReliably(task)
      return true
    }

    final func isReadyBeforeEnqueuing(_ task: AnyFuture) -> Bool {
      if mayBeInQueue(task) {
        // At once: cancelled before it is adopted, it must not finish before
        // the queue has started it.
        task.noteEnqueued()
        // Not here: a queue may ask under its lock.
        DispatchQueue.global().async { self.adopt(task) }
      }
      return false
    }

    /// Whether a queue has the task, or is taking it.
    final func mayBeInQueue(_ task: AnyFuture) -> Bool { task.isInOperationQueue != false }

    /// Whether a second queue has got a task that runs in the first one: there the task
    /// may only finish when that queue has started it.
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
