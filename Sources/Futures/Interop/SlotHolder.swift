import Foundation

/// An async closure that holds a slot of an operation queue.
///
/// If the closure awaits a future that needs the same slot, the wait cannot end. The same
/// holds for inline handlers of the closure's future, which run in the slot, too. Only waits
/// of the closure's own task count, because a child task or another task that the closure
/// has started may outlive the slot.
package final class SlotHolder: RunningClosure, @unchecked Sendable {
  // Sendable: `slot` and `task` are locks; the rest never changes.

  /// The queue whose slot the closure holds, if the library knows it.
  let queue: OperationQueue?
  private let slot = Lock<PlaceholderOperation?>(nil)
  /// The task that runs the closure, until the slot is free; `nil` before.
  private let task = Lock<Int?>(nil)

  /// Makes the holder of a slot that the queue has yet to give.
  init(in queue: OperationQueue) {
    self.queue = queue
    super.init(for: nil)
  }

  /// Makes the holder of a slot that the future itself keeps.
  ///
  /// - Parameter isWork: Whether the closure does the work of the future, so that its reports
  ///   are the progress of the future.
  package init(keptBy future: AnyFuture, in queue: OperationQueue?, isWork: Bool = true) {
    self.queue = queue
    super.init(for: future, isWork: isWork)
  }

  /// Takes the slot, because the queue has started the closure's future.
  func take(for future: AnyFuture) {
    begin(for: future)
    if let placeholder = future.storage.placeholder, placeholder.hold() {
      slot.replace(with: placeholder)
    }
  }

  /// Gives the slot back.
  package func leave() {
    hasRun()
    slot.withLock { $0.take() }?.release()
  }

  package override func willRun() { task.replace(with: Self.currentTask) }

  package override func hasRun() {
    task.replace(with: nil)
    super.hasRun()
  }

  /// The holder in whose slot the current task runs; `nil` if there is none.
  static var ofCurrentTask: SlotHolder? {
    guard let holder = current as? SlotHolder,
      let task = holder.task.withLock({ $0 }), task == currentTask
    else { return nil }
    return holder
  }

  /// The identity of the current task.
  private static var currentTask: Int? { withUnsafeCurrentTask { $0?.hashValue } }
}

/// One await in an async closure that holds a slot.
///
/// Checks at growing intervals whether the future now needs a slot that cannot become
/// free. It may come to need the queue only later, when a future upstream has settled.
/// Thousands of closures may await at the same time, so the check is cheap while any slot
/// is free or in use, and the intervals grow to some seconds.
///
///   idle ── begin ──▶ waiting ── watch, timer ──▶ waiting
///    │                   │ the wait cannot end, or end
///    └─────── end ────▶ ended
final class SlotWait: Sendable {
  private enum State {
    case idle
    case waiting(Timer?)
    case ended
  }

  private let future: AnyFuture
  private let body: BlockedHolder
  private let queues: BlockedQueues
  private let state = Lock(State.idle)

  init(of holder: SlotHolder, for future: AnyFuture) {
    self.future = future
    body = BlockedHolder(running: holder.future.map { [$0] } ?? [])
    queues = BlockedQueues(of: body, in: holder.queue)
  }

  /// Begins the wait, before the awaiting task is suspended: until then, only the task may be
  /// cancelled, and no other wait of the closure begins.
  func begin() {
    body.willBlock(on: future)
    queues.willBlock()
    let hasEnded = state.withLock { state in
      guard case .idle = state else { return true }
      state = .waiting(nil)
      return false
    }
    if hasEnded { leave() }
  }

  /// Looks now and again whether the wait can end; the awaiting task is in the future's list of
  /// waiters already.
  ///
  /// - Parameter fail: Ends the await with an error.
  func watch(_ fail: @escaping @Sendable (any Error) -> Void) {
    // The edges are in the graph already. So if two closures wait for each other, at least
    // one of them finds the cycle.
    let mayNeedItself = body.mayNeedItself(for: future)
    look(after: mayNeedItself || !queues.isEmpty ? 0.002 : 1, mayNeedItself, fail)
  }

  /// - Parameters:
  ///   - mayNeedItself: Whether a path in the graph leads from the future to the closure.
  ///   - isSecond: Whether the last look has found that the wait cannot end. One look is not
  ///     enough: while another thread brings a closure past a barrier, the closure seems to be
  ///     behind it. That thread may stand still meanwhile.
  private func look(
    after interval: Double, _ mayNeedItself: Bool, isSecond: Bool = false,
    _ fail: @escaping @Sendable (any Error) -> Void
  ) {
    if mayNeedItself, body.needsItself(for: future) {
      return end(with: .cycle(createdAt: future.createdAt), fail)
    }
    // A closure that blocks nothing comes to do so only if a barrier comes. Many such closures
    // may await for a long time.
    let isHarmless = !mayNeedItself && queues.isEmpty
    if isHarmless, !queues.mayGetBarriers { return }
    let name = isHarmless ? nil : queueThatStaysBlocked
    if isSecond, let name { return end(with: .wouldDeadlock(queue: name), fail) }
    let isNextSecond = name != nil
    let pause = isNextSecond ? (queues.hasBarrier ? 0.1 : 0.002) : interval
    let timer = Timer(after: .seconds(pause)) { [weak self] _ in
      let longest: Double = isHarmless ? 64 : 8
      self?.look(after: min(interval * 2, longest), mayNeedItself, isSecond: isNextSecond, fail)
    }
    let isOver = state.withLock { state in
      guard case .waiting = state else { return true }
      state = .waiting(timer)
      return false
    }
    if isOver { timer.cancel() }
  }

  /// The queue whose slot the future needs, if that slot cannot become free.
  private var queueThatStaysBlocked: String? {
    guard queues.areAllSlotsBlocked || queues.hasBarrier, !future.isSettled,
      case .certain(let name)? = queues.need(of: future, toFinish: false)
    else { return nil }
    return name
  }

  /// Ends the wait, and then the await: the task may begin its next wait at once.
  private func end(
    with error: ProperationsError, _ fail: @Sendable (any Error) -> Void
  ) {
    end()
    fail(error)
  }

  /// Ends the wait.
  func end() {
    let last = state.exchange(for: .ended)
    guard case .waiting(let timer) = last else { return }
    timer?.cancel()
    leave()
  }

  private func leave() {
    queues.hasBlocked()
    body.hasBlocked()
  }
}
