// What a future is doing, as a pure value.
//
//                    attach, leave, watch (any time before settled)
//                       ┌───┐
//                       ▼   │
//   made ───────────▶ waiting ──────────── settle ───────────┐
//                     │     ▲                                │
//                 run │     │ wait(for:)                     │
//                     ▼     │ (the closure returned a future)│
//                     running ──────────── settle ───────────┤
//                     closureIsActive                        ▼
//                                                         settled
//
// Settling while the closure runs (a cancellation, a timeout) publishes the
// result at once; the *operation* finishes when the closure has returned.
// Beside the phase runs the life as an operation in somebody's queue:
//
//   not queued ── enqueued ──▶ queued ── start ──▶ started
//
// A settled future finishes at once unless its closure is active (it finishes
// when the closure returns) or it is queued and not started (Foundation's
// queues break when an operation finishes before they started it: it becomes
// ready, and finishes when the queue starts it).
//
// Who owns what:
//   waiters    from attach to settle or leave; the list owns them
//   upstream   from wait(for:) to the delivery; how to leave what is waited for
//   work       from init to run or the delivery
//   handlers   from watch to the delivery
//   context    from init to the delivery
//
// Settling is followed by one *delivery*, on the thread that settled: it takes
// all five out of the machine, and after it nothing that a user's closure
// captured is left. Whoever attaches before its end is appended to the list,
// so that the order of attachment holds although the threads differ:
//
//   none ── settle ──▶ pending ── deliver, nobody waits, or a ─────▶ none
//                        │        single one whose closure runs inline
//                        │  └──── deliver, then list found empty ──▶ none
//                        │ a context starts operations where it is asked to
//                        ▼
//                      active(thread): that thread's own late comers are told
//                      at once, for it may block on them ─ list empty ─▶ none
//
// Every event is called with the lock held and calls nobody; what there is to
// do goes back as an action, performed after unlock (`FutureStorage`).

import Foundation

/// A closure that makes a future's result from the settled future before it.
///
/// It runs exactly once or never, and always ends by settling its future or
/// by making it wait for another.
///
/// A struct, because a bare closure would be wrapped in another one wherever
/// it passes through generic code.
@usableFromInline
package struct Work {
  @usableFromInline let body: (_ future: AnyFuture, _ source: AnyFuture) -> Void

  @inlinable
  package init(_ body: @escaping (_ future: AnyFuture, _ source: AnyFuture) -> Void) {
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
  /// A derived future upstream.
  ///
  /// The edge owns; settling clears it.
  case future(AnyFuture)
  /// A promise, or a future that may stand for another one: not owned, so
  /// that it can be released and thereby broken or bypassed.
  case reference(FutureReference)
  /// A join of several, or a future that this one stands for.
  case source(CallbackWaiter)
}

/// A reference to a future that does not keep it.
@usableFromInline
package final class FutureReference: Sendable {
  // Sendable: never written after init, so reading from several threads is sound.
  package nonisolated(unsafe) private(set) weak var future: AnyFuture?

  package init(_ future: AnyFuture) { self.future = future }
}

/// The state of a future, without its value and without a lock.
package struct FutureStateMachine: ~Copyable {
  enum Phase: UInt8 {
    case waiting
    case running
    case settled
  }

  private(set) var phase = Phase.waiting
  private(set) var outcome = Outcome.success
  private(set) var isClosureActive = false
  private(set) var isQueued = false
  private(set) var isStarted = false
  private(set) var isFinished = false
  private(set) var isMember = false
  private(set) var upstream: Upstream
  private(set) var demand: Int32 = 0
  private(set) var work: Work?
  private(set) var context: ContextReference
  private(set) var handlers = HandlerList()
  private(set) var waiters = WaiterList()
  /// The queue that the library has put it in, as far as that is known.
  private(set) var home: OperationQueue?
  private(set) var dependencies: DependencyList?
  private var delivery = Delivery.none
  private var leavesUpstream = false
  private var finish = Finish.later
  private var reference: FutureReference?

  /// Whether somebody is telling, or about to tell, who waits.
  var isDelivering: Bool {
    if case .none = delivery { return false }
    return true
  }

  private enum Delivery {
    case none
    case pending
    case active(ObjectIdentifier)
  }

  @inline(__always)
  init(
    upstream: consuming Upstream, work: consuming Work?,
    context: consuming ContextReference = .inline
  ) {
    self.upstream = upstream
    self.work = work
    self.context = context
  }

  // MARK: Waiters

  /// Somebody wants to be told.
  ///
  /// `false` if the future has settled and all others have been told: tell it
  /// now.
  @inline(__always)
  mutating func attach(
    _ waiter: Waiter, isDemanding: Bool, by drain: @autoclosure () -> ObjectIdentifier
  ) -> Bool {
    if phase == .settled {
      switch delivery {
      case .none: return false
      case .pending: break
      case .active(let thread): if thread == drain() { return false }
      }
    }
    waiters.append(waiter, isDemanding: isDemanding)
    if isDemanding { demand += 1 }
    return true
  }

  /// One who only watched wants the value now, because somebody else wants it
  /// from him.
  mutating func demand(_ waiter: Waiter) {
    guard phase != .settled, waiter.isEnlisted, !waiter.isDemanding else { return }
    waiter.setDemanding()
    demand += 1
  }

  /// The waiters so far have been told: hands out those who came meanwhile,
  /// or ends the delivery.
  @inline(__always)
  mutating func takeLateWaiters() -> WaiterList {
    if waiters.isEmpty { delivery = .none }
    return waiters.take()
  }

  /// A thread delivers by a context that may run closures right there.
  mutating func deliver(by drain: ObjectIdentifier) {
    if case .pending = delivery { delivery = .active(drain) }
  }

  /// Somebody does not want to be told any more.
  ///
  /// `true` if that was the last one who wanted the value.
  mutating func leave(_ waiter: Waiter) -> Bool {
    guard phase != .settled, let wasDemanding = waiters.remove(waiter) else { return false }
    if wasDemanding { demand -= 1 }
    return demand == 0
  }

  /// Somebody has something to do at settlement.
  ///
  /// `false` if that was already.
  mutating func watch(_ handler: SettlementHandler) -> Bool {
    guard phase != .settled else { return false }
    handlers.append(handler)
    return true
  }

  /// The one unowned reference to this future that all who need one share.
  mutating func reference(to future: AnyFuture) -> FutureReference {
    if let reference { return reference }
    let made = FutureReference(future)
    reference = made
    return made
  }

  // MARK: Work

  /// The context has started the future: hands out the closure to run, or
  /// `nil` if there is nothing to do any more.
  @inline(__always)
  mutating func run() -> Work? {
    guard phase == .waiting, let work = work.take() else { return nil }
    phase = .running
    isClosureActive = true
    upstream = .none
    return work
  }

  /// The closure has returned, and the future now waits for another one.
  ///
  /// `false` if it has settled meanwhile.
  mutating func wait(for upstream: Upstream) -> Bool {
    guard phase != .settled else { return false }
    phase = .waiting
    isClosureActive = false
    self.upstream = upstream
    return true
  }

  /// Points a waiting future at another one.
  ///
  /// `false` if it has settled.
  mutating func retarget(_ upstream: Upstream) -> Bool {
    guard phase != .settled else { return false }
    self.upstream = upstream
    return true
  }

  /// The closure has returned and has nothing to say any more.
  mutating func closureReturned() -> Finish {
    guard isClosureActive else { return .later }
    isClosureActive = false
    return finishIfPossible()
  }

  /// Whether the future still needs its context in order to settle: its closure
  /// has not run, or is running.
  var needsContext: Bool { phase == .running || phase == .waiting && work != nil }

  // MARK: Settling

  /// `false` if another settlement came first; then nothing changes.
  @inline(__always)
  mutating func settle(_ outcome: Outcome, from origin: SettlementOrigin) -> Bool {
    guard phase != .settled else { return false }
    phase = .settled
    self.outcome = outcome
    delivery = .pending
    if origin == .closure { isClosureActive = false }
    leavesUpstream = origin == .outside
    finish = finishIfPossible()
    return true
  }

  /// Hands out the closure of an observer that has settled.
  mutating func takeHandler() -> (handler: Work, context: ContextReference)? {
    guard let work else { return nil }
    self.work = nil
    return (work, context)
  }

  /// Hands out, once, what there is to do after settling.
  @inline(__always)
  mutating func deliver() -> Settlement {
    // (Inline closures of several threads have no order among them.)
    let mayOthersCome = !waiters.isEmpty && !waiters.isOneInline
    let settlement = Settlement(
      finish: finish, outcome: outcome, leavesUpstream: leavesUpstream,
      upstream: exchange(&upstream, for: .none), work: work.take(),
      handlers: handlers.take(), waiters: waiters.take(), mayOthersCome: mayOthersCome,
      context: exchange(&context, for: .inline), home: home.take())
    reference = nil
    if !mayOthersCome { delivery = .none }
    return settlement
  }

  @inline(__always)
  private mutating func finishIfPossible() -> Finish {
    guard phase == .settled, !isClosureActive, !isFinished else { return .later }
    guard !isQueued || isStarted else { return .whenStarted }
    isFinished = true
    return .now
  }

  // MARK: Life in an operation queue

  /// A queue has taken the operation itself, or is taking it.
  ///
  /// `false` if one had already, or if the operation has finished.
  mutating func enqueue() -> Bool {
    guard !isQueued, !isFinished else { return false }
    isQueued = true
    return true
  }

  /// The queue has started the operation.
  mutating func start() -> Finish {
    isStarted = true
    return finishIfPossible()
  }

  /// The operation finishes although no queue has started it: it turned out
  /// to be in none.
  mutating func finishUnstarted() -> Finish {
    guard phase == .settled else { return .later }
    isStarted = true
    return finishIfPossible()
  }

  /// The future becomes a member of a queue that it does not enter.
  ///
  /// One that has finished leaves at the same moment. `false` if it is, or
  /// was, in one already.
  mutating func join(_ queue: OperationQueue) -> Bool {
    guard !isQueued, !isMember else { return false }
    isMember = true
    if !isFinished { home = queue }
    return true
  }

  /// The list of operations that this one depends on, made if need be.
  mutating func dependencies(of future: AnyFuture) -> DependencyList {
    if let dependencies { return dependencies }
    let made = DependencyList(of: reference(to: future))
    dependencies = made
    return made
  }

  // MARK: Release

  /// The future is being released unsettled: hands out those who still wait.
  mutating func abandon() -> (upstream: Upstream, waiters: WaiterList) {
    defer { upstream = .none }
    return (upstream, waiters.take())
  }
}

/// Takes what is in a place and leaves something else there, without the copy
/// that reading and then writing would make.
@inline(__always)
private func exchange<Value>(_ place: inout Value, for new: consuming Value) -> Value {
  var other = new
  swap(&place, &other)
  return other
}
