import Foundation

extension BlockedQueues {
  /// One search through everything that a future waits for.
  struct Search {
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
    private var budget: Int
    /// Whether the search has left something out because it was too far away or too much.
    private(set) var hasGivenUp = false
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
      $0.formUnion($1.futuresBehindBarriers(of: blocked.thread.running))
    }
    private lazy var queuesAround = blocked.queuesAround
    /// The queues on the path that the search is following.
    private var path: [OperationQueue] = []
    /// The queues that will have a free slot again.
    private var open: Set<ObjectIdentifier> = []
    /// The operations, and the futures on which they depend, that can finish.
    private var openDependencies: [ObjectIdentifier: Operation] = [:]
    /// The alternatives that need this thread whatever path leads to them, and what of this
    /// thread they need.
    ///
    /// Races of races may lead to the same future on very many paths.
    private var known: [ObjectIdentifier: (future: AnyFuture, need: Need?)] = [:]

    init(_ blocked: BlockedQueues, budget: Int = 100_000) {
      self.blocked = blocked
      self.budget = budget
    }

    // MARK: Futures

    /// - Parameter toFinish: Whether the future also has to finish.
    mutating func prospect(of future: AnyFuture, toFinish: Bool) -> Prospect {
      toFinish && future.isSettled ? prospect(ofSettled: future) : prospect(of: future, depth: 0)
    }

    mutating func prospect(of future: AnyFuture, depth: Int) -> Prospect {
      var prospect = Prospect.open
      var stack = [future]
      var seen: Set<ObjectIdentifier> = []
      while prospect < .needsThisThread, let next = stack.popLast() {
        guard !next.isSettled, seen.insert(ObjectIdentifier(next)).inserted else { continue }
        if isRunningHere(next) { return .needsThisThread }
        if isBehindBarrier(next) {
          need = need ?? blocked.current.map { .queue($0) }
          return .needsThisThread
        }
        budget -= 1
        if next.traits.contains(.hasTimer) { continue }
        let alternatives = alternatives(of: next)
        // If the future has alternatives, any one of them is enough.
        if depth > 64 || budget < 0 {
          hasGivenUp = true
          continue
        }
        let hadBegun = Self.hasBegun(next)
        let ofSlots = prospectOfSlots(for: next, depth)
        // It may have got its slot, and given it to another closure, while the search looked.
        if hadBegun || !Self.hasBegun(next) { prospect = max(prospect, ofSlots) }
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

    private static func hasBegun(_ future: AnyFuture) -> Bool {
      future.isSettled || future.isRunning || future.isExecuting
    }

    private func isRunningHere(_ future: AnyFuture) -> Bool {
      blocked.thread.running.contains { $0 === future }
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
      let upstreams = source.upstreams
      // The source is about to be told of one that has settled.
      return upstreams.contains { $0.isSettled && $0.behaviour == nil } ? [] : upstreams
    }

    private mutating func prospectOfAny(_ futures: [AnyFuture], _ depth: Int) -> Prospect {
      var all: Prospect?
      for future in futures where !future.isSettled {
        let id = ObjectIdentifier(future)
        if let known = known[id] {
          need = need ?? known.need
          all = .needsThisThread
          continue
        }
        let prospect = prospect(of: future, depth: depth + 1)
        if prospect == .open {
          need = nil
          return .open
        }
        // On a path through a queue, that queue counts as one without a free slot.
        if prospect == .needsThisThread, path.isEmpty { known[id] = (future, need) }
        all = max(all ?? prospect, prospect)
      }
      return all ?? .open
    }

    /// The prospect of a future that has settled: it finishes when a queue has started it,
    /// or when its closure has returned.
    mutating func prospect(ofSettled future: AnyFuture) -> Prospect {
      if future.isFinished { return .open }
      if isRunningHere(future) { return .needsThisThread }
      if future.traits.contains(.runsOnMain), future.isRunning { return prospectOfMain(0) }
      return prospect(ofOperation: future, 0)
    }

    /// The prospect of an operation, which may be in this thread's queue, or wait for a
    /// dependency.
    private mutating func prospect(ofOperation operation: Operation, _ depth: Int) -> Prospect {
      let ofSlot = prospect(ofOwnSlotFor: operation, depth)
      if ofSlot != .open || operation is AnyFuture || operation is PlaceholderOperation {
        return ofSlot
      }
      return prospect(ofDependenciesOf: operation, depth)
    }

    /// The prospect of the slot that an operation needs if it is in this thread's queue.
    private mutating func prospect(ofOwnSlotFor operation: Operation, _ depth: Int) -> Prospect {
      guard let queue = blocked.queue, operations[ObjectIdentifier(operation)] != nil else {
        return .open
      }
      return prospect(ofSlotOf: queue, depth)
    }

    /// The prospect of what an operation that is no future depends on, also through other such
    /// operations: all of it has to finish.
    ///
    /// An operation that executes, or is cancelled, waits for no dependency. Of many operations
    /// the last count as ones that can finish.
    private mutating func prospect(
      ofDependenciesOf operation: Operation, _ depth: Int
    ) -> Prospect {
      if openDependencies[ObjectIdentifier(operation)] != nil { return .open }
      var (stack, seen) = ([operation], [ObjectIdentifier(operation): operation])
      while let next = stack.popLast() {
        let dependencies = next.dependencies
        if next.isExecuting || next.isFinished || next.isCancelled { continue }
        for dependency in dependencies where !dependency.isFinished {
          let id = ObjectIdentifier(dependency)
          guard seen.count < 1_000, seen[id] == nil, openDependencies[id] == nil else { continue }
          seen[id] = dependency
          let stoodFor = (dependency as? any FutureEquivalent)?.represented
          let future = dependency as? AnyFuture ?? stoodFor
          let prospect =
            if let future {
              self.prospect(ofDependency: future, depth)
            } else {
              self.prospect(ofOwnSlotFor: dependency, depth)
            }
          if prospect != .open { return prospect }
          if future == nil, !(dependency is PlaceholderOperation) { stack.append(dependency) }
        }
      }
      openDependencies.merge(seen) { first, _ in first }
      return .open
    }

    /// The prospect of a future on which an operation depends.
    ///
    /// A closure of this thread counts as a way out: the wait needs no queue then.
    private mutating func prospect(ofDependency future: AnyFuture, _ depth: Int) -> Prospect {
      let prospect =
        future.isSettled ? prospect(ofSettled: future) : prospect(of: future, depth: depth + 1)
      return prospect == .needsThisThread && need == nil ? .open : prospect
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
      if future.traits.contains(.runsOnMain) { prospect = max(prospect, prospectOfMain(depth)) }
      guard let context = future.storage.contextToVisit, future.isReadyForContext else {
        return prospect
      }
      if context.isMain { return max(prospect, self.prospect(ofSlotOf: .main, depth)) }
      if let queue = context.queueOfSlots {
        return max(prospect, self.prospect(ofSlotOf: queue, depth))
      }
      guard case .dispatchQueue(let queue) = context,
        blocked.dispatchQueues.contains(where: { $0 === queue })
      else { return prospect }
      let id = ObjectIdentifier(queue)
      let probe = probes[id] ?? DispatchProbe(queue)
      probes[id] = probe
      need = .ifSerial(probe)
      return .needsThisThread
    }

    /// The prospect of an async closure that runs on the main thread.
    ///
    /// The closure may have returned there just before the main thread began to wait. Its task
    /// then settles the future on another thread, as soon as one is free.
    private mutating func prospectOfMain(_ depth: Int) -> Prospect {
      let hasJustBlocked = BlockedQueues.ThreadsInOrder(blocking: .main).contains { thread in
        (thread as? BlockedThread)?.hasJustBlocked == true
      }
      return hasJustBlocked ? .open : prospect(ofSlotOf: .main, depth)
    }

    private mutating func prospect(ofSlotOf queue: OperationQueue, _ depth: Int) -> Prospect {
      let blocked = blocked
      let own = queue === blocked.queue ? Prospect.needsThisThread : .stuck
      // A path that leads in a cycle is no way out.
      if path.contains(where: { $0 === queue }) { return own }
      let id = ObjectIdentifier(queue)
      if open.contains(id) { return .open }
      let limit = queue === OperationQueue.main ? 1 : queue.maxConcurrentOperationCount
      let others = groupsWithoutThread(in: queue)
      let count = BlockedQueues.countOfThreads(blocking: queue)
      guard limit > 0, count + others.count >= limit else {
        open.insert(id)
        return .open
      }
      path.append(queue)
      defer { path.removeLast() }
      let ofOthers = prospect(ofHoldersOf: queue, limit: limit, groups: others, depth)
      if ofOthers == .open {
        open.insert(id)
        need = nil
        return .open
      }
      let prospect = max(own, ofOthers)
      if prospect == .needsThisThread, need == nil { need = .queue(queue) }
      return prospect
    }

    /// The prospect of the threads and groups that hold all slots of a queue, apart from this
    /// thread: that of the first one that has a way out.
    private mutating func prospect(
      ofHoldersOf queue: OperationQueue, limit: Int, groups: [AnyFuture], _ depth: Int
    ) -> Prospect {
      var prospect = Prospect.stuck
      var count = groups.count
      for thread in BlockedQueues.ThreadsInOrder(blocking: queue) {
        count += 1
        if thread === blocked.thread { continue }
        guard let awaited = thread.upstreams.first else { return .open }
        let next = self.prospect(of: awaited, depth: depth + 1)
        if next == .open { return .open }
        prospect = max(prospect, next)
      }
      // One that has gone meanwhile has freed its slot.
      if count < limit { return .open }
      for group in groups {
        let next = self.prospect(of: group, depth: depth + 1)
        if next == .open { return .open }
        prospect = max(prospect, next)
      }
      return prospect
    }

    /// The groups that hold slots of a queue, apart from those whose closure waits as a thread.
    private func groupsWithoutThread(in queue: OperationQueue) -> [AnyFuture] {
      let groups = (queue as? any SlotQueue)?.slotHolders ?? []
      if groups.isEmpty { return [] }
      let running = BlockedQueues.ThreadsInOrder(blocking: queue).flatMap(\.running)
      return groups.filter { group in !running.contains { $0 === group } }
    }
  }
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
