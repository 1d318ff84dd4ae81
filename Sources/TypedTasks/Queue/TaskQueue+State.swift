import Foundation
import Futures

// What a queue keeps under its lock.

extension TaskQueue {
  struct State {
    var members: [AnyFuture?] = []
    var count = 0
    /// Between two barriers each; only the first one runs.
    var epochs = [Epoch()]
    var firstEpoch = 0
    var earlySlots = 0
    var delegate: WeakDelegate?
    var idleWaiters: [BlockingSemaphore] = []
  }

  /// Everything that came between two barriers.
  struct Epoch {
    /// How many tasks and operations of it have not finished.
    var pending = 0
    /// What was ready before its time.
    var held: [Held] = []
    /// What ends it.
    var barrier: BlockOperation?
    var isBarrierRunning = false
  }

  enum Held {
    case task(Continuation, TaskCore)
    case operation(Operation)
  }

  /// What the end of something in the queue makes possible.
  struct Next {
    /// The barrier that it was the last to be waited for by.
    let barrier: BlockOperation?
    /// Those who wait for the queue to be empty, if it is.
    let idleWaiters: [BlockingSemaphore]
  }

  final class WeakDelegate: @unchecked Sendable {
    // Sendable: never written after init.
    private(set) weak var delegate: (any TaskQueueDelegate)?
    init(_ delegate: any TaskQueueDelegate) { self.delegate = delegate }
  }
}

extension TaskQueue.State {
  /// Whether no task is there and no barrier waits.
  var isIdle: Bool { count == 0 && epochs.count == 1 }

  /// Which of the epochs a new task belongs to: that of the task that brings it
  /// in, or the last one if there is no such task, or if that one has gone.
  func placeInEpochs(besides parent: TaskCore?) -> Int {
    let last = epochs.count - 1
    guard last > 0, let parent else { return last }
    let place = parent.membership.epoch - firstEpoch
    guard place >= 0, place < last, !epochs[place].isBarrierRunning else { return last }
    return place
  }

  /// One of an epoch is done; returns what that makes possible.
  mutating func leave(epoch: Int) -> TaskQueue.Next {
    let place = epoch - firstEpoch
    if place >= 0, place < epochs.count { epochs[place].pending -= 1 }
    return takeNext()
  }

  /// Hands out the barrier that is due, and those who wait if all is done.
  mutating func takeNext() -> TaskQueue.Next {
    TaskQueue.Next(barrier: barrierIfDue(), idleWaiters: takeIdleWaiters())
  }

  private mutating func takeIdleWaiters() -> [BlockingSemaphore] {
    guard !idleWaiters.isEmpty, isIdle else { return [] }
    defer { idleWaiters = [] }
    return idleWaiters
  }

  private mutating func barrierIfDue() -> BlockOperation? {
    guard epochs[0].pending == 0, !epochs[0].isBarrierRunning, let barrier = epochs[0].barrier
    else { return nil }
    epochs[0].isBarrierRunning = true
    return barrier
  }

  /// Closes the gaps of those who have gone, when there are many.
  mutating func compact() {
    guard members.count > 32, members.count > count * 2 else {
      if count == 0 { members.removeAll(keepingCapacity: true) }
      return
    }
    members.removeAll { $0 == nil }
    for (index, member) in members.enumerated() {
      member?.taskCore?.membership.index = index
    }
  }
}
