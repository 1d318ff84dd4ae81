import Foundation
import Futures

// A task in an operation queue that is no task queue.

extension TaskCore {
  @usableFromInline
  final func join(_ task: AnyFuture, _ queue: OperationQueue) -> Bool {
    if let queue = queue as? TaskQueue { return queue.add(task, implicitly: false) }
    guard phase == .created else { return false }
    queue.addReliably(task)
    return true
  }

  @usableFromInline
  final func startIfIdle(_ task: AnyFuture, in queue: OperationQueue) {
    guard phase == .created else { return }
    if let queue = queue as? TaskQueue {
      queue.add(task, implicitly: true)
      return
    }
    #if canImport(Darwin)
      // Nothing tells whether an operation queue has it, and a second one traps.
      TaskQueue().add(task, implicitly: true)
    #else
      if !task.isInOperationQueue { queue.addReliably(task) }
    #endif
  }

  /// Queues read this; a queue that is not a task queue may just be taking the
  /// task.
  final func isReady(_ task: AnyFuture) -> Bool {
    let phase = phase
    guard phase == .created else {
      #if !canImport(Darwin)
        // A second queue has got a task that runs in the first one: there the task may
        // only finish when that queue has started it.
        if !state.withLock({ $0.isForeign }), task.isInOperationQueue {
          task.noteEnqueued()
          return false
        }
      #endif
      return phase == .ready || phase == .executing
    }
    #if canImport(Darwin)
      // Nothing tells who asks: the queue's slot is where the task then waits.
      return true
    #else
      if task.isInOperationQueue {
        // At once: cancelled before it is adopted, it must not finish before
        // the queue has started it.
        task.noteEnqueued()
        // Not here: a queue may ask under its lock.
        DispatchQueue.global().async { self.adopt(task) }
      }
      return false
    #endif
  }

  private final func adopt(_ task: AnyFuture) {
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
    #if canImport(Darwin)
      let isQueue = OperationQueue.current != nil
    #else
      let isQueue = task.isBeingStartedByQueue
    #endif
    if isQueue { return true }
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
