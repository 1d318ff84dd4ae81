import Foundation

// What a settlement is made of, and what is left to do after one.

/// Something to do when a future settles, however it does.
package struct SettlementHandler {
  /// Whether it is only for cancellation.
  let onlyOnCancellation: Bool
  /// Whether a user wrote it, so that it runs like an inline closure.
  let isUserCode: Bool
  let body: (AnyFuture) -> Void
}

/// Handlers in the order in which they came.
///
/// Most futures never have any; an optional array tells that by a comparison.
package struct HandlerList {
  private var all: [SettlementHandler]?

  @inline(__always) package var isEmpty: Bool { all == nil }
  package var count: Int { all?.count ?? 0 }

  mutating func append(_ handler: SettlementHandler) {
    if all?.append(handler) == nil { all = [handler] }
  }

  @inline(__always)
  mutating func take() -> HandlerList { HandlerList(all: all.take()) }

  func forEach(_ body: (SettlementHandler) -> Void) { all?.forEach(body) }
}

/// What a future has settled with, without the value.
@usableFromInline
package enum Outcome: UInt8 {
  case success
  case failure
  case cancelled
}

/// Who settles.
@usableFromInline
package enum SettlementOrigin {
  /// A producer, a cancellation, a timer.
  case outside
  /// The future waited for: there is nothing to leave any more.
  case upstream
  /// The future's own closure, which has returned with this.
  case closure
}

/// What settling means for a future as an operation.
package enum Finish: UInt8 {
  /// Nothing now: it finishes when its closure returns, or has finished.
  case later
  /// It has finished: say so.
  case now
  /// It is in a queue: become ready, the queue's start finishes it.
  case whenStarted
}

/// What is left to do, outside the lock, after a future has settled.
package struct Settlement {
  let finish: Finish
  let outcome: Outcome
  /// Whether the future settled otherwise than by what it waited for, and has
  /// to leave that.
  let leavesUpstream: Bool
  let upstream: Upstream
  let work: Work?
  let handlers: HandlerList
  var waiters: WaiterList
  /// Whether those who attach before `waiters` have been told are told after
  /// them, by whoever delivers.
  let mayOthersCome: Bool
  let context: ContextReference
  /// Only to be released.
  let home: OperationQueue?
}
