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
  /// The source. The future then need not leave the source.
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
  /// The operation is in a queue: post that it is ready. It finishes when the queue
  /// starts it.
  case whenStarted
}

/// The delivery of a settled future.
package struct Settlement {
  let finish: Finish
  let outcome: Outcome
  /// Whether the future has to leave its source, because it did not settle like the
  /// source.
  let leavesUpstream: Bool
  let upstream: Upstream
  let work: Work?
  var waiters: WaiterList
  /// Whether more waiters may attach while `waiters` are told.
  ///
  /// The delivering thread tells them afterwards.
  let mayOthersCome: Bool
  let context: ContextReference
  /// A waiter that has been told.
  ///
  /// It is kept here until the release between the steps.
  var rest: Waiter?
}
