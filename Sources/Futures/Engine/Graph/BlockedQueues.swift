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

  private let thread: BlockedHolder
  private let isMain: Bool
  /// The operation queue whose slot this thread blocks, if its slots are limited.
  private let limitedQueue: OperationQueue?
  /// The operation queue in which this thread runs an operation.
  private let current: OperationQueue?
  private let dispatchQueues: [DispatchQueue]
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
      future.behaviour != nil
        && future.storage.downstreams(limit: .max).futures.contains { $0.behaviour != nil }
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
  fileprivate var queuesAround: [OperationQueue] {
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
  fileprivate var queue: OperationQueue? { isMain ? .main : limitedQueue }

  /// Whether each slot of one of the queues is held by a thread or closure that waits, or by
  /// a group.
  var areAllSlotsBlocked: Bool {
    (limitedQueue.map(Self.areAllSlotsBlocked) ?? false)
      || queuesOfGroups.contains(where: Self.areAllSlotsBlocked)
  }

  /// Whether threads and closures that wait, and groups, hold all slots of a queue.
  package static func areAllSlotsBlocked(of queue: OperationQueue) -> Bool {
    let groups = (queue as? any SlotQueue)?.slotHolders.count ?? 0
    let count = threads.withLock { $0[ObjectIdentifier(queue)]?.all.count ?? 0 }
    return count + groups >= queue.maxConcurrentOperationCount
  }

  /// Whether a group, which holds a slot of a queue, waits for a slot that cannot become
  /// free without this one.
  ///
  /// - Parameters:
  ///   - parts: The futures that the group waits for.
  ///   - isClosure: Whether a closure of this future runs. A closure that waits is told by
  ///     itself that the wait cannot end.
  package static func isStuck(
    waitingFor parts: [AnyFuture], with queue: OperationQueue,
    isClosure: (AnyFuture) -> Bool
  ) -> Bool {
    guard queue.hasLimitedSlots, areAllSlotsBlocked(of: queue) else { return false }
    var search = Search(BlockedQueues(of: BlockedHolder(running: []), in: queue))
    var (stack, seen) = (parts, Set<ObjectIdentifier>())
    while let next = stack.popLast() {
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
  /// - Parameter toFinish: Whether the future also has to finish.
  func need(of future: AnyFuture, toFinish: Bool) -> Need? {
    var search = Search(self)
    let prospect =
      toFinish && future.isSettled
      ? search.prospect(ofSettled: future) : search.prospect(of: future, depth: 0)
    return prospect == .needsThisThread ? search.need : nil
  }

  /// One search through everything that a future waits for.
  private struct Search {
    /// What happens to a future while this thread blocks.
    enum Prospect: Int, Comparable {
      /// The future can settle, as far as the search can tell.
      case open
      /// The future waits for threads that block each other.
      case stuck
      /// Like `stuck`, and this thread is one of the threads.
      case needsThisThread

      static func < (lhs: Self, rhs: Self) -> Bool { lhs.rawValue < rhs.rawValue }
    }

    private let blocked: BlockedQueues
    private(set) var need: Need?
    private var budget = 100_000
    /// The operations of the queue that this thread blocks, by identity, read at first
    /// use.
    ///
    /// They are kept because a new object may have the identity of a released one.
    private lazy var operations = Dictionary(
      (blocked.queue?.operations ?? []).map { (ObjectIdentifier($0), $0) }
    ) { first, _ in first }
    /// The probes of dispatch queues that this thread blocks: one for each queue in a
    /// search.
    private var probes: [ObjectIdentifier: DispatchProbe] = [:]
    /// What cannot run before the operation that this thread runs has finished.
    private lazy var behindBarriers: Set<ObjectIdentifier> = queuesAround.reduce(into: []) {
      $0.formUnion($1.futuresBehindBarriers)
    }
    private lazy var queuesAround = blocked.queuesAround
    /// The queues on the path that the search is following.
    private var path: [OperationQueue] = []
    /// The queues that will have a free slot again.
    private var open: Set<ObjectIdentifier> = []

    init(_ blocked: BlockedQueues) { self.blocked = blocked }

    // MARK: Futures

    mutating func prospect(of future: AnyFuture, depth: Int) -> Prospect {
      var prospect = Prospect.open
      var stack = [future]
      var seen: Set<ObjectIdentifier> = []
      while prospect < .needsThisThread, let next = stack.popLast() {
        guard !next.isSettled, seen.insert(ObjectIdentifier(next)).inserted else { continue }
        if blocked.thread.running.contains(where: { $0 === next }) { return .needsThisThread }
        if isBehindBarrier(next) {
          need = need ?? blocked.current.map { .queue($0) }
          return .needsThisThread
        }
        budget -= 1
        if next.traits.contains(.hasTimer) { continue }
        let alternatives = alternatives(of: next)
        // If the future has alternatives, any one of them is enough.
        if depth > 64 || budget < 0 { continue }
        prospect = max(prospect, prospectOfSlots(for: next, depth))
        for dependency in next.unfinishedDependencies {
          prospect = max(prospect, self.prospect(ofSettled: dependency))
        }
        if let alternatives {
          prospect = max(prospect, prospectOfAny(alternatives, depth))
        } else {
          stack += next.futuresWaitedFor
        }
      }
      return prospect
    }

    /// Whether a future waits for a barrier of a queue that this thread blocks, or is one.
    private mutating func isBehindBarrier(_ future: AnyFuture) -> Bool {
      if !behindBarriers.isEmpty, behindBarriers.contains(ObjectIdentifier(future)) { return true }
      guard future.behaviour != nil else { return false }
      return queuesAround.contains { ($0 as? any SlotQueue)?.holdsBack(future) == true }
    }

    /// The futures of which one is enough, or `nil` if the future needs all.
    private func alternatives(of future: AnyFuture) -> [AnyFuture]? {
      if let behaviour = future.behaviour, case .oneOfAwaited = behaviour.need(of: future) {
        return future.futuresWaitedFor
      }
      guard case .source(let source) = future.storage.upstream, !source.needsAll else { return nil }
      return source.upstreams
    }

    private mutating func prospectOfAny(_ futures: [AnyFuture], _ depth: Int) -> Prospect {
      var all: Prospect?
      for future in futures where !future.isSettled {
        let prospect = prospect(of: future, depth: depth + 1)
        if prospect == .open {
          need = nil
          return .open
        }
        all = max(all ?? prospect, prospect)
      }
      return all ?? .open
    }

    /// The prospect of a future that has settled: it finishes when a queue has started it,
    /// or when its closure has returned.
    mutating func prospect(ofSettled future: AnyFuture) -> Prospect {
      if future.isFinished { return .open }
      if future.traits.contains(.runsOnMain), future.isExecuting {
        return prospect(ofSlotOf: .main, 0)
      }
      return prospect(ofOperation: future, 0)
    }

    /// The prospect of an operation that may be in this thread's queue.
    private mutating func prospect(ofOperation operation: Operation, _ depth: Int) -> Prospect {
      guard let queue = blocked.queue, operations[ObjectIdentifier(operation)] != nil else {
        return .open
      }
      return prospect(ofSlotOf: queue, depth)
    }

    // MARK: Slots

    /// The prospect of the slot that a future needs now, for its closure or as an
    /// operation.
    mutating func prospectOfSlots(for future: AnyFuture, _ depth: Int) -> Prospect {
      var prospect = Prospect.open
      if let behaviour = future.behaviour {
        for operation in future.dependencies where !(operation is AnyFuture) {
          if operation.isFinished || operation.isExecuting { continue }
          prospect = max(prospect, self.prospect(ofOperation: operation, depth))
        }
        if case .slot(let queue) = behaviour.need(of: future) {
          prospect = max(prospect, self.prospect(ofSlotOf: queue, depth))
        }
        return prospect
      }
      for operation in future.pendingOperations {
        prospect = max(prospect, self.prospect(ofOperation: operation, depth))
      }
      if let queue = future.queueToOccupy {
        prospect = max(prospect, self.prospect(ofSlotOf: queue, depth))
      } else if future.traits.contains(.occupiesQueue), !future.isExecuting {
        // Perhaps the queue got the future itself, by `addOperation`.
        prospect = max(prospect, self.prospect(ofOperation: future, depth))
      }
      guard let context = future.storage.contextToVisit, future.isReadyForContext else {
        return prospect
      }
      if context.isMain { return max(prospect, self.prospect(ofSlotOf: .main, depth)) }
      if let queue = context.queue { return max(prospect, self.prospect(ofSlotOf: queue, depth)) }
      guard case .dispatchQueue(let queue) = context,
        blocked.dispatchQueues.contains(where: { $0 === queue })
      else { return prospect }
      let id = ObjectIdentifier(queue)
      let probe = probes[id] ?? DispatchProbe(queue)
      probes[id] = probe
      need = .ifSerial(probe)
      return .needsThisThread
    }

    private mutating func prospect(ofSlotOf queue: OperationQueue, _ depth: Int) -> Prospect {
      let blocked = blocked
      let own = queue === blocked.queue ? Prospect.needsThisThread : .stuck
      // A path that leads in a cycle is no way out.
      if path.contains(where: { $0 === queue }) { return own }
      let id = ObjectIdentifier(queue)
      if open.contains(id) { return .open }
      let limit = queue === OperationQueue.main ? 1 : queue.maxConcurrentOperationCount
      let threads = BlockedQueues.threads(blocking: queue)
      let groups = (queue as? any SlotQueue)?.slotHolders ?? []
      let others = groups.filter { group in
        !threads.contains { $0.running.contains { $0 === group } }
      }
      guard limit > 0, threads.count + others.count >= limit else {
        open.insert(id)
        return .open
      }
      path.append(queue)
      defer { path.removeLast() }
      let holders = threads.filter { $0 !== blocked.thread }.map(\.upstreams.first) + others
      var prospect = own
      for holder in holders {
        let next = holder.map { self.prospect(of: $0, depth: depth + 1) } ?? .open
        if next == .open {
          open.insert(id)
          need = nil
          return .open
        }
        prospect = max(prospect, next)
      }
      if prospect == .needsThisThread, need == nil { need = .queue(queue) }
      return prospect
    }
  }
}

/// An operation queue in which futures that block no thread may hold slots.
package protocol SlotQueue: OperationQueue {
  /// The futures that hold a slot, and wait for others without a thread.
  var slotHolders: [AnyFuture] { get }
  /// Everything that was put in the queue and may not have finished.
  var unfinishedOperations: [Operation] { get }
  /// Cancels everything in the queue, apart from some operations.
  func cancelEverything(except isSpared: (Operation) -> Bool)
  /// The group whose members the queue runs, and the queue of the group itself.
  var group: (task: AnyFuture, queue: OperationQueue?)? { get }
  /// Adds an operation as a barrier, even if the queue is shut down.
  func addBarrier(_ barrier: Operation)
  /// Whether the queue has barriers that have not finished.
  var hasBarriers: Bool { get }
  /// Whether a barrier of the queue keeps a task from running.
  func holdsBack(_ task: AnyFuture) -> Bool
  /// What cannot run before everything in front of the first barrier has finished, apart
  /// from tasks; see `holdsBack(_:)`.
  var futuresHeldByBarriers: [AnyFuture] { get }
}

extension OperationQueue {
  /// The groups that contain the members of this queue, from the inside, and the queues of
  /// the groups.
  var groupsAround: [(task: AnyFuture, queue: OperationQueue?)] {
    var groups: [(task: AnyFuture, queue: OperationQueue?)] = []
    var queue: OperationQueue? = self
    while let group = (queue as? any SlotQueue)?.group {
      groups.append(group)
      queue = group.queue
    }
    return groups
  }

  /// The identities of the futures that wait for a barrier of the queue, or are one.
  ///
  /// A barrier that executes counts, too. The caller runs an operation of the queue, so it
  /// is in the barrier.
  ///
  /// - Complexity: O(the number of operations in the queue) if there are barriers.
  fileprivate var futuresBehindBarriers: Set<ObjectIdentifier> {
    if let queue = self as? any SlotQueue {
      return Set(queue.futuresHeldByBarriers.map { ObjectIdentifier($0) })
    }
    #if canImport(Darwin)
      return []
    #else
      guard BarrierOperation.count.load(ordering: .acquiring) > 0 else { return [] }
      var (futures, isBehind) = (Set<ObjectIdentifier>(), false)
      for operation in operations where !operation.isFinished {
        isBehind = isBehind || operation is BarrierOperation
        guard isBehind, !operation.isExecuting else { continue }
        switch operation {
        // The other members need no slot.
        case let members as PendingMembers:
          for operation in members.operationsToCome {
            for future in operation.occupants { futures.insert(ObjectIdentifier(future)) }
          }
        case let placeholder as PlaceholderOperation:
          for future in placeholder.occupants { futures.insert(ObjectIdentifier(future)) }
        case let future as AnyFuture where future.traits.contains(.occupiesQueue):
          futures.insert(ObjectIdentifier(future))
        default: break
        }
      }
      return futures
    #endif
  }

  fileprivate var hasLimitedSlots: Bool { maxConcurrentOperationCount > 0 }
}

extension BlockedQueues.Need {
  fileprivate static func queue(_ queue: OperationQueue) -> Self {
    .certain(name: queue.nameInErrors)
  }
}

extension AnyFuture {
  /// The operations, other than futures, that have to finish first.
  final var pendingOperations: [Operation] {
    var all: [Operation] = []
    if hasDependencies { all = storage.withDependencies { $0.pendingOperations } ?? [] }
    if case .source(let source) = storage.upstream, let operation = source.operation {
      all.append(operation)
    }
    return all
  }

  /// Whether the future's closure has yet to run and waits only for its context.
  final var isReadyForContext: Bool {
    if hasDependencies, storage.hasPendingDependencies { return false }
    let upstream = storage.upstream
    if case .none = upstream { return true }
    guard let future = upstream.future else { return false }
    return future.isSettled && traits.acts(on: future.outcome)
  }
}
