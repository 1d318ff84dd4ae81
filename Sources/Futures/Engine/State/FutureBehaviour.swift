import Foundation
import Synchronization

/// The hooks of a future whose class is in another module.
///
/// A typed task is a future: it settles, keeps waiters, cancels and delivers like any
/// other. These hooks add the part of its life before it runs, and handlers that run
/// before any waiter is told. The library holds no lock of the future when it calls a
/// hook.
@usableFromInline
package protocol FutureBehaviour: AnyObject, Sendable {
  /// Asks whether a future that has settled may deliver.
  ///
  /// `false` holds the delivery back until `WorkLoop.resumeDelivery(of:)`, which asks
  /// again.
  func mayDeliver(_ future: AnyFuture, in loop: WorkLoop) -> Bool

  /// Tells the behaviour that the future upstream has settled, or the source of a
  /// `SettlementWaiter`.
  func sourceHasSettled(_ future: AnyFuture, _ source: AnyFuture, as role: SettlementWaiter.Role)

  /// Runs the future, which has a slot.
  func run(_ future: AnyFuture, after source: AnyFuture)

  /// Puts the future in a queue.
  ///
  /// Returns `false` if the future is, or was, in one.
  ///
  /// - Parameter implicitly: Whether the reason is that a consumer wants the result. A future
  ///   that needs no queue stays in none then.
  func join(_ future: AnyFuture, _ queue: OperationQueue, implicitly: Bool) -> Bool

  /// Tells the behaviour that an operation queue of another kind is about to take the
  /// future as an operation.
  func willBeAdded(_ future: AnyFuture, to queue: OperationQueue)

  /// Whether the future is wanted although its last consumer has left.
  ///
  /// - Parameter leaver: The consumer that has left, if it was a future.
  func isStillWanted(_ future: AnyFuture, without leaver: AnyFuture?) -> Bool

  /// The futures that this one waits for at this moment, apart from those that the engine
  /// knows.
  ///
  /// `nil` if it does not yet wait for any future, including those.
  func awaited(by future: AnyFuture) -> [AnyFuture]?

  /// The first futures that wait for this one at this moment, apart from its waiters.
  ///
  /// - Parameter limit: How many, at most.
  func awaiting(_ future: AnyFuture, limit: Int) -> [AnyFuture]

  /// What the future needs at this moment in order to settle.
  func need(of future: AnyFuture) -> FutureNeed

  /// What the future waits for, apart from futures; `nil` if that is a slot of its queue, or
  /// if the future is in no queue.
  func reasonsToWait(_ future: AnyFuture) -> [FutureExplanation.Reason]?

  /// What the progress of the pending future is made of; `nil` if only its own work tells it.
  func progressParts(of future: AnyFuture) -> ProgressParts?
}

extension FutureBehaviour {
  @usableFromInline
  package func willBeAdded(_ future: AnyFuture, to queue: OperationQueue) {}

  @usableFromInline
  package func reasonsToWait(_ future: AnyFuture) -> [FutureExplanation.Reason]? { nil }

  @usableFromInline
  package func progressParts(of future: AnyFuture) -> ProgressParts? { nil }
}

/// The needs of a future with a behaviour at this moment.
@usableFromInline
package enum FutureNeed {
  /// All futures that it waits for, and nothing else.
  case allAwaited
  /// One of the futures that it waits for.
  case oneOfAwaited
  /// All futures that it waits for, and a slot of a queue.
  case slot(of: OperationQueue)
}

/// Tells a future that has a behaviour that another future has settled.
@usableFromInline
package final class SettlementWaiter: CallbackWaiter, @unchecked Sendable {
  // Sendable: nothing changes after init.

  /// The purpose of the wait.
  @usableFromInline
  package enum Role: UInt8 {
    /// The source is the upstream that the future was made with. No `SettlementWaiter` waits
    /// for it.
    case upstream
    /// The source has to finish before the future runs.
    case dependency
    /// The future wants the value of the source.
    case source
    /// The future settles like the source.
    case inner
    /// The source has to finish before the future runs, and the future wants its value.
    case consumed
    /// The source is a part of the future, even after the future has settled.
    case part
  }

  private let future: AnyFuture
  private let hasBeenClaimed = Atomic<Bool>(false)
  /// The purpose of the wait.
  package let role: Role
  private let edge: Upstream

  /// Makes a waiter that does nothing until it is started.
  ///
  /// A waiter for a dependency that has no behaviour does not own it: a promise that
  /// everybody else drops then breaks.
  package init(_ future: AnyFuture, for source: AnyFuture, as role: Role) {
    self.future = future
    self.role = role
    edge =
      role == .dependency && source.behaviour == nil
      ? .reference(source.reference) : .future(source)
  }

  /// The future waited for, if it still exists.
  package var source: AnyFuture? { edge.future }

  /// Starts waiting.
  ///
  /// The caller keeps the future waited for until this call returns.
  package func start() { source?.attach(.callback(self), isConsumer: isConsumer) }

  /// Claims the waiter, which then no longer tells its future.
  ///
  /// Returns whether the caller is the first.
  package func claim() -> Bool { !hasBeenClaimed.exchange(true, ordering: .acquiringAndReleasing) }

  /// Whether the waiter no longer tells its future.
  package var isClaimed: Bool { hasBeenClaimed.load(ordering: .acquiring) }

  /// Stops waiting.
  package override func withdraw(cancelling: Bool) {
    source?.detach(.callback(self), cancelling: cancelling && isConsumer)
  }

  package override func deliver(_ source: AnyFuture) {
    if claim() { future.behaviour?.sourceHasSettled(future, source, as: role) }
  }

  package override var isDone: Bool { role != .part && future.isSettled }
  package override var isConsumer: Bool { role != .dependency }
  package override var upstreams: [AnyFuture] { edge.futures }
  package override var downstreams: [AnyFuture] { [future] }
}

extension AnyFuture {
  /// Whether the future has settled, and waiting for it can be skipped: its earlier handlers
  /// have been told, or the calling thread is telling them.
  @usableFromInline
  package final var isSettledAndTold: Bool {
    guard isSettled else { return false }
    return behaviour == nil || storage.isDelivered
      || WorkLoop.current.futuresOfHandlers.contains { $0 === self }
  }

  /// Takes the closure that the future was made with.
  ///
  /// Returns `nil` if the future has settled or the closure was taken before.
  package final func takeWork() -> Work? { storage.takeWork()?.work }

  /// Makes the future wait for another one, which it leaves if it settles in another way.
  ///
  /// Returns `false` if the future has settled.
  package final func waitInstead(for waiter: SettlementWaiter) -> Bool {
    guard storage.wait(for: .source(waiter)) else { return false }
    waiter.start()
    guard isSettled else { return true }
    // It may have been cancelled before the waiter started, and then has not left the other one.
    waiter.withdraw(cancelling: true)
    return false
  }

  /// The task or future that this future settles like; `nil` if there is none yet.
  package final var innerFuture: AnyFuture? {
    guard case .source(let source) = storage.upstream,
      let waiter = source as? SettlementWaiter, waiter.role == .inner
    else { return nil }
    return waiter.source
  }

  /// Adds the future to the waiters of its upstream.
  package final func attachToUpstream() {
    upstreamFuture?.attach(.future(self))
  }

  /// The future upstream that this future was made with.
  package final var upstreamFuture: AnyFuture? {
    // A condition of the future that waits replaces the edge meanwhile.
    guard case .future(let future) = edgeBeforeBlocking else { return nil }
    return future
  }

  /// Takes the upstream out, for a release without recursion.
  ///
  /// Only for a future that has no other reference.
  package final func takeUpstream() -> AnyFuture? {
    guard case .future(let future) = storage.upstream else { return nil }
    _ = storage.wait(for: .none)
    return future
  }

  /// Whether the future has a consumer at this moment.
  package final var isWanted: Bool { storage.isWanted }

  /// Whether the future has a waiter at this moment.
  package final var hasWaiters: Bool { storage.hasWaiters }

  /// Whether the future is in a queue, was in one, or has a placeholder in one, as far as the
  /// library knows.
  package final var belongsToQueue: Bool { storage.belongsToQueue }

  /// Records that an operation queue holds the future itself.
  package final func noteEnqueued() { storage.enqueue(isCertain: true) }

  /// Records that an operation queue is about to take the future itself.
  ///
  /// From now on the future finishes only when the queue has started it, unless
  /// `hasBeenAdded()` finds that no queue has taken it. On Linux a future that finished while
  /// the queue takes it would stop the process, or stay in the queue for ever.
  ///
  /// Returns `false` if the future has finished. A queue must not take it then.
  package final func prepareForQueue() -> Bool {
    uses.bitwiseOr(Self.isBeingAdded, ordering: .sequentiallyConsistent)
    noteEnqueued()
    return !isFinished
  }

  /// Records that an operation queue has taken the future, or has dropped it.
  ///
  /// Called after `prepareForQueue()`, by the caller of that: another thread may be between
  /// the two at this moment.
  package final func hasBeenAdded() {
    uses.bitwiseAnd(~Self.isBeingAdded, ordering: .sequentiallyConsistent)
    // No other thread may look any more whether a queue has taken it.
    if isSettled, !isFinished { finishUnstartedEventually(after: 0.001) }
  }

  /// Whether an operation queue is starting the future right now, as far as the library
  /// can tell.
  package final var isBeingStartedByQueue: Bool { OperationState.isStarting(self) }
}

extension Operation {
  /// Whether an operation queue holds the operation or is adopting it.
  ///
  /// `nil` if the platform does not tell.
  package final var isInOperationQueue: Bool? {
    OperationState.isKnown(self) ? OperationState.isInQueue(self) : nil
  }
}
