import Foundation

extension Future {
  /// Blocks the calling thread until the future has settled.
  ///
  /// For command-line tools and tests. In async code, await ``value``. The work that the
  /// thread waits for keeps its quality of service, also if that of the thread is higher.
  ///
  /// A wait that cannot end throws as soon as that is certain. It throws
  /// ``ProperationsError/cycle(createdAt:)`` in the closure of this future, or of a future that
  /// this one waits for. Closures that are told of the cancellation of a task that executes, or
  /// that a task is about to be added to a queue, count as closures of the task: it ends after
  /// them. It throws ``ProperationsError/wouldDeadlock(queue:)`` if it blocks a queue that the
  /// future needs: the main queue, the last slot of an operation queue or a serial dispatch
  /// queue in which a closure of this library waits. (<doc:AsyncAwait> lists what it does not
  /// see, as what workflows need, or what is in front of a barrier.) The future needs a queue
  /// if it cannot settle before a closure or an operation has run there, also behind other
  /// queues whose slots are all held by such waits. (A wait with a time limit counts like one
  /// without, with two exceptions: that an async closure needs the main thread is certain only
  /// when this thread has been blocked for a second, because the closure may have returned
  /// before, and that a dispatch queue is serial after little more than a second.) The
  /// following count as ways to settle: a pending promise (which any thread may settle), a
  /// timer, another pending input of a race, and a slot whose closure will return. (Dispatch
  /// does not show whether a queue is suspended: in a closure on a concurrent dispatch queue
  /// that other code suspends for more than a second, a wait for another closure there may
  /// throw as on a serial one.)
  ///
  /// Closures with `on: .inline` that are due on this thread run first, inside this call. If
  /// each of them waits in turn, they nest: a thousand need about four megabytes of the stack.
  /// Give closures that wait a queue.
  ///
  /// - Parameter timeout: The longest time to wait, at most a century; `nil` means no limit. With
  ///   zero or less the call looks once, and does not wait.
  /// - Returns: The value.
  /// - Throws: The error of a failed future; ``ProperationsError/timedOut(after:)`` when
  ///   the time is up, which leaves the future as it is;
  ///   ``ProperationsError/wouldDeadlock(queue:)`` or
  ///   ``ProperationsError/cycle(createdAt:)`` if the wait could not end.
  @available(*, noasync, message: "Await 'value' instead; blocking a task's thread can hang.")
  @discardableResult
  public final func wait(timeout: Duration? = nil) throws -> Success {
    switch block(toFinish: false, deadline: timeout.map(\.fromNow)) {
    case .done: break
    case .timedOut: throw ProperationsError.timedOut(after: timeout ?? .zero)
    case .needsOwnClosure: throw ProperationsError.cycle(createdAt: createdAt)
    case .needs(let queue): throw ProperationsError.wouldDeadlock(queue: queue)
    }
    return try settledResult.get()
  }

  /// Blocks the calling thread until the future has settled, at most for some time.
  ///
  /// See ``wait(timeout:)-(Duration?)``.
  ///
  /// - Parameter interval: The longest time to wait.
  /// - Returns: The value.
  @available(*, noasync, message: "Await 'value' instead; blocking a task's thread can hang.")
  @_disfavoredOverload
  @discardableResult
  public final func wait(timeout interval: DispatchTimeInterval) throws -> Success {
    try wait(timeout: Duration(interval))
  }
}

extension AnyFuture {
  /// How a wait has ended.
  enum BlockedOutcome {
    case done
    case timedOut
    /// The future needs a closure that runs on this thread.
    case needsOwnClosure
    /// The future needs a queue that this thread blocks.
    case needs(queue: String)
  }

  private final func hasCome(toFinish: Bool) -> Bool { toFinish ? isFinished : isSettledAndTold }

  /// Blocks the calling thread.
  ///
  /// A thread that blocks a queue checks at growing intervals whether the future now
  /// needs that queue. It may come to need the queue only later, when a future upstream
  /// has settled, or when a barrier comes that waits for this thread. A thread that waits for
  /// the first of its own closure and something else, or with a timer, checks the same way
  /// whether its own closure is all that is left.
  ///
  /// - Parameter toFinish: Whether the future also has to finish.
  final func block(toFinish: Bool, deadline: DispatchTime?) -> BlockedOutcome {
    if hasCome(toFinish: toFinish) { return .done }
    let loop = WorkLoop.current
    // Before the flush, which runs the closure if it is inline.
    startBecauseObserved()
    loop.flush()
    if hasCome(toFinish: toFinish) { return .done }
    let thread = BlockedThread(toFinish: toFinish, running: loop.runningFutures)
    thread.willBlock(on: self)
    attach(.callback(thread), isConsumer: !toFinish)
    defer {
      thread.hasBlocked()
      detach(.callback(thread), cancelling: false, isGivingUp: true)
    }
    if loop.holdsUp(endOf: self) { return .needsOwnClosure }
    // The edges are in the graph already. So if two closures wait for each other, at
    // least one of them finds it.
    let mayNeedItself = thread.mayNeedItself(for: self, toFinish: toFinish)
    let blocked = BlockedQueues(of: thread, in: loop)
    blocked.willBlock()
    defer { blocked.hasBlocked() }
    let end = deadline ?? .distantFuture
    var interval = 0.002
    var isSecondLook = false
    while true {
      loop.flushWhatIsKeptInVain()
      if mayNeedItself, thread.needsItself(for: self, toFinish: toFinish) {
        return .needsOwnClosure
      }
      if !blocked.isEmpty, !hasCome(toFinish: toFinish),
        let need = blocked.need(of: self, toFinish: toFinish)
      {
        switch need {
        case .certain(let name):
          // What another thread brings past a barrier seems to be behind it for a moment.
          if isSecondLook || !blocked.hasBarrier { return .needs(queue: name) }
          isSecondLook = true
          if thread.wait(until: min(end, .now() + .milliseconds(100))) == .success { return .done }
          continue
        case .ifSerial(let probe):
          // A serial dispatch queue looks like a concurrent one. But a queue that runs no
          // other block while this block waits is serial.
          // The second look gives its block time to end that has just begun.
          let isOver = { thread.wait(until: min(end, $0)) == .success || end <= .now() }
          if !isOver(.now() + .seconds(1)), probe.looksSerial,
            !isOver(.now() + .milliseconds(250)), probe.looksSerial
          {
            return .needs(queue: probe.name)
          }
        }
      }
      isSecondLook = false
      var next = end
      if mayNeedItself || !blocked.isEmpty {
        next = min(end, .now() + interval)
      } else if blocked.mayGetBarriers {
        next = min(end, .now() + 0.25)
      }
      if thread.wait(until: next) == .success { return .done }
      if next == end { return hasCome(toFinish: toFinish) ? .done : .timedOut }
      interval = min(interval * 2, 0.25)
    }
  }
}

/// A thread that is blocked until a future settles or finishes.
final class BlockedThread: BlockedHolder, @unchecked Sendable {
  // Sendable: never changes after init.
  private let semaphore = BlockingSemaphore(value: 0)
  private let toFinish: Bool
  private let began = DispatchTime.now()

  /// Whether the thread has been blocked for less than a second.
  var hasJustBlocked: Bool { .now() < began + 1 }

  init(toFinish: Bool, running: [AnyFuture]) {
    self.toFinish = toFinish
    super.init(running: running)
  }

  func wait(until deadline: DispatchTime) -> DispatchTimeoutResult {
    let result = semaphore.wait(timeout: deadline)
    // Leaves the semaphore open for the next wait.
    if result == .success { semaphore.signal() }
    return result
  }

  override func deliver(_ source: AnyFuture) { semaphore.signal() }
  override var waitsForFinish: Bool { toFinish }
}
