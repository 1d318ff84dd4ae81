import Foundation
import Synchronization

/// What a kind of future that another module makes does in its own way.
///
/// A typed task is a future: it settles, keeps who waits, cancels and delivers
/// like any other. What it has of its own (a life before it runs, handlers that
/// come before everybody else) it does here. No lock of the future is held in
/// any of these.
@usableFromInline
package protocol FutureBehaviour: AnyObject, Sendable {
  /// The future has settled.
  ///
  /// `false` to hold back telling those who wait until
  /// `WorkLoop.resumeDelivery(of:)`, where the question is asked again.
  func mayDeliver(_ future: AnyFuture, in loop: WorkLoop) -> Bool

  /// Whether those who want to wait for the settled future need not: all who
  /// come before them have been told, or are just being told by the calling
  /// thread.
  func isTold(_ future: AnyFuture) -> Bool

  /// A future that this one is attached to has settled.
  func upstreamHasSettled(_ future: AnyFuture, _ source: AnyFuture, in loop: WorkLoop)

  /// Something that a `SettlementWaiter` waited for has settled.
  func awaitedHasSettled(_ future: AnyFuture, _ source: AnyFuture, role: SettlementWaiter.Role)

  /// The future has a slot: run.
  func run(_ future: AnyFuture, after source: AnyFuture)

  /// The future is to be put in a queue; `false` if it was before.
  func join(_ future: AnyFuture, _ queue: OperationQueue) -> Bool

  /// Somebody wants the result: a future that does nothing before it is in a
  /// queue, and is in none, joins this one.
  func startIfIdle(_ future: AnyFuture, in queue: OperationQueue)

  /// Whether somebody who does not wait yet may want the value.
  func mayBeWanted(_ future: AnyFuture) -> Bool

  /// What else the future waits for now, beside what the engine knows.
  func awaited(by future: AnyFuture) -> [AnyFuture]

  /// Whether the future needs a slot of a queue in order to settle.
  func needsSlot(_ future: AnyFuture, of queue: OperationQueue) -> Bool
}

/// Tells a future with a behaviour of its own that another one has settled.
@usableFromInline
package final class SettlementWaiter: CallbackWaiter, @unchecked Sendable {
  // Sendable: nothing changes after init.

  /// What the other one is for the future.
  @usableFromInline
  package enum Role: UInt8 {
    /// Something that has to be over first.
    case dependency
    /// Something whose value is wanted.
    case source
    /// What it settles like.
    case inner
    /// Something that has to be over first and whose value is wanted.
    case consumed
  }

  private let future: AnyFuture
  private let isClaimed = Atomic<Bool>(false)
  /// What the other one is.
  package let role: Role
  /// The one waited for.
  package let source: AnyFuture

  /// Makes a waiter that does nothing before it is started.
  package init(_ future: AnyFuture, for source: AnyFuture, as role: Role) {
    self.future = future
    self.source = source
    self.role = role
  }

  /// Starts waiting.
  package func start() { source.attach(.callback(self), isConsumer: isConsumer) }

  /// Whether the caller is the first: the waiter does not tell its future any
  /// more.
  package func claim() -> Bool { !isClaimed.exchange(true, ordering: .acquiringAndReleasing) }

  /// Stops waiting.
  package override func withdraw(cancelling: Bool) {
    source.detach(.callback(self), cancelling: cancelling && isConsumer)
  }

  package override func deliver(_ source: AnyFuture) {
    if claim() { future.behaviour?.awaitedHasSettled(future, source, role: role) }
  }

  package override var isDone: Bool { future.isSettled }
  package override var isConsumer: Bool { role != .dependency }
  package override var upstreams: [AnyFuture] { [source] }
  package override var downstreams: [AnyFuture] { [future] }
}

extension AnyFuture {
  /// Whether the future has settled, and nobody has to be told before those who
  /// wait for it.
  @usableFromInline
  package final var isSettledAndTold: Bool { isSettled && behaviour?.isTold(self) != false }

  /// Takes the closure that the future was made with; `nil` if it has settled
  /// or somebody was faster.
  package final func takeWork() -> Work? { storage.takeWork()?.work }

  /// Makes the future wait for another one, which it leaves should it settle
  /// otherwise; `false` if it has settled.
  package final func waitInstead(for waiter: SettlementWaiter) -> Bool {
    guard storage.wait(for: .source(waiter)) else { return false }
    waiter.start()
    return true
  }

  /// Becomes one of those who wait for its upstream.
  package final func attachToUpstream() {
    upstreamFuture?.attach(.future(self))
  }

  /// The future upstream that the future was made with.
  package final var upstreamFuture: AnyFuture? {
    guard case .future(let future) = storage.upstream else { return nil }
    return future
  }

  /// The futures upstream.
  package final var upstreamFutures: [AnyFuture] { storage.upstream.futures }

  /// Forgets the upstream, for a release without recursion.
  ///
  /// Only for a future that nobody else has any more.
  package final func takeUpstream() -> AnyFuture? {
    guard case .future(let future) = storage.upstream else { return nil }
    _ = storage.wait(for: .none)
    return future
  }

  /// Whether anybody wants the value, at this moment.
  package final var isWanted: Bool { storage.isWanted }

  /// Whether anybody waits, at this moment.
  package final var hasWaiters: Bool { storage.hasWaiters }

  /// Notes that an operation queue of somebody else has the future.
  package final func noteEnqueued() { storage.enqueue(isCertain: true) }

  #if !canImport(Darwin)
    /// Whether an operation queue is just starting the future.
    package final var isBeingStartedByQueue: Bool { OperationState.isStarting(self) }
  #endif
}

#if !canImport(Darwin)
  extension Operation {
    /// Whether an operation queue has the operation, or is just taking it.
    package final var isInOperationQueue: Bool { OperationState.isInQueue(self) }
  }
#endif
