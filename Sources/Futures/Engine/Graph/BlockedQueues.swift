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
      (queue as? any SlotQueue)?.hasBarriers ?? !queue.futuresBehindBarriers.isEmpty
    }
  }

  /// The queue in which this thread runs an operation, and the queues of the groups around.
  var queuesAround: [OperationQueue] {
    current.map { [$0] + $0.groupsAround.compactMap(\.queue) } ?? []
  }

  /// The threads that block a slot of a queue.
  private struct Holders {
    /// The threads by identity, each with its number in the order in which they came.
    var all: [ObjectIdentifier: (number: Int, thread: BlockedHolder)] = [:]
    var lastNumber = 0

    mutating func add(_ thread: BlockedHolder) {
      lastNumber += 1
      all[ObjectIdentifier(thread)] = (lastNumber, thread)
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
    let count = threads.withLock { $0[ObjectIdentifier(queue)]?.all.count ?? 0 }
    return count + groups >= queue.maxConcurrentOperationCount
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
      threads[id]?.all[ObjectIdentifier(thread)] = nil
      if threads[id]?.all.isEmpty == true { threads[id] = nil }
    }
  }

  static func threads(blocking queue: OperationQueue) -> [BlockedHolder] {
    let holders = threads.withLock { $0[ObjectIdentifier(queue)]?.all ?? [:] }
    return holders.values.sorted { $0.number < $1.number }.map(\.thread)
  }

  /// Returns what this thread blocks and a future needs, or `nil` if another way is
  /// known.
  ///
  /// - Parameters:
  ///   - toFinish: Whether the future also has to finish.
  ///   - isEarly: Whether the wait has just begun.
  func need(of future: AnyFuture, toFinish: Bool, isEarly: Bool = false) -> Need? {
    var search = Search(self, isEarly: isEarly)
    let prospect =
      toFinish && future.isSettled
      ? search.prospect(ofSettled: future) : search.prospect(of: future, depth: 0)
    return prospect == .needsThisThread ? search.need : nil
  }
}
