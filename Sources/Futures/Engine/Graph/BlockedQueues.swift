import Foundation

/// The queues that a waiting thread blocks, and whether the future that it waits for
/// needs one of them.
///
/// An async closure that holds a slot and awaits a future counts as such a thread.
///
/// A future that needs a slot of a queue waits for *any* of its slots. Every slot becomes
/// free in the end, unless its holder waits too: a thread, or a group of tasks whose
/// members wait. Then the search looks at what the holder waits for. The wait cannot end
/// if every path leads back to this thread:
///
///   this thread ─▶ future ─▶ slot of a queue ─▶ all that hold its slots
///        ▲                                                    │
///        └──────────────────── futures ◀──────────────────────┘
///
/// What stands behind a barrier of this thread's queue needs this thread too: the barrier
/// is, or waits for, the operation that this thread runs.
///
/// Anything that the search does not see counts as a way out: a closure that runs, a task
/// that finishes later, an operation that is no future, an `await`.
package struct BlockedQueues {
  /// The reason why the wait cannot end.
  enum Need {
    case certain(name: String)
    case ifSerial(DispatchProbe)
  }

  let thread: BlockedHolder
  private let isMain: Bool
  /// The operation queue whose slot this thread blocks, if its slots are limited.
  private let limitedQueue: OperationQueue?
  /// The operation queue in which this thread runs an operation.
  let current: OperationQueue?
  let dispatchQueues: [DispatchQueue]
  /// Whether this thread runs a task that others wait for, perhaps a group that has a
  /// slot.
  private let isAwaited: Bool
  /// The queues whose slots the groups around an async closure hold, if the slots are
  /// limited.
  private let queuesOfGroups: [OperationQueue]

  init(of thread: BlockedThread, in loop: WorkLoop) {
    self.thread = thread
    isMain = MainQueue.isCurrent
    let current = OperationQueue.current ?? SlotHolder.ofCurrentTask?.queue
    self.current = current
    let limit = current?.maxConcurrentOperationCount ?? 0
    limitedQueue = current !== OperationQueue.main && limit > 0 ? current : nil
    dispatchQueues = loop.batchContexts.compactMap { context in
      guard case .dispatchQueue(let queue) = context, !context.isMain else { return nil }
      return queue
    }
    isAwaited = thread.running.contains { future in
      guard future.behaviour != nil else { return false }
      // Of many, a few are enough: the answer only tells whether a search is worth its time.
      let downstreams = future.storage.downstreams(limit: 64)
      return downstreams.isTruncated || downstreams.futures.contains { $0.behaviour != nil }
    }
    queuesOfGroups = []
  }

  /// The queue in whose slot an async closure awaits.
  init(of body: BlockedHolder, in queue: OperationQueue?) {
    thread = body
    isMain = false
    current = queue
    limitedQueue = queue.flatMap { $0.hasLimitedSlots ? $0 : nil }
    dispatchQueues = []
    isAwaited = false
    queuesOfGroups = queue?.groupsAround.compactMap(\.queue).filter(\.hasLimitedSlots) ?? []
  }

  /// Whether this thread blocks no queue.
  var isEmpty: Bool {
    !isMain && limitedQueue == nil && dispatchQueues.isEmpty && !isAwaited
      && queuesOfGroups.isEmpty && !hasBarrier
  }

  /// Whether a barrier is, or waits for, the operation that this thread runs.
  var hasBarrier: Bool {
    queuesAround.contains { queue in
      (queue as? any SlotQueue)?.hasBarriers
        ?? !queue.futuresBehindBarriers(of: thread.running).isEmpty
    }
  }

  /// Whether a barrier that comes later may wait for the operation that this thread runs.
  var mayGetBarriers: Bool {
    guard let current, current !== OperationQueue.main else { return false }
    return current.hasBarrierOperations || current is any SlotQueue
  }

  /// The queue in which this thread runs an operation, and the queues of the groups around.
  var queuesAround: [OperationQueue] {
    current.map { [$0] + $0.groupsAround.compactMap(\.queue) } ?? []
  }

  /// The threads that block a slot of a queue, with numbers in the order in which they came.
  private struct Holders {
    /// The threads in their order; without a thread where one has gone.
    private var inOrder: [(number: Int, thread: BlockedHolder?)] = []
    private var numbers: [ObjectIdentifier: Int] = [:]
    private(set) var lastNumber = 0

    var count: Int { numbers.count }

    mutating func add(_ thread: BlockedHolder) {
      lastNumber += 1
      inOrder.append((lastNumber, thread))
      numbers[ObjectIdentifier(thread)] = lastNumber
    }

    mutating func remove(_ thread: BlockedHolder) {
      guard let number = numbers.removeValue(forKey: ObjectIdentifier(thread)) else { return }
      inOrder[place(of: number)].thread = nil
      if inOrder.count > 2 * count + 8 { inOrder.removeAll { $0.thread == nil } }
    }

    /// The first threads whose numbers are in a range.
    func first(_ count: Int, in range: ClosedRange<Int>) -> [(number: Int, thread: BlockedHolder)] {
      var some: [(number: Int, thread: BlockedHolder)] = []
      for (number, thread) in inOrder[place(of: range.lowerBound)...] {
        if some.count == count || number > range.upperBound { break }
        if let thread { some.append((number, thread)) }
      }
      return some
    }

    /// The place of the first entry whose number is not smaller.
    private func place(of number: Int) -> Int {
      var (low, high) = (0, inOrder.count)
      while low < high {
        let middle = (low + high) / 2
        if inOrder[middle].number < number { low = middle + 1 } else { high = middle }
      }
      return low
    }
  }

  /// The threads that block a slot of a queue, in the order in which they came.
  ///
  /// They are read a few at a time, because one of the first is a way out in most cases. Those
  /// that come while they are read are left out.
  struct ThreadsInOrder: Sequence, IteratorProtocol {
    private let id: ObjectIdentifier
    private var nextNumber = 1
    private let lastNumber: Int
    private var some: [(number: Int, thread: BlockedHolder)] = []
    private var size = 4

    init(blocking queue: OperationQueue) {
      id = ObjectIdentifier(queue)
      lastNumber = BlockedQueues.threads.withLock { [id] in $0[id]?.lastNumber ?? 0 }
    }

    mutating func next() -> BlockedHolder? {
      if some.isEmpty {
        guard nextNumber <= lastNumber else { return nil }
        size = Swift.min(size * 2, 256)
        some = BlockedQueues.threads.withLock { [id, size, range = nextNumber...lastNumber] in
          $0[id]?.first(size, in: range) ?? []
        }
        // The last one is taken first.
        some.reverse()
        nextNumber = some.first.map { $0.number + 1 } ?? lastNumber + 1
      }
      return some.popLast()?.thread
    }
  }

  private static let threads = Lock<[ObjectIdentifier: Holders]>([:])

  /// The operation queue whose slot this thread blocks.
  var queue: OperationQueue? { isMain ? .main : limitedQueue }

  /// Whether each slot of one of the queues is held by a thread or closure that waits, or by
  /// a group.
  var areAllSlotsBlocked: Bool {
    (limitedQueue.map(Self.areAllSlotsBlocked) ?? false)
      || queuesOfGroups.contains(where: Self.areAllSlotsBlocked)
  }

  /// Whether threads and closures that wait, and groups, hold all slots of a queue.
  package static func areAllSlotsBlocked(of queue: OperationQueue) -> Bool {
    guard queue.hasLimitedSlots else { return false }
    let groups = (queue as? any SlotQueue)?.slotHolders.count ?? 0
    return countOfThreads(blocking: queue) + groups >= queue.maxConcurrentOperationCount
  }

  static func countOfThreads(blocking queue: OperationQueue) -> Int {
    threads.withLock { $0[ObjectIdentifier(queue)]?.count ?? 0 }
  }

  /// Whether a group, which holds a slot of a queue, waits for a slot that cannot become
  /// free without this one.
  ///
  /// - Parameters:
  ///   - parts: The futures that the group waits for.
  ///   - limit: How many futures are looked at, at most. If these tell nothing, the answer
  ///     is no.
  ///   - isClosure: Whether a closure of this future runs. A closure that waits is told by
  ///     itself that the wait cannot end.
  package static func isStuck(
    waitingFor parts: [AnyFuture], with queue: OperationQueue, limit: Int,
    isClosure: (AnyFuture) -> Bool
  ) -> Bool {
    guard areAllSlotsBlocked(of: queue) else { return false }
    let blocked = BlockedQueues(of: BlockedHolder(running: []), in: queue)
    var search = Search(blocked, budget: min(limit, 100_000))
    var (stack, seen) = (parts, Set<ObjectIdentifier>())
    while seen.count < limit, let next = stack.popLast() {
      guard !next.isSettled, seen.insert(ObjectIdentifier(next)).inserted, !isClosure(next)
      else { continue }
      if search.prospectOfSlots(for: next, 0) != .open { return true }
      stack += next.futuresWaitedFor
    }
    return false
  }

  func willBlock() {
    guard let queue else { return }
    Self.threads.withLock { $0[ObjectIdentifier(queue), default: Holders()].add(thread) }
  }

  func hasBlocked() {
    guard let queue else { return }
    let id = ObjectIdentifier(queue)
    // Does not release the thread: this value keeps it.
    Self.threads.withLock { threads in
      threads[id]?.remove(thread)
      if threads[id]?.count == 0 { threads[id] = nil }
    }
  }

  /// Returns what this thread blocks and a future needs, or `nil` if another way is
  /// known.
  ///
  /// - Parameter toFinish: Whether the future also has to finish.
  func need(of future: AnyFuture, toFinish: Bool) -> Need? {
    vainSearch(for: future, toFinish: toFinish, ifGivenUp: false)?.need
  }

  /// Whether a future, from which a path leads to a closure of this thread, cannot settle in
  /// another way.
  ///
  /// If the search gives up before it has found another way, there counts as none.
  func isWithoutWayOut(to future: AnyFuture, toFinish: Bool) -> Bool {
    vainSearch(for: future, toFinish: toFinish, ifGivenUp: true) != nil
  }

  /// Returns the second of two searches that are both in vain; `nil` if one of them is not.
  ///
  /// A search reads one thing after the other, which may never have been so at one time. What
  /// cannot end stays as it is, so a second search finds it too.
  ///
  /// - Parameter isInVainIfGivenUp: Whether a search that has left something out is in vain.
  private func vainSearch(
    for future: AnyFuture, toFinish: Bool, ifGivenUp isInVainIfGivenUp: Bool
  ) -> Search? {
    var last: Search?
    for _ in 0..<2 {
      var search = Search(self)
      let prospect = search.prospect(of: future, toFinish: toFinish)
      guard prospect == .needsThisThread || isInVainIfGivenUp && search.hasGivenUp else {
        return nil
      }
      last = search
    }
    return last
  }
}
