import Foundation

extension Future {
  /// Blocks the calling thread until the future has settled.
  ///
  /// For command-line tools and tests; in async code, await ``value``.
  ///
  /// A wait that cannot end throws as soon as that is certain. It throws
  /// ``ProperationsError/wouldDeadlock(queue:)`` where it blocks the main queue, the last
  /// slot of an operation queue or a serial dispatch queue, and the future cannot settle
  /// without a closure or an operation that needs that very queue. A pending promise
  /// (which any thread may settle), a timer, and another pending input of a race
  /// count as ways to settle. It throws ``ProperationsError/cycle(createdAt:)`` in
  /// the closure of this future, or of a future that it waits for.
  ///
  /// - Parameter timeout: How long to wait at most; for ever if `nil`.
  /// - Returns: The value.
  /// - Throws: The error of a failed future;
  ///   ``ProperationsError/timedOut(after:)`` when the time is up, which leaves
  ///   the future as it is; ``ProperationsError/wouldDeadlock(queue:)`` and
  ///   ``ProperationsError/cycle(createdAt:)`` where the wait could not end.
  @available(*, noasync, message: "Await 'value' instead; blocking a task's thread can hang.")
  @discardableResult
  public final func wait(timeout: Duration? = nil) throws -> Success {
    switch block(until: .settled, deadline: timeout.map { .now() + $0.clampedInterval }) {
    case .done: break
    case .timedOut: throw ProperationsError.timedOut(after: timeout ?? .zero)
    case .needsOwnClosure: throw ProperationsError.cycle(createdAt: createdAt)
    case .needs(let queue): throw ProperationsError.wouldDeadlock(queue: queue)
    }
    return try settledResult.get()
  }
}

extension AnyFuture {
  /// What a thread waits for.
  enum BlockedMoment { case settled, finished }

  /// How a wait has ended.
  enum BlockedOutcome {
    case done
    case timedOut
    /// The future needs a closure that runs on this thread.
    case needsOwnClosure
    /// The future needs a queue that this thread blocks.
    case needs(queue: String)
  }

  private final func has(_ moment: BlockedMoment) -> Bool {
    switch moment {
    case .settled: isSettledAndTold
    case .finished: isFinished
    }
  }

  /// Blocks the calling thread.
  ///
  /// A thread that blocks a queue looks again and again, at growing intervals,
  /// whether the future now needs that queue: it may come to need it only later,
  /// when something upstream has settled.
  final func block(until moment: BlockedMoment, deadline: DispatchTime?) -> BlockedOutcome {
    if has(moment) { return .done }
    let loop = WorkLoop.current
    loop.flush()
    if has(moment) { return .done }
    let thread = BlockedThread(until: moment, running: loop.runningFutures)
    thread.willBlock(on: self)
    attach(.callback(thread), isConsumer: moment == .settled)
    defer {
      thread.hasBlocked()
      detach(.callback(thread), cancelling: false)
    }
    // The edges are in the graph: of two closures that wait for each other at
    // least one sees it.
    if Graph.needs(self, oneOf: thread.runningIDs, toFinish: moment == .finished) {
      return .needsOwnClosure
    }
    let blocked = BlockedQueues(of: loop)
    blocked.willBlock()
    defer { blocked.hasBlocked() }
    let end = deadline ?? .distantFuture
    var interval = 0.002
    while true {
      if !blocked.isEmpty, !has(moment),
        let queue = blocked.neededQueue(by: self, toFinish: moment == .finished)
      {
        switch queue {
        case .certain(let name): return .needs(queue: name)
        case .ifSerial(let probe):
          // A serial dispatch queue cannot be told from a concurrent one; but one
          // that does not run another block while this one waits is serial.
          if thread.wait(until: min(end, .now() + .seconds(1))) == .timedOut, end > .now(),
            !probe.hasRun
          {
            return .needs(queue: probe.name)
          }
        }
      }
      let next = blocked.isEmpty ? end : min(end, .now() + interval)
      if thread.wait(until: next) == .success { return .done }
      if next == end { return has(moment) ? .done : .timedOut }
      interval = min(interval * 2, 0.25)
    }
  }
}

/// A thread that is blocked until a future settles or finishes.
///
/// If closures of futures run on the thread, these futures wait meanwhile for
/// the one that the thread waits for: the edge is in the graph, too.
private final class BlockedThread: CallbackWaiter, @unchecked Sendable {
  // Sendable: `edge` has a lock, the rest never changes.
  private let semaphore = BlockingSemaphore(value: 0)
  private let moment: AnyFuture.BlockedMoment
  private let running: [AnyFuture]
  private let edge = Lock<Upstream>(.none)

  init(until moment: AnyFuture.BlockedMoment, running: [AnyFuture]) {
    self.moment = moment
    self.running = running
  }

  var runningIDs: Set<ObjectIdentifier> { Set(running.map(ObjectIdentifier.init)) }

  func willBlock(on future: AnyFuture) {
    edge.replace(with: future.edge)
    for one in running { one.storage.block(on: .source(self)) }
  }

  func hasBlocked() {
    for one in running { one.storage.block(on: .none) }
    edge.replace(with: .none)
  }

  func wait(until deadline: DispatchTime) -> DispatchTimeoutResult {
    let result = semaphore.wait(timeout: deadline)
    // The next wait finds it open.
    if result == .success { semaphore.signal() }
    return result
  }

  override func deliver(_ source: AnyFuture) { semaphore.signal() }
  override var upstreams: [AnyFuture] { edge.withLock { $0 }.futures }
  override var downstreams: [AnyFuture] { running }
  override var waitsForFinish: Bool { moment == .finished }
}

/// The queues that a thread blocks while it waits.
private struct BlockedQueues {
  /// A queue that a future needs.
  enum Need {
    case certain(name: String)
    case ifSerial(DispatchProbe)
  }

  private let isMain: Bool
  /// The operation queue of which this thread blocks a slot.
  private let limitedQueue: OperationQueue?
  private let dispatchQueues: [DispatchQueue]

  init(of loop: WorkLoop) {
    isMain = MainQueue.isCurrent
    let current = OperationQueue.current
    let limit = current?.maxConcurrentOperationCount ?? 0
    limitedQueue = current !== OperationQueue.main && limit > 0 ? current : nil
    dispatchQueues = loop.batchContexts.compactMap { context in
      guard case .dispatchQueue(let queue) = context, queue !== DispatchQueue.main else {
        return nil
      }
      return queue
    }
  }

  var isEmpty: Bool { !isMain && limitedQueue == nil && dispatchQueues.isEmpty }

  /// How many threads block a slot of each queue.
  private static let counts = Lock<[ObjectIdentifier: Int]>([:])

  func willBlock() {
    guard let limitedQueue else { return }
    Self.counts.withLock { $0[ObjectIdentifier(limitedQueue), default: 0] += 1 }
  }

  func hasBlocked() {
    guard let limitedQueue else { return }
    let id = ObjectIdentifier(limitedQueue)
    Self.counts.withLock { counts in
      let left = counts[id, default: 1] - 1
      counts[id] = left == 0 ? nil : left
    }
  }

  /// The operation queue, if all of its slots are blocked.
  private var operationQueue: OperationQueue? {
    guard let limitedQueue else { return nil }
    let count = Self.counts.withLock { $0[ObjectIdentifier(limitedQueue), default: 0] }
    return count >= limitedQueue.maxConcurrentOperationCount ? limitedQueue : nil
  }

  /// The queue without which a future cannot settle; `nil` if another way is known.
  ///
  /// - Parameter toFinish: Whether the future has to finish, too.
  func neededQueue(by future: AnyFuture, toFinish: Bool) -> Need? {
    var budget = 100_000
    if toFinish, future.isSettled { return queueHolding(future) }
    return neededQueue(by: future, &budget, depth: 0)
  }

  private func neededQueue(
    by future: AnyFuture, _ budget: inout Int, depth: Int
  ) -> Need? {
    var stack = [future]
    var seen: Set<ObjectIdentifier> = []
    while let next = stack.popLast() {
      guard !next.isSettled, seen.insert(ObjectIdentifier(next)).inserted else { continue }
      budget -= 1
      if next.traits.contains(.hasTimer) { continue }
      if let need = need(of: next) { return need }
      for dependency in next.unfinishedDependencies {
        if let need = queueHolding(dependency) { return need }
      }
      guard case .source(let source) = next.storage.upstream, !source.needsAll else {
        stack += next.futuresWaitedFor
        continue
      }
      // Any one of several is enough.
      if depth > 64 || budget < 0 { continue }
      var last: Need?
      for input in source.upstreams where !input.isSettled {
        last = neededQueue(by: input, &budget, depth: depth + 1)
        if last == nil { break }
      }
      if let last { return last }
    }
    return nil
  }

  /// The queue that has to start a settled future before that can finish.
  private func queueHolding(_ future: AnyFuture) -> Need? {
    if future.isFinished { return nil }
    if isMain, OperationQueue.main.holds(future) { return .main }
    return operationQueue.flatMap { $0.holds(future) ? .queue($0) : nil }
  }

  /// The queue that a future needs now, for a closure or operation of its own.
  private func need(of future: AnyFuture) -> Need? {
    if let behaviour = future.behaviour {
      if isMain, behaviour.needsSlot(future, of: .main) { return .main }
      return operationQueue.flatMap { behaviour.needsSlot(future, of: $0) ? .queue($0) : nil }
    }
    for operation in future.pendingOperations {
      if isMain, OperationQueue.main.holds(operation) { return .main }
      if let queue = operationQueue, queue.holds(operation) { return .queue(queue) }
    }
    // (The queue holds the future itself if it got it by `addOperation`.)
    if future.traits.contains(.occupiesQueue), !future.isExecuting, let queue = operationQueue,
      queue.holds(future.storage.placeholder ?? future)
    {
      return .queue(queue)
    }
    guard let context = future.storage.contextToVisit, future.isReadyForContext else { return nil }
    if isMain, context.isMain { return .main }
    if let queue = context.queue, queue === operationQueue { return .queue(queue) }
    guard case .dispatchQueue(let queue) = context, dispatchQueues.contains(where: { $0 === queue })
    else { return nil }
    return .ifSerial(DispatchProbe(queue))
  }
}

extension BlockedQueues.Need {
  fileprivate static var main: Self { .certain(name: "the main queue") }
  fileprivate static func queue(_ queue: OperationQueue) -> Self {
    .certain(name: "the operation queue \"\(queue.name ?? "")\"")
  }
}

extension OperationQueue {
  fileprivate func holds(_ operation: Operation) -> Bool {
    operations.contains { $0 === operation }
  }
}

extension AnyFuture {
  /// The operations that are no futures and have to finish first.
  fileprivate final var pendingOperations: [Operation] {
    var all: [Operation] = []
    if hasDependencies { all = storage.withDependencies { $0.pendingOperations } ?? [] }
    if case .source(let source) = storage.upstream, let operation = source.operation {
      all.append(operation)
    }
    return all
  }

  /// Whether the future's closure, which has yet to run, waits only for its
  /// context.
  fileprivate final var isReadyForContext: Bool {
    if hasDependencies, storage.hasPendingDependencies { return false }
    let upstream = storage.upstream
    if case .none = upstream { return true }
    guard let future = upstream.future else { return false }
    return future.isSettled && traits.acts(on: future.outcome)
  }
}

/// Finds out whether a dispatch queue whose block is running runs others
/// meanwhile.
private final class DispatchProbe: Sendable {
  private let ran = Lock(false)
  let name: String

  init(_ queue: DispatchQueue) {
    name = "the dispatch queue \"\(queue.label)\""
    SchedulingPoints.handOff()
    queue.async { self.ran.withLock { $0 = true } }
  }

  var hasRun: Bool { ran.withLock { $0 } }
}
