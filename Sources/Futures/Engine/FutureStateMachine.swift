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
//                     │ settle by anybody else: the result is known  │
//                     ▼                                              ▼
//             settledWhileRunning ── closureReturned ───────▶ settledInQueue,
//                                                             or finished
//
//             settledInQueue ── start, finishUnstarted ─────▶ finished
//
// `settledInQueue` is for a future that an operation queue holds itself:
// Foundation's queues break when such an operation finishes before they have
// started it. It becomes ready, and finishes when the queue starts it. Beside
// the phase stands the future's place:
//
//   none ── join ──▶ member ──┐ enqueue           a library placeholder stands
//     │                       ▼                   in the queue for a member
//     └── enqueue ──────▶ queued ── start ──▶ started
//
// Who owns what:
//   waiters    from attach to settle or leave; the list owns them
//   upstream   from init or wait(for:) to the delivery; how to leave what is
//              waited for
//   work       from init to run or the delivery
//   context    from init to the delivery
//   extras     from first use to the release
//
// Settling is followed by one *delivery*, on the thread that settled. It takes
// the first four out of the machine, so that nothing that a user's closure
// captured is left. A waiter that attaches before the delivery has told all
// others is appended to the list, so that the order of attachment holds across
// threads:
//
//   none ── settle ──▶ telling ── deliver: no waiter, or a single one ──▶ none
//                         │       whose closure runs inline
//                         └── late waiters taken: none is left ────────▶ none
//
// Every event is called with the lock held and calls nobody. What there is to
// do is returned as an action, which `FutureStorage` and `AnyFuture` perform
// after unlock.

import Foundation

/// A closure that makes a future's result from the settled future upstream.
///
/// It runs exactly once or never, and always ends by settling its future or
/// by making it wait for another.
///
/// A struct, because a bare closure would be wrapped in another one wherever
/// it passes through generic code.
@usableFromInline
package struct Work: Sendable {
  @usableFromInline let body: @Sendable (_ future: AnyFuture, _ source: AnyFuture) -> Void

  @inlinable
  package init(_ body: @escaping @Sendable (_ future: AnyFuture, _ source: AnyFuture) -> Void) {
    self.body = body
  }

  /// Runs it.
  package func callAsFunction(_ future: AnyFuture, _ source: AnyFuture) { body(future, source) }
}

/// How a future leaves what it waits for, should it settle otherwise.
@usableFromInline
package enum Upstream {
  /// It waits for nothing that could be told.
  case none
  /// A derived future. The edge owns it; settling clears the edge.
  case future(AnyFuture)
  /// A promise, or a future that may stand for another one: not owned, so
  /// that it can be released and thereby broken or bypassed.
  case reference(FutureReference)
  /// A join of several, a future that this one stands for, a timer.
  case source(CallbackWaiter)
}

/// A reference to a future that does not keep it.
@usableFromInline
package final class FutureReference: Sendable {
  // Sendable: never written after init, so reading from several threads is sound.
  package nonisolated(unsafe) private(set) weak var future: AnyFuture?

  package init(_ future: AnyFuture) { self.future = future }
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

/// What an event means for the future as an operation.
package enum Finish: UInt8 {
  /// Nothing now.
  case later
  /// The operation has finished: post it.
  case now
  /// The operation is in a queue: post that it is ready; the queue's start
  /// finishes it.
  case whenStarted
}

/// What is left to do after a future has settled.
package struct Settlement {
  let finish: Finish
  let outcome: Outcome
  /// Whether the future settled otherwise than by what it waited for, and has
  /// to leave that.
  let leavesUpstream: Bool
  let upstream: Upstream
  let work: Work?
  var waiters: WaiterList
  /// Whether waiters that attach before `waiters` have been told are told after
  /// them, by the thread that delivers.
  let mayOthersCome: Bool
  let context: ContextReference
  /// A waiter that has been told, only to be released.
  var rest: Waiter?
}

/// The state of a future, without its value and without a lock.
package struct FutureStateMachine: ~Copyable {
  enum Phase: UInt8 {
    case waiting
    case running
    case settledWhileRunning
    case settledInQueue
    case finished
  }

  enum Place: UInt8 {
    /// In no queue, as far as anybody has told.
    case none
    /// Somebody has read `isReady` who may be a queue.
    case perhapsQueued
    /// A placeholder stands for it in a queue.
    case member
    /// A queue holds the operation itself.
    case queued
    /// That queue has started it.
    case started
  }

  private(set) var phase = Phase.waiting
  private(set) var place = Place.none
  private(set) var outcome = Outcome.success
  private(set) var isTelling = false
  private var leavesUpstream = false
  /// Whether a consumer has left by being cancelled.
  private var wasCancelledFromBelow = false
  private var finish = Finish.later
  private(set) var consumerCount: Int32 = 0
  private(set) var upstream: Upstream
  private(set) var work: Work?
  private(set) var context: ContextReference
  private(set) var waiters = WaiterList()
  private var reference: FutureReference?
  /// What most futures never need.
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

  @inline(__always)
  var isClosureActive: Bool { phase == .running || phase == .settledWhileRunning }

  // MARK: Waiters

  /// Adds a waiter.
  ///
  /// `false` if the future has settled and all others have been told: then the
  /// caller tells it.
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
  /// `false` if it has.
  @discardableResult
  mutating func keepUntilFinish(_ waiter: Waiter) -> Bool {
    guard phase != .finished else { return false }
    needExtras().finishWaiters.append(waiter, isConsumer: false)
    waiter.keepUntilFinish()
    return true
  }

  /// Turns a watcher into a consumer: one of its own consumers now wants the
  /// value. `false` if it is one, or is told already.
  mutating func becomeConsumer(_ waiter: Waiter) -> Bool {
    guard !isSettled, waiter.isEnlisted, !waiter.isConsumer else { return false }
    waiter.becomeConsumer()
    consumerCount += 1
    return true
  }

  /// Returns the waiters that came while others were told, or ends the
  /// delivery.
  @inline(__always)
  mutating func takeLateWaiters() -> WaiterList {
    if waiters.isEmpty { isTelling = false }
    return waiters.take()
  }

  /// Takes a waiter away.
  ///
  /// - Parameter cancelling: Whether it leaves because it was cancelled; one
  ///   that just stops waiting leaves the future as it is.
  /// - Returns: Whether the future is to be asked to cancel: no consumer is
  ///   left, and one of them was cancelled.
  mutating func leave(_ waiter: Waiter, cancelling: Bool) -> Bool {
    if isSettled {
      // (Those who are just being told are in no list of this machine any more.)
      if phase != .finished, waiter.isKeptUntilFinish { _ = extras?.finishWaiters.remove(waiter) }
      return false
    }
    guard let wasConsumer = waiters.remove(waiter) else { return false }
    if wasConsumer { consumerCount -= 1 }
    if cancelling { wasCancelledFromBelow = true }
    return consumerCount == 0 && wasCancelledFromBelow
  }

  /// The one unowned reference to this future that all who need one share.
  mutating func reference(to future: AnyFuture) -> FutureReference {
    if let reference { return reference }
    let made = FutureReference(future)
    reference = made
    return made
  }

  /// What most futures never need, made at the first use.
  mutating func needExtras() -> FutureExtras {
    if let extras { return extras }
    let made = FutureExtras()
    extras = made
    return made
  }

  // MARK: Work

  /// The context has started the future: returns the closure to run, and the
  /// edge that is to be released; `nil` if there is nothing to do any more.
  @inline(__always)
  mutating func run() -> (work: Work, upstream: Upstream)? {
    guard phase == .waiting, let work = work.take() else { return nil }
    phase = .running
    return (work, exchange(&upstream, for: .none))
  }

  /// Takes the closure away, to run it without the future or not at all.
  mutating func takeWork() -> (work: Work, context: ContextReference)? {
    guard let work = work.take() else { return nil }
    return (work, context)
  }

  /// Makes the future wait for another one, instead of what it waited for.
  ///
  /// Its closure, if it was running, has returned.
  ///
  /// - Returns: What it waited for before, to be released; `nil` if the future
  ///   has settled.
  mutating func wait(for new: Upstream) -> Upstream? {
    guard !isSettled else { return nil }
    phase = .waiting
    return exchange(&upstream, for: new)
  }

  /// While the closure runs and blocks: notes what it waits for.
  mutating func block(on new: Upstream) -> Upstream? {
    guard phase == .running else { return nil }
    return exchange(&upstream, for: new)
  }

  /// The closure has returned, after the future had settled.
  mutating func closureReturned() -> Finish {
    guard phase == .settledWhileRunning else { return .later }
    return finishOrBecomeReady()
  }

  // MARK: Settling

  /// `false` if another settlement came first; then nothing changes.
  @inline(__always)
  mutating func settle(_ outcome: Outcome, from origin: SettlementOrigin) -> Bool {
    guard !isSettled else { return false }
    self.outcome = outcome
    isTelling = true
    leavesUpstream = origin == .outside
    if phase == .running, origin != .closure {
      phase = .settledWhileRunning
    } else {
      finish = finishOrBecomeReady()
    }
    return true
  }

  /// Returns, once, what there is to do after settling.
  @inline(__always)
  mutating func deliver() -> Settlement {
    // (Inline closures of several threads have no order among them.)
    let mayOthersCome = !waiters.isEmpty && !waiters.isOneInline
    if !mayOthersCome { isTelling = false }
    return Settlement(
      finish: finish, outcome: outcome, leavesUpstream: leavesUpstream,
      upstream: exchange(&upstream, for: .none), work: work.take(), waiters: waiters.take(),
      mayOthersCome: mayOthersCome, context: exchange(&context, for: .inline))
  }

  @inline(__always)
  private mutating func finishOrBecomeReady() -> Finish {
    if place == .queued || place == .perhapsQueued {
      phase = .settledInQueue
      return .whenStarted
    }
    phase = .finished
    return .now
  }

  // MARK: Life in an operation queue

  /// A queue has taken the operation itself, or is taking it; or perhaps, if
  /// nothing tells who has asked.
  mutating func enqueue(isCertain: Bool) {
    guard phase != .finished else { return }
    switch place {
    case .none, .perhapsQueued: place = isCertain ? .queued : .perhapsQueued
    case .member: if isCertain { place = .queued }
    case .queued, .started: break
    }
  }

  /// The operation has been started, by its queue or by hand.
  mutating func start() -> Finish {
    guard phase != .finished else { return .later }
    place = .started
    guard phase == .settledInQueue else { return .later }
    return finishOrBecomeReady()
  }

  /// The operation finishes although no queue has started it: it turned out
  /// to be in none.
  mutating func finishUnstarted() -> Finish { phase == .settledInQueue ? start() : .later }

  /// The future becomes a member of a queue that it does not enter.
  ///
  /// `false` if it is, or was, in a queue already.
  mutating func join() -> Bool {
    guard place == .none || place == .perhapsQueued else { return false }
    // (What has settled waits for the queue that may have it.)
    if phase != .settledInQueue { place = .member }
    return true
  }

  // MARK: Release

  /// The future is being released unsettled: returns what it waited for, and
  /// the waiters.
  mutating func abandon() -> (upstream: Upstream, waiters: WaiterList) {
    (exchange(&upstream, for: .none), waiters.take())
  }
}

/// The parts of a future's state that most futures never need.
///
/// Guarded by the lock of the future.
package final class FutureExtras {
  /// The waiters that are told when the operation has finished, once all others
  /// have been told.
  var finishWaiters = WaiterList()
  var dependencies = DependencyTable()
  /// What is to be cancelled with the future.
  var ties: Ties?
  /// What stands in a queue for the future.
  var placeholder: PlaceholderOperation?
}

/// Takes what is in a place and leaves something else there, without the copy
/// that reading and then writing would make.
@inline(__always)
private func exchange<Value>(_ place: inout Value, for new: consuming Value) -> Value {
  var other = new
  swap(&place, &other)
  return other
}
