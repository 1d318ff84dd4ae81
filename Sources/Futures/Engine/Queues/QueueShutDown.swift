import Foundation

/// One call of `shutDown(within:)`.
///
/// It observes all operations that it finds in the queue. When they have finished, it looks
/// again, because they may have added others.
///
///   looking ◀──▶ waiting        no operation is left ──▶ over: the list is empty
///      └───────────┴────────── the time is up ─────────▶ over: the list names what is left
final class QueueShutDown: Sendable {
  private enum Wait: Sendable {
    /// Does not own the future: a promise that its producer drops breaks.
    case future(FutureReference, Watcher)
    case operation(OperationObserver)
  }

  private struct State {
    var pendingCount = 0
    var waits: [Wait] = []
    var timer: Future<Void>?
    var isOver = false
  }

  let result: Future<[Operation]>
  private let queue: OperationQueue
  /// The operations that made the call.
  ///
  /// The shut-down neither waits for them nor cancels them.
  private let callers: [Operation]
  private let state = Lock(State())

  init(of queue: OperationQueue, at birthplace: Birthplace) {
    self.queue = queue
    result = Future(traits: [], at: birthplace)
    callers = Self.callers(in: queue)
    result.waitOutside {
    } explain: { [weak self] in
      self?.reasonToWait
    }
  }

  func begin(_ duration: Duration, _ clock: any Clock<Duration>) {
    ShutDownQueues.advance(queue, to: .closing)
    guard duration > .zero else { return timeIsUp() }
    look()
    if result.isSettled { return }
    let timer = Promises.delay(for: duration, clock: clock)
    let isOver = state.withLock { state in
      if !state.isOver { state.timer = timer }
      return state.isOver
    }
    if isOver { return timer.cancel() }
    // A clock whose sleep throws has no time left.
    timer.onCompletion(on: .inline) { [self] _ in timeIsUp() }
  }

  // MARK: Waiting

  private var reasonToWait: FutureExplanation.Reason {
    let (count, name) = (unfinished().count, AnyFuture.shortened(queue.name ?? ""))
    return .init(
      .queue,
      "The queue \"\(name)\" is being shut down: \(count) "
        + "\(count == 1 ? "operation has" : "operations have") not finished.")
  }

  private func look() {
    while true {
      var operations = unfinished()
      if operations.isEmpty, callers.isEmpty {
        // A call that was accepted before may add its work now. From here on it cancels that.
        ShutDownQueues.advance(queue, to: .over)
        operations = unfinished()
      }
      if operations.isEmpty {
        _ = end()
        result.settle(success: [], from: .upstream)
        return
      }
      let isWanted = state.withLock { state in
        // One more, so that no round ends before all of its waits have begun.
        state.pendingCount = operations.count + 1
        return !state.isOver
      }
      guard isWanted else { return }
      let waits = operations.map(wait)
      let isOver = state.withLock { state in
        if !state.isOver { state.waits = waits }
        return state.isOver
      }
      if isOver { return stop(waits) }
      guard countDown() else { return }
    }
  }

  private func wait(for operation: Operation) -> Wait {
    guard let future = operation as? AnyFuture else {
      return .operation(OperationObserver(of: operation) { [self] in hasFinished() })
    }
    let watcher = Watcher(.finished) { [self] _ in hasFinished() }
    if !future.watch(with: watcher) { hasFinished() }
    return .future(future.reference, watcher)
  }

  private func hasFinished() {
    if countDown() { look() }
  }

  /// Whether the last operation of the round has finished.
  private func countDown() -> Bool {
    let (isLast, waits) = state.withLock { state -> (Bool, [Wait]) in
      state.pendingCount -= 1
      guard state.pendingCount == 0, !state.isOver else { return (false, []) }
      defer { state.waits = [] }
      return (true, state.waits)
    }
    withExtendedLifetime(waits) {}
    return isLast
  }

  private func stop(_ waits: [Wait]) {
    for wait in waits {
      switch wait {
      case .operation(let observer): observer.stop()
      case .future(let reference, let watcher):
        reference.future?.detach(.callback(watcher), cancelling: false)
      }
    }
  }

  /// Ends the waits; `false` if that has happened before.
  private func end() -> Bool {
    let (isFirst, waits, timer) = state.withLock { state -> (Bool, [Wait], Future<Void>?) in
      defer { (state.isOver, state.waits, state.timer) = (true, [], nil) }
      return (!state.isOver, state.waits, state.timer)
    }
    timer?.cancel()
    stop(waits)
    return isFirst
  }

  // MARK: The time is up

  private func timeIsUp() {
    guard end() else { return }
    ShutDownQueues.advance(queue, to: .over)
    let operations = unfinished()
    var seen = Set<ObjectIdentifier>()
    let left = operations.flatMap { operation -> [Operation] in
      let futures = operation.futuresInside
      // Some of the library's own operations stand for nothing that the user has made.
      // A batch without futures calls handlers.
      if futures.isEmpty {
        let isOfUser = !(operation is PlaceholderOperation) || operation is BatchOperation
        return isOfUser ? [operation] : []
      }
      return futures
    }.filter { seen.insert(ObjectIdentifier($0)).inserted }
    // A handler of one of them may wait for another one.
    WorkLoop.current.beforeHandlers {
      let slotQueue = queue as? any SlotQueue
      slotQueue?.cancelEverything { isCaller($0) || isPlaceholderOfCaller($0) }
      // The executing operations come last: their end would let others begin.
      for operation in operations where !operation.isExecuting { cancel(operation) }
      for operation in operations { cancel(operation) }
      // A placeholder passes only its first cancellation on.
      for operation in left { cancel(operation) }
    }
    // Some may have finished before they could be cancelled.
    let cancelled = left.filter { $0.isCancelled || !$0.isFinished }
    result.settle(success: cancelled, from: .upstream)
  }

  private func cancel(_ operation: Operation) {
    if !operation.isCancelled, !operation.isFinished { operation.cancel() }
  }

  // MARK: The operations of the queue

  private static func operations(in queue: OperationQueue) -> [Operation] {
    (queue as? any SlotQueue)?.unfinishedOperations ?? queue.operations
  }

  /// The operations that have not finished, without the callers.
  private func unfinished() -> [Operation] {
    Self.operations(in: queue).flatMap { operation -> [Operation] in
      if operation.isFinished || isCaller(operation) { return [] }
      guard isPlaceholderOfCaller(operation) else { return [operation] }
      // The other futures of the caller's placeholder are waited for one by one.
      return operation.futuresInside.filter { !isCaller($0) && !$0.isFinished }
    }
  }

  private func isCaller(_ operation: Operation) -> Bool {
    callers.contains { $0 === operation }
  }

  private func isPlaceholderOfCaller(_ operation: Operation) -> Bool {
    !callers.isEmpty && operation.futuresInside.contains(where: isCaller)
  }

  /// The operations of a queue in which the caller runs.
  ///
  /// Foundation does not tell which operation runs on a thread. If several operations that
  /// are no futures execute, the list is empty.
  private static func callers(in queue: OperationQueue) -> [Operation] {
    var running = WorkLoop.current.futuresOfClosures
    let holder = SlotHolder.ofCurrentTask
    if let future = holder?.future { running.append(future) }
    running += (holder?.queue ?? OperationQueue.current)?.groupsAround.map(\.task) ?? []
    let all = operations(in: queue)
    if !running.isEmpty {
      let members = Set((all + all.flatMap(\.futuresInside)).map { ObjectIdentifier($0) })
      let callers = running.filter { members.contains(ObjectIdentifier($0)) }
      if !callers.isEmpty { return callers }
    }
    guard OperationQueue.current === queue else { return [] }
    let executing = all.filter(\.isExecuting)
    return executing.count == 1 ? executing : []
  }
}
