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
    /// The operations that are no tasks and have not finished.
    var operations: [ObjectIdentifier: OtherOperation] = [:]
    /// The tasks that are added when their time has come.
    var later: [ObjectIdentifier: AnyFuture] = [:]
    var delegate: WeakDelegate?
    /// What is done when nothing is left.
    var whenIdle: [@Sendable () -> Void] = []
    /// Tasks to be released after unlock.
    var forgotten: [AnyFuture] = []
  }

  /// An operation that is no task.
  struct OtherOperation {
    let operation: Operation
    /// Whether it is counted among those that have, or wait for, a slot.
    var isCounted: Bool
  }

  /// Everything that came between two barriers.
  struct Epoch {
    /// How many tasks and operations of it have not ended, or still work.
    var pending = 0
    /// The tasks that the barrier in front of it blocks.
    var tasks: [AnyFuture] = []
    /// The operations that are added to the queue when it begins.
    var operations: [Operation] = []
    /// What ends it.
    var barrier: BlockOperation?
    var isBarrierRunning = false
  }

  /// What the end of something in the queue makes possible.
  struct Next {
    /// The barrier that it was the last to be waited for by.
    let barrier: BlockOperation?
    /// What is done when nothing is left, if that is so.
    let whenIdle: [@Sendable () -> Void]
    /// Tasks to be released after unlock.
    let forgotten: [AnyFuture]
  }

  final class WeakDelegate: @unchecked Sendable {
    // Sendable: never written after init.
    private(set) weak var delegate: (any TaskQueueDelegate)?
    init(_ delegate: any TaskQueueDelegate) { self.delegate = delegate }
  }
}

extension TaskQueue.Epoch {
  /// Hands out the tasks that were cancelled behind the barrier, when they are many.
  fileprivate mutating func takeSettled() -> [AnyFuture] {
    guard tasks.count > 64, tasks.count > pending * 2 else { return [] }
    let all = tasks
    tasks = all.filter { !$0.isSettled }
    return all
  }
}

extension TaskQueue.State {
  /// Whether no task and no operation is there, and no barrier waits.
  var isIdle: Bool { count == 0 && epochs.count == 1 && epochs[0].pending == 0 }

  /// Which of the epochs a new task belongs to: that of the task that brings it
  /// in, or the last one if there is no such task, or if that one has gone.
  func placeInEpochs(besides parent: TaskCore?) -> Int {
    let last = epochs.count - 1
    guard last > 0, let parent else { return last }
    let place = parent.membership.epoch - firstEpoch
    guard place >= 0, place < last, !epochs[place].isBarrierRunning else { return last }
    return place
  }

  /// Adds a task to its epoch; `true` if a barrier blocks it.
  mutating func enter(_ task: AnyFuture, besides parent: TaskCore?) -> (epoch: Int, isBlocked: Bool)
  {
    let place = placeInEpochs(besides: parent)
    epochs[place].pending += 1
    if place > 0 { epochs[place].tasks.append(task) }
    return (firstEpoch + place, place > 0)
  }

  /// Adds an operation to the last epoch; `true` if a barrier holds it back.
  mutating func enter(_ operation: Operation) -> (epoch: Int, isHeld: Bool) {
    let place = epochs.count - 1
    operations[ObjectIdentifier(operation)] = TaskQueue.OtherOperation(
      operation: operation, isCounted: place == 0)
    epochs[place].pending += 1
    if place > 0 { epochs[place].operations.append(operation) }
    return (firstEpoch + place, place > 0)
  }

  /// One of an epoch is done; returns what that makes possible.
  mutating func leave(epoch: Int) -> TaskQueue.Next {
    let place = epoch - firstEpoch
    if place >= 0, place < epochs.count {
      epochs[place].pending -= 1
      forgotten += epochs[place].takeSettled()
    }
    return takeNext()
  }

  /// Hands out the barrier that is due, and those who wait if all is done.
  mutating func takeNext() -> TaskQueue.Next {
    defer { if !forgotten.isEmpty { forgotten = [] } }
    return TaskQueue.Next(
      barrier: barrierIfDue(), whenIdle: takeWhenIdle(), forgotten: forgotten)
  }

  private mutating func takeWhenIdle() -> [@Sendable () -> Void] {
    guard !whenIdle.isEmpty, isIdle else { return [] }
    defer { whenIdle = [] }
    return whenIdle
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
