import Foundation

/// Holds the task of an async closure up until a queue gives it a slot, or never will.
///
/// Afterwards it cancels the task if the future of the closure's result is cancelled.
///
///   new ── slot ──▶ waiting ── begin ──▶ running
///    ├──────── begin ──────────────────▶ running
///    └── the future settles ──▶ over ◀──────┘
package final class AsyncRun: CallbackWaiter, @unchecked Sendable {
  // Sendable: `state` is a lock.
  private enum State {
    case new
    case waiting(UnsafeContinuation<SlotHolder?, Never>)
    case running(SlotHolder?)
    case over
  }

  private let state = Lock(State.new)
  // Sendable: set once, before the future has this waiter.
  package nonisolated(unsafe) var task: Task<Void, Never>?

  package override init() { super.init() }

  package override var isConsumer: Bool { false }

  /// Waits for the slot; `nil` if the queue has dropped the work.
  package func slot() async -> SlotHolder? {
    await withUnsafeContinuation { continuation in
      let holder = state.withLock { state -> SlotHolder?? in
        switch state {
        case .new, .waiting:
          state = .waiting(continuation)
          return nil
        case .running(let holder):
          state = .running(nil)
          return holder
        case .over:
          return .some(nil)
        }
      }
      if let holder { continuation.resume(returning: holder) }
    }
  }

  /// Lets the task go on, because the queue has started the closure's future.
  package func begin(for future: AnyFuture, in queue: OperationQueue) {
    let holder = SlotHolder(future, in: queue)
    let continuation = state.withLock { state -> UnsafeContinuation<SlotHolder?, Never>? in
      switch state {
      case .new:
        state = .running(holder)
        return nil
      case .waiting(let continuation):
        state = .running(nil)
        return continuation
      case .running, .over:
        return nil
      }
    }
    continuation?.resume(returning: holder)
  }

  package override func deliver(_ source: AnyFuture) {
    let last = state.withLock { state in
      defer { state = .over }
      return state
    }
    if case .waiting(let continuation) = last { continuation.resume(returning: nil) }
    if case .running = last, source.outcome == .cancelled, let task {
      // The closure's own handlers of cancellation run in this call.
      WorkLoop.current.runInline { task.cancel() }
    }
  }
}
