import Foundation
import Futures

// The state that a queue keeps under its lock.

extension TaskQueue {
  struct State {
    var members: [AnyFuture?] = []
    var count = 0
    /// The tasks that have a slot and can have parts, by their cores.
    var slotHolders: [ObjectIdentifier: AnyFuture] = [:]
    /// The epochs between the barriers; only the first epoch runs.
    var epochs = EpochList()
    var firstEpoch = 0
    /// Whether what the last barrier held back is being let go, in its order.
    ///
    /// What comes meanwhile is held back, too.
    var isOpening = false
    /// Whether a group has yet to put members in front of the barriers: none runs before.
    var awaitsMembers = false
    /// The operations that are not tasks and have not finished.
    var operations: [ObjectIdentifier: OtherOperation] = [:]
    /// The tasks that will be added at a later time.
    var later: [ObjectIdentifier: AnyFuture] = [:]
    weak var delegate: (any TaskQueueDelegate)?
    /// The closures that run when the queue is idle.
    var whenIdle: [@Sendable () -> Void] = []
    /// Tasks and operations to be released after unlock.
    var forgotten: [Operation] = []
  }

  /// An operation that is not a task.
  struct OtherOperation {
    let operation: Operation
    let epoch: Int
    /// Whether the operation is counted among the used slots: no barrier holds it back.
    var isCounted: Bool
  }

  /// The epoch to which a task or an operation is added.
  enum Place {
    /// The last one, behind all barriers.
    case last
    /// The first one that has no barrier running.
    case first
    /// That of a task of this queue.
    case besides(TaskCore)
    /// That of an operation that has not finished.
    case besidesOperation(Operation)
    /// The one with this number.
    case epoch(Int)
  }

  /// The tasks and operations between two barriers.
  struct Epoch {
    /// How many of its tasks and operations have not ended, or still work.
    var pending = 0
    /// The tasks that the barrier in front of the epoch blocks, and the operations that are
    /// added to the queue when the epoch begins, in the order in which they came.
    ///
    /// While the epoch begins, what has come meanwhile.
    var held: [Operation] = []
    /// The barrier that ends the epoch.
    var barrier: Operation?
    var isBarrierRunning = false
  }

  /// The epochs of a queue, of which the first one goes at each barrier.
  struct EpochList {
    private var all = [Epoch()]
    private var head = 0

    var count: Int { all.count - head }
    var elements: ArraySlice<Epoch> { all[head...] }
    /// The barriers that end the epochs.
    var barriers: [Operation] { elements.compactMap(\.barrier) }

    subscript(place: Int) -> Epoch {
      get { all[head + place] }
      _modify { yield &all[head + place] }
    }

    mutating func append(_ epoch: Epoch) { all.append(epoch) }

    mutating func removeFirst() -> Epoch {
      let first = all[head]
      all[head] = Epoch()
      head += 1
      // The others usually stay in place.
      if head > 64, head * 2 > all.count {
        all.removeFirst(head)
        head = 0
      }
      return first
    }
  }

  /// What becomes possible when a task or an operation of the queue ends.
  struct Next {
    /// The barrier that is due now.
    let barrier: Operation?
    /// The closures to run now, if the queue is idle.
    let whenIdle: [@Sendable () -> Void]
    /// Tasks and operations to be released after unlock.
    let forgotten: [Operation]
  }
}

extension TaskQueue.State {
  /// Whether the queue has no task, no operation and no waiting barrier.
  var isIdle: Bool { count == 0 && epochs.count == 1 && epochs[0].pending == 0 }

  /// The operations that cannot run before the first epoch has ended, and the barriers.
  ///
  /// The tasks know it themselves: see `TaskQueue.holdsBack(_:)`.
  var heldByBarriers: [Operation] {
    // They are being let go.
    let first = Set(epochs[0].held.map { ObjectIdentifier($0) })
    return operations.filter { !$0.value.isCounted && !first.contains($0.key) }
      .map(\.value.operation) + epochs.barriers
  }

  /// Takes an operation out of those that a barrier holds back; `false` if it is not among
  /// them any more.
  mutating func takeHeld(_ operation: Operation) -> Bool {
    let id = ObjectIdentifier(operation)
    guard operations[id]?.isCounted == false else { return false }
    operations[id] = nil
    return true
  }

  /// Drops what has ended behind the barrier of an epoch, if there is much of it.
  ///
  /// Returns the old list, for a release after unlock.
  private mutating func takeEnded(from place: Int) -> [Operation] {
    let (all, pending) = (epochs[place].held, epochs[place].pending)
    guard all.count > 64, all.count > pending * 2 else { return [] }
    epochs[place].held = all.filter(isPending)
    return all
  }

  /// Whether a task or an operation that a barrier holds back has yet to end.
  ///
  /// A future may finish behind the barrier.
  func isPending(_ held: Operation) -> Bool {
    if let task = held as? AnyFuture, task.taskCore != nil { return !task.isSettled }
    return operations[ObjectIdentifier(held)] != nil
  }

  /// The number of the last epoch.
  var lastEpoch: Int { firstEpoch + epochs.count - 1 }

  /// The index of the epoch that a new task or operation belongs to: the last one if the wanted
  /// one has ended.
  private func index(of place: TaskQueue.Place) -> Int {
    let last = epochs.count - 1
    if last == 0 { return last }
    let epoch: Int? =
      switch place {
      case .last: nil
      case .first: epochs[0].isBarrierRunning ? firstEpoch + 1 : firstEpoch
      case .besides(let other): other.membership.epoch
      case .besidesOperation(let other): operations[ObjectIdentifier(other)]?.epoch
      case .epoch(let number): number
      }
    guard let index = epoch.map({ $0 - firstEpoch }), index >= 0, index < last,
      !epochs[index].isBarrierRunning
    else { return last }
    return index
  }

  /// Adds a task or an operation to its epoch; returns the epoch, and whether a barrier holds it
  /// back.
  mutating func enter(
    _ operation: Operation, at place: TaskQueue.Place
  ) -> (epoch: Int, isHeld: Bool) {
    let index = index(of: place)
    let isHeld = index > 0 || isOpening
    epochs[index].pending += 1
    if isHeld { epochs[index].held.append(operation) }
    return (firstEpoch + index, isHeld)
  }

  /// Removes and returns what the last barrier has held back, and what of it has not ended;
  /// if that is nothing, the first epoch is open.
  mutating func takeAllHeld() -> (all: [Operation], pending: [Operation]) {
    let all = epochs[0].held
    let pending = all.filter(isPending)
    epochs[0].held = []
    for operation in pending { operations[ObjectIdentifier(operation)]?.isCounted = true }
    isOpening = !pending.isEmpty
    return (all, pending)
  }

  /// A task or an operation of an epoch is done; returns what becomes possible.
  mutating func leave(epoch: Int) -> TaskQueue.Next {
    let place = epoch - firstEpoch
    if place >= 0, place < epochs.count {
      epochs[place].pending -= 1
      forgotten += takeEnded(from: place)
    }
    return takeNext()
  }

  /// Removes and returns the barrier that is due, and the closures to run if the queue is
  /// idle.
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

  private mutating func barrierIfDue() -> Operation? {
    guard epochs[0].pending == 0, !epochs[0].isBarrierRunning, !isOpening, !awaitsMembers,
      let barrier = epochs[0].barrier
    else { return nil }
    epochs[0].isBarrierRunning = true
    return barrier
  }

  /// Closes the gaps of tasks that have gone, if there are many.
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
