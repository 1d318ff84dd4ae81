import Foundation

extension Future {
  /// Blocks the calling thread until the future has settled.
  ///
  /// For command-line tools and tests; in async code, await ``value``. On the
  /// main thread, on a serial operation queue, and in a closure on a serial
  /// dispatch queue, it refuses to wait for a future that needs that very
  /// queue. Within a future's own closure it refuses to wait for that future.
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
    if isSettledAndTold, let result { return try result.get() }
    Drain.current.flush()
    if isSettledAndTold, let result { return try result.get() }
    if needs(where: Drain.current.isRunning) {
      throw ProperationsError.cycle(createdAt: createdAt)
    }
    if let queue = queueThatWouldDeadlock() {
      throw ProperationsError.wouldDeadlock(queue: queue)
    }
    let waiter = BlockedThread()
    attach(.callback(waiter))
    defer { detach(.callback(waiter), cancelling: false) }
    let deadline = timeout.map { DispatchTime.now() + $0.clampedInterval } ?? .distantFuture
    if let probe = DispatchProbe(for: self) {
      // A serial dispatch queue cannot be told from a concurrent one; but one
      // that does not run another block while this one waits is serial.
      if waiter.wait(until: min(deadline, .now() + .seconds(1))) == .timedOut,
        deadline > .now(), !probe.hasRun
      {
        throw ProperationsError.wouldDeadlock(queue: probe.name)
      }
    }
    guard waiter.wait(until: deadline) == .success, let result else {
      throw ProperationsError.timedOut(after: timeout ?? .zero)
    }
    return try result.get()
  }
}

extension AnyFuture {
  /// The name of the calling queue, if this future can only settle with its
  /// help.
  final func queueThatWouldDeadlock() -> String? {
    if MainQueue.isCurrent, needs(where: { $0.needsContext(\.isMain) || $0.occupies(.main) }) {
      return "the main queue"
    }
    guard let current = OperationQueue.current, current !== OperationQueue.main,
      current.maxConcurrentOperationCount == 1
    else { return nil }
    let isNeeded = needs { $0.needsContext { $0.queue === current } || $0.occupies(current) }
    return isNeeded ? "the operation queue \"\(current.name ?? "")\"" : nil
  }

  /// Whether this future's closure has yet to run, or to return, in such a
  /// context.
  fileprivate final func needsContext(_ isSuch: (ContextReference) -> Bool) -> Bool {
    storage.needsContext && isSuch(storage.context)
  }

  /// Whether this future needs a slot of a queue in order to settle, as a
  /// blocking promise does, or the future of an operation that is in it.
  private final func occupies(_ queue: OperationQueue) -> Bool {
    if let behaviour { return behaviour.needsSlot(self, of: queue) }
    if case .source(let source) = storage.upstream, let operation = source.operation {
      return queue.operations.contains { $0 === operation }
    }
    guard traits.contains(.occupiesQueue) else { return false }
    // Nobody has told which queue it is if it was added by `addOperation`.
    return storage.home === queue
      || storage.flags.contains(.queued) && queue.operations.contains { $0 === self }
  }

  /// Whether this future or any that it waits for is such.
  final func needs(where isSuch: (AnyFuture) -> Bool) -> Bool {
    !isSettled && isSuch(self) || upstreamContains(isSuch)
  }
}

/// A thread that is blocked until a future settles.
private final class BlockedThread: CallbackWaiter, @unchecked Sendable {
  // Sendable: a semaphore may be used from any thread.
  private let semaphore = BlockingSemaphore(value: 0)

  func wait(until deadline: DispatchTime) -> DispatchTimeoutResult {
    let result = semaphore.wait(timeout: deadline)
    // Whoever waits again finds it open.
    if result == .success { semaphore.signal() }
    return result
  }

  override func deliver(_ source: AnyFuture) { semaphore.signal() }
}

/// Finds out whether the dispatch queue whose block is running runs others
/// meanwhile.
private final class DispatchProbe: @unchecked Sendable {
  // Sendable: `ran` has a lock.
  private let ran = Lock(false)
  let name: String

  /// `nil` if the thread is in no turn on a dispatch queue, or the future does
  /// not need that queue.
  init?(for future: AnyFuture) {
    guard case .dispatchQueue(let queue)? = Drain.current.turnContext else { return nil }
    let isNeeded = future.needs { future in
      future.needsContext { context in
        if case .dispatchQueue(let other) = context { return other === queue }
        return false
      }
    }
    guard isNeeded else { return nil }
    name = "the dispatch queue \"\(queue.label)\""
    queue.async { self.ran.withLock { $0 = true } }
  }

  var hasRun: Bool { ran.withLock { $0 } }
}
