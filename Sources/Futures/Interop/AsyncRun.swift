import Foundation

/// Holds the task of an async closure up until a queue gives it a slot, or never will.
///
/// Afterwards it cancels the task if the future of the closure's result is cancelled.
///
///   new ── slot ──▶ waiting ── begin ──▶ running
///    ├──────── begin ──────────────────▶ running
///    └── the future settles, also from waiting ──▶ over
///
/// A closure that has begun stays running when its future settles: its task, which may not have
/// asked for the slot yet, has to give the slot back.
package final class AsyncRun: CallbackWaiter, @unchecked Sendable {
  // Sendable: `state` is a lock, `hasBegun` an atomic.
  private enum State {
    case new
    case waiting(UnsafeContinuation<Bool, Never>)
    case running
    case over
  }

  private let state = Lock(State.new)
  private let hasBegun = Atomic<Bool>(false)
  // Sendable: set once, before the future has this waiter.
  package nonisolated(unsafe) var task: Task<Void, Never>?
  package let holder: SlotHolder

  package init(in queue: OperationQueue) {
    holder = SlotHolder(in: queue)
    super.init()
  }

  package override var isConsumer: Bool { false }

  /// Waits for the slot; `false` if the queue has dropped the work.
  package nonisolated(nonsending) func slot() async -> Bool {
    await withUnsafeContinuation { continuation in
      let hasSlot = state.withLock { state -> Bool? in
        switch state {
        case .new, .waiting:
          state = .waiting(continuation)
          return nil
        case .running: return true
        case .over: return false
        }
      }
      if let hasSlot { continuation.resume(returning: hasSlot) }
    }
  }

  /// Whether the closure's future is started for the first time.
  ///
  /// A second queue, or a person, may start it again.
  package func isFirstStart() -> Bool {
    !hasBegun.exchange(true, ordering: .acquiringAndReleasing)
  }

  /// Lets the task go on, because the queue has started the closure's future.
  ///
  /// Called once.
  package func begin(for future: AnyFuture) {
    holder.take(for: future)
    let last = state.withLock { state in
      let last = state
      if case .over = last { return last }
      state = .running
      return last
    }
    switch last {
    case .new, .running: break
    case .waiting(let continuation): continuation.resume(returning: true)
    // The future has settled meanwhile, perhaps after it was told that the closure begins.
    case .over:
      holder.leave()
      future.closureHasReturned()
    }
  }

  package override func deliver(_ source: AnyFuture) {
    let last = state.withLock { state in
      let last = state
      if case .running = last { return last }
      state = .over
      return last
    }
    if case .waiting(let continuation) = last { continuation.resume(returning: false) }
    if case .running = last, source.outcome == .cancelled, let task {
      // The closure's own handlers of cancellation run in this call.
      WorkLoop.current.runInline { releasingAutoreleased { task.cancel() } }
    }
  }
}
