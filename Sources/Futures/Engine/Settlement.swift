/// How a future has settled, without the value.
@usableFromInline
package enum Outcome: UInt8 {
  case success
  case failure
  case cancelled
}

/// The origin of a settlement.
@usableFromInline
package enum SettlementOrigin {
  /// A producer, a cancellation, a timer.
  case outside
  /// The source, which the future then need not leave.
  case upstream
  /// The future's own closure, which has returned.
  case closure
}

/// The effect of an event on the future as an operation.
package enum Finish: UInt8 {
  /// Nothing now.
  case later
  /// The operation has finished: post it.
  case now
  /// The operation is in a queue: post that it is ready; the queue's start
  /// finishes it.
  case whenStarted
}

/// The delivery of a settled future.
package struct Settlement {
  let finish: Finish
  let outcome: Outcome
  /// Whether the future did not settle by its source, and has to leave it.
  let leavesUpstream: Bool
  let upstream: Upstream
  let work: Work?
  var waiters: WaiterList
  /// Whether waiters that attach before `waiters` have been told are told after
  /// them, by the thread that delivers.
  let mayOthersCome: Bool
  let context: ContextReference
  /// A waiter that has been told, kept here until it is released.
  var rest: Waiter?
}
