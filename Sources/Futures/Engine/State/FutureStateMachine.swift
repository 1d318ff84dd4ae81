// The state of a future, as a pure value.
//
//                   attach, leave (any time before it has settled)
//                       ┌───┐
//                       ▼   │
//   made ───────────▶ waiting ──────────── settle ───────────────────┐
//                     │     ▲                                        │
//                 run │     │ wait(for:)                             │
//                     ▼     │ (the closure returned a future)        │
//                     running ──────────── settle by the closure ────┤
//                     │                                              │
//                     │ settle by another caller: the result is known│
//                     ▼                                              ▼
//             settledWhileRunning ── closureReturned ───────▶ settledInQueue,
//                                                             or finished
//
//             settledInQueue ── start, finishUnstarted ─────▶ finished
//
// A future of `Promises.async` begins in another phase, because its closure runs in a Swift
// task, and waits there without a thread:
//
//   runningInTask ── closureReturned ──▶ waiting
//        └── settle ──▶ settledWhileRunning
//
// `settledInQueue` is the phase of a future that an operation queue itself holds.
// Foundation's queues break when such an operation finishes before they have started it.
// The future becomes ready instead, and finishes when the queue starts it. The place of
// the future is independent of its phase:
//
//   none ── join ──▶ member ──┐ enqueue           a library placeholder stands
//     │                       ▼                   in the queue for a member
//     └── enqueue ──────▶ queued ── start ──▶ started ── enqueue ──▶ queuedAgain
//                                               ▲                        │
//                                               └──────── start ─────────┘
//
// A future whose work a placeholder or a person has started may still come into a queue
// itself: that is `queuedAgain`. A start counts while the closure runs, too.
//
// Who owns what:
//   waiters    from attach to settle or leave; the list owns them
//   upstream   from init or wait(for:) to the delivery; the edge by which the
//              future leaves the source
//   work       from init to run or the delivery
//   context    from init to the delivery
//   extras     from first use to the release
//
// Each settlement is followed by one *delivery*, on the thread that settled the future.
// The delivery takes waiters, upstream, work and context out of the machine. After that
// the machine holds no object that a user's closure captured. An observer that only its
// source's list holds has no delivery: it settles and gives its closure away in one
// event, `settleUnseen`. A waiter that attaches before the delivery has told all others
// is appended to the list. So the order of attachment holds across threads:
//
//   none ── settle ──▶ telling ── deliver: no waiter, or a single one ──▶ none
//                         │       whose closure runs inline
//                         └── late waiters taken: none is left ────────▶ none
//
// Every event is called with the lock held. It calls no other object; it returns
// an action, which `FutureStorage` and `AnyFuture` perform after unlock.

import Foundation

/// A closure that makes a future's result from the settled future upstream.
///
/// The closure runs at most once. It always ends by settling its future or by making the
/// future wait for another one.
///
/// A struct, because generic code would wrap a bare closure in another closure.
@usableFromInline
package struct Work: Sendable {
  @usableFromInline let body: @Sendable (_ future: AnyFuture, _ source: AnyFuture) -> Void

  @inlinable
  package init(_ body: @escaping @Sendable (_ future: AnyFuture, _ source: AnyFuture) -> Void) {
    self.body = CarriedTaskLocals.bind(body)
  }

  /// Calls the closure.
  package func callAsFunction(_ future: AnyFuture, _ source: AnyFuture) { body(future, source) }
}

/// The state of a future, without its value and without a lock.
package struct FutureStateMachine: ~Copyable {
  enum Phase: UInt8 {
    case waiting
    /// A Swift task runs an async closure, which settles the future.
    case runningInTask
    case running
    case settledWhileRunning
    case settledInQueue
    case finished
  }

  enum Place: UInt8 {
    /// In no queue, as far as the library knows.
    case none
    /// Some code has read `isReady`, perhaps a queue that is adopting the future.
    case perhapsQueued
    /// A placeholder operation stands in a queue for the future.
    case member
    /// A queue holds the operation itself.
    case queued
    /// The queue that holds the operation, or its placeholder, has started it.
    case started
    /// Started like that, and now a further queue holds the operation itself.
    case queuedAgain
  }

  private(set) var phase = Phase.waiting
  private(set) var place = Place.none
  private(set) var outcome = Outcome.success
  private(set) var isTelling = false
  private(set) var isDelivered = false
  private var leavesUpstream = false
  /// Whether a consumer has left because it was cancelled.
  private var wasCancelledFromBelow = false
  private(set) var finish = Finish.later
  private(set) var consumerCount: Int32 = 0
  private(set) var upstream: Upstream
  private(set) var work: Work?
  private(set) var context: ContextReference
  private(set) var waiters = WaiterList()
  private var reference: FutureReference?
  /// The parts that most futures never need.
  private(set) var extras: FutureExtras?

  @inline(__always)
  init(
    upstream: consuming Upstream, work: consuming Work?,
    context: consuming ContextReference = .inline
  ) {
    self.upstream = upstream
    self.work = work
    self.context = context
  }

  @inline(__always)
  var isSettled: Bool { phase.rawValue >= Phase.settledWhileRunning.rawValue }

  /// Whether the future has no upstream.
  var waitsForNothing: Bool { if case .none = upstream { true } else { false } }

  @inline(__always)
  var isClosureActive: Bool { phase == .running || phase == .settledWhileRunning }

  // MARK: Waiters

  /// Adds a waiter.
  ///
  /// Returns `false` if the future has settled and delivered. The caller then tells the
  /// waiter.
  @inline(__always)
  mutating func attach(_ waiter: Waiter, isConsumer: Bool) -> Bool {
    if isSettled, !isTelling {
      guard waiter.waitsForFinish, phase != .finished else { return false }
      keepUntilFinish(waiter)
      return true
    }
    waiters.append(waiter, isConsumer: isConsumer)
    if isConsumer { consumerCount += 1 }
    return true
  }

  /// Keeps a waiter that is told when the operation has finished.
  ///
  /// Returns `false` if the operation has finished.
  @discardableResult
  mutating func keepUntilFinish(_ waiter: Waiter) -> Bool {
    guard phase != .finished else { return false }
    needExtras().finishWaiters.append(waiter, isConsumer: false)
    waiter.keepUntilFinish()
    return true
  }

  /// Turns a watcher into a consumer, because one of its own consumers now wants the value, or
  /// a consumer back into a watcher.
  ///
  /// Returns `false` if the waiter has that role already, or has been told.
  mutating func becomeConsumer(_ waiter: Waiter, if isConsumer: Bool = true) -> Bool {
    guard !isSettled, waiter.isEnlisted, waiter.isConsumer != isConsumer else { return false }
    waiter.become(consumer: isConsumer)
    consumerCount += isConsumer ? 1 : -1
    return true
  }

  /// Returns the waiters that attached while others were told.
  ///
  /// Ends the delivery if there are none.
  @inline(__always)
  mutating func takeLateWaiters() -> WaiterList {
    if waiters.isEmpty { isTelling = false }
    return waiters.take()
  }

  /// Removes a waiter.
  ///
  /// - Parameter cancelling: Whether the waiter leaves because it was cancelled. A waiter
  ///   that only stops waiting does not change the future.
  /// - Returns: Whether the caller has to cancel the future: no consumer is left, and at
  ///   least one was cancelled, or the waiter itself.
  mutating func leave(_ waiter: Waiter, cancelling: Bool) -> Bool {
    if isSettled {
      // The waiters that are being told are no longer in a list of this machine.
      if phase != .finished, waiter.isKeptUntilFinish { _ = extras?.finishWaiters.remove(waiter) }
      return false
    }
    guard let wasConsumer = waiters.remove(waiter) else { return false }
    if wasConsumer { consumerCount -= 1 }
    if wasConsumer, cancelling { wasCancelledFromBelow = true }
    return consumerCount == 0 && (wasCancelledFromBelow || cancelling)
  }

  /// The unowned reference to this future, shared by all edges.
  mutating func reference(to future: AnyFuture) -> FutureReference {
    if let reference { return reference }
    let made = FutureReference(future)
    reference = made
    return made
  }

  /// Returns the parts that most futures never need, and makes them at the first use.
  mutating func needExtras() -> FutureExtras {
    if let extras { return extras }
    let made = FutureExtras()
    extras = made
    return made
  }

  // MARK: Work

  /// Starts the closure, because the context has started the future.
  ///
  /// Returns the closure to run and the edge to release, or `nil` if the future has
  /// settled or its closure was taken.
  @inline(__always)
  mutating func run() -> (work: Work, upstream: Upstream)? {
    guard phase == .waiting, let work = work.take() else { return nil }
    phase = .running
    return (work, exchange(&upstream, for: .none))
  }

  /// Records that a Swift task runs an async closure for a new future.
  ///
  /// The future does not execute as an operation, so that a queue that holds it gives it no
  /// slot. If it settles before the closure has returned, it executes until then.
  mutating func runInTask() { phase = .runningInTask }

  /// Takes the closure out, together with its context.
  mutating func takeWork() -> (work: Work, context: ContextReference)? {
    guard let work = work.take() else { return nil }
    return (work, context)
  }

  /// Makes the future wait for another source.
  ///
  /// If the future's closure was running, it has returned.
  ///
  /// - Returns: The old edge, which the caller releases, or `nil` if the future has
  ///   settled.
  mutating func wait(for new: Upstream) -> Upstream? {
    guard !isSettled else { return nil }
    phase = .waiting
    return exchange(&upstream, for: new)
  }

  /// Records the source that the running closure's thread blocks for, and returns the old
  /// edge.
  mutating func block(on new: Upstream) -> Upstream? {
    guard phase == .running else { return nil }
    return exchange(&upstream, for: new)
  }

  /// Records that the closure has returned after the future settled, or that an async closure
  /// has returned.
  mutating func closureReturned() -> Finish {
    if phase == .runningInTask { phase = .waiting }
    guard phase == .settledWhileRunning else { return .later }
    return finishOrBecomeReady()
  }

  // MARK: Settling

  /// Settles the future.
  ///
  /// Returns `false`, and changes nothing, if it had settled before.
  @inline(__always)
  mutating func settle(_ outcome: Outcome, from origin: SettlementOrigin) -> Bool {
    guard !isSettled else { return false }
    self.outcome = outcome
    isTelling = true
    leavesUpstream = origin == .outside
    if phase == .running && origin != .closure || phase == .runningInTask {
      phase = .settledWhileRunning
    } else {
      finish = finishOrBecomeReady()
    }
    return true
  }

  /// Settles a future that no other object holds, and whose closure is all there is to
  /// deliver.
  ///
  /// Returns `nil`, and changes nothing, if another object has used the future through a
  /// weak reference meanwhile.
  ///
  /// - Parameter isActing: Whether the closure runs. If it does not run, the future keeps
  ///   it. The closure is then released with the future, not in the middle of a step.
  mutating func settleUnseen(
    _ outcome: Outcome, isActing: Bool
  ) -> (work: Work?, context: ContextReference, upstream: Upstream)? {
    guard phase == .waiting, place == .none, waiters.isEmpty, extras == nil else { return nil }
    self.outcome = outcome
    phase = .finished
    return (isActing ? work.take() : nil, context, exchange(&upstream, for: .none))
  }

  /// Returns the delivery.
  ///
  /// Called once.
  @inline(__always)
  mutating func deliver() -> Settlement {
    // Inline closures that several threads attach have no order among them.
    let mayOthersCome = !waiters.isEmpty && !waiters.isOneInline
    if !mayOthersCome { isTelling = false }
    isDelivered = true
    return Settlement(
      finish: finish, outcome: outcome, leavesUpstream: leavesUpstream,
      upstream: exchange(&upstream, for: .none), work: work.take(), waiters: waiters.take(),
      mayOthersCome: mayOthersCome, context: exchange(&context, for: .inline))
  }

  /// Whether a queue holds the future, or perhaps does, and has not started it.
  @inline(__always)
  var isHeld: Bool { place == .queued || place == .perhapsQueued || place == .queuedAgain }

  /// Whether a queue has started the work that the future does there.
  @inline(__always)
  var wasStarted: Bool { place == .started || place == .queuedAgain }

  @inline(__always)
  private mutating func finishOrBecomeReady() -> Finish {
    if isHeld {
      phase = .settledInQueue
      return .whenStarted
    }
    phase = .finished
    return .now
  }

  // MARK: Life in an operation queue

  /// Records that a queue holds the operation itself, or is adopting it.
  ///
  /// - Parameter isCertain: `false` if the reader of `isReady` may not be a queue.
  mutating func enqueue(isCertain: Bool) {
    guard phase != .finished else { return }
    switch place {
    case .none, .perhapsQueued: place = isCertain ? .queued : .perhapsQueued
    case .member: if isCertain { place = .queued }
    case .started: if isCertain { place = .queuedAgain }
    case .queued, .queuedAgain: break
    }
  }

  /// Records that the operation has been started, by its queue or by hand.
  mutating func start() -> Finish {
    guard phase != .finished else { return .later }
    place = .started
    guard phase == .settledInQueue else { return .later }
    return finishOrBecomeReady()
  }

  /// Finishes an operation that no queue has started, because it turned out to be in
  /// none.
  mutating func finishUnstarted() -> Finish { phase == .settledInQueue ? start() : .later }

  /// Makes the future a member of a queue that the future itself does not enter.
  ///
  /// Returns `false` if the future is, or was, in a queue already.
  mutating func join() -> Bool {
    guard place == .none || place == .perhapsQueued else { return false }
    // A future that has settled waits for the queue that may hold it.
    if phase != .settledInQueue { place = .member }
    return true
  }

  // MARK: Release

  /// Returns the edge and the waiters of a future that is released unsettled.
  mutating func abandon() -> (upstream: Upstream, waiters: WaiterList) {
    (exchange(&upstream, for: .none), waiters.take())
  }
}

/// The parts of a future's state that most futures never need.
///
/// Guarded by the lock of the future.
package final class FutureExtras {
  /// The waiters that are told when the operation has finished, after all other waiters.
  var finishWaiters = WaiterList()
  var dependencies = DependencyTable()
  /// The operations that are cancelled with the future.
  var ties: Ties?
  /// The placeholder operation that stands in a queue for the future.
  var placeholder: PlaceholderOperation?
  /// The `PendingMembers` of which the future is a member until it has finished.
  var members: ObjectIdentifier?
  /// The producer's last report, and the listeners that its next report wakes.
  var progress: ProgressRecord?
  /// The turn of a loop that the future's source is.
  var turn: LoopTurn?

  /// Returns the record of progress, and makes it at the first use.
  func needProgress() -> ProgressRecord {
    if let progress { return progress }
    let made = ProgressRecord()
    progress = made
    return made
  }
}

/// Replaces a value and returns the old one, without a copy.
@inline(__always)
private func exchange<Value>(_ place: inout Value, for new: consuming Value) -> Value {
  var other = new
  swap(&place, &other)
  return other
}
