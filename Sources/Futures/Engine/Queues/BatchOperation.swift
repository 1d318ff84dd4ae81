import Foundation

/// The placeholder operation that a context is asked to start.
///
///   made ── start ──▶ running ──▶ finished          a second start: ignored
///     └──── released unstarted: the continuation's promise is broken
///
/// The queue holds this operation and not the future itself, for four reasons. A future
/// finishes when its own closure has run, but the slot then goes to the next closure. A
/// future that waits for an inner one holds no slot. The release of this operation shows
/// that a context has dropped it. And a user may put the future itself in any queue.
package final class BatchOperation: PlaceholderOperation, BatchPlaceholder, @unchecked Sendable {
  // Sendable: `futures` has a lock; `context` never changes.
  private let context: ContextReference
  // Sendable: taken once, by `begin()`, which the base class calls once, or by `deinit`.
  private nonisolated(unsafe) var continuation: Continuation?
  private let futures: Lock<(current: AnyFuture?, next: AnyFuture?)>
  private let whenFinished: (@Sendable () -> Void)?
  /// Whether the operation runs handlers of a typed task, or the closure of an operator that
  /// was to run in the slot of the task upstream.
  package let isForTask: Bool

  package init(
    _ continuation: consuming Continuation, on context: ContextReference,
    whenFinished: (@Sendable () -> Void)? = nil
  ) {
    let future = continuation.future
    futures = Lock((continuation.isLink ? future : nil, nil))
    self.context = context
    self.whenFinished = whenFinished
    switch continuation.kind {
    case .handler, .link: isForTask = future.behaviour != nil
    case .cleanup, .question: isForTask = false
    }
    self.continuation = consume continuation
    super.init()
    beginReady()
    if future.hasCustomScheduling { takeScheduling(of: future) }
  }

  deinit { continuation?.abandon() }

  package var current: AnyFuture? {
    get { futures.withLock { $0.current } }
    set {
      // The old futures are released after unlock.
      _ = futures.withLock { occupants in
        defer { occupants = (newValue, nil) }
        return occupants
      }
    }
  }

  package var next: AnyFuture? {
    get { futures.withLock { $0.next } }
    set {
      // The old future is released after unlock.
      let last = futures.withLock { occupants in
        defer { occupants.next = newValue }
        return occupants.next
      }
      withExtendedLifetime(last) {}
    }
  }

  package override func begin() {
    guard let continuation = continuation.take() else { return }
    if case .handler = continuation.kind, isCancelled { return continuation.abandon() }
    WorkLoop.current.runBatch(continuation, on: context, placeholder: self)
  }

  package override func didFinish() { whenFinished?() }

  package override var occupants: [AnyFuture] {
    let (current, next) = futures.withLock { $0 }
    return [current, next].compactMap { $0 }
  }

  package override func cancelOccupants() {
    let (current, next) = futures.withLock { $0 }
    // Cancels the next future first: it would run as soon as the current one has ended.
    next?.cancel()
    current?.cancel()
  }
}
