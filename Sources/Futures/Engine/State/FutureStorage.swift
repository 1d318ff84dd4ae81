import Foundation
import Synchronization

/// Owns the lock and the state machine of a future, and publishes flags that any thread
/// can read without the lock.
///
/// This is the only place where a future's lock is taken. Each method takes the
/// lock, asks the machine, releases the lock, and returns the action. None of them
/// calls any other object.
package struct FutureStorage: ~Copyable {
  /// The state that any thread may read at any time.
  ///
  /// No flag is ever cleared, except `executing` and `held`. Each flag is published after the
  /// state that it describes.
  struct Flags: OptionSet {
    let rawValue: UInt8
    static let settled = Flags(rawValue: 1)
    static let failed = Flags(rawValue: 2)
    static let cancelled = Flags(rawValue: 4)
    static let finished = Flags(rawValue: 8)
    static let executing = Flags(rawValue: 16)
    static let queued = Flags(rawValue: 32)
    /// A queue holds the future itself, and has not started it.
    static let held = Flags(rawValue: 64)

    // The function of `OptionSet` is not inlined.
    @inline(__always)
    func contains(_ other: Flags) -> Bool { rawValue & other.rawValue == other.rawValue }

    /// Whether the future has settled with a value.
    var isSuccess: Bool { rawValue & 3 == 1 }
  }

  private let machine: Lock<FutureStateMachine>
  private let published = Atomic<UInt8>(0)

  @inline(__always)
  init(
    upstream: consuming Upstream, work: consuming Work?, context: consuming ContextReference
  ) {
    machine = Lock(
      FutureStateMachine(
        upstream: consume upstream, work: consume work, context: consume context))
  }

  @inline(__always)
  var flags: Flags { Flags(rawValue: published.load(ordering: .acquiring)) }

  /// Returns the flags of a machine.
  @inline(__always)
  private static func flags(of machine: borrowing FutureStateMachine) -> Flags {
    var flags: UInt8 = 0
    if machine.isSettled {
      flags = Flags.settled.rawValue
      if machine.outcome != .success { flags |= Flags.failed.rawValue }
      if machine.outcome == .cancelled { flags |= Flags.cancelled.rawValue }
    }
    if machine.phase == .finished { flags |= Flags.finished.rawValue }
    if machine.isClosureActive || machine.wasStarted && !machine.isSettled {
      flags |= Flags.executing.rawValue
    }
    if machine.place == .queued || machine.wasStarted { flags |= Flags.queued.rawValue }
    if machine.place == .queued || machine.place == .queuedAgain { flags |= Flags.held.rawValue }
    return Flags(rawValue: flags)
  }

  /// Passes the machine an event that may change the flags.
  @inline(__always)
  private func change<Action>(_ event: (inout FutureStateMachine) -> Action) -> Action {
    machine.withLock { machine in
      let action = event(&machine)
      let flags = Self.flags(of: machine)
      #if PROPERATIONS_INVARIANTS
        machine.check()
        checkSuccession(of: self.flags, by: flags)
      #endif
      published.store(flags.rawValue, ordering: .releasing)
      return action
    }
  }

  /// Passes the machine an event that does not change the flags.
  @inline(__always)
  private func ask<Action>(_ event: (inout FutureStateMachine) -> Action) -> Action {
    machine.withLock { machine in
      let action = event(&machine)
      #if PROPERATIONS_INVARIANTS
        machine.check()
        precondition(Self.flags(of: machine) == flags, "an event that was not published")
      #endif
      return action
    }
  }

  // MARK: Waiters

  @inline(__always)
  func attach(_ waiter: Waiter, isConsumer: Bool) -> Bool {
    ask { $0.attach(waiter, isConsumer: isConsumer) }
  }

  /// Attaches a watcher, unless the moment that it waits for has passed.
  func attachIfPending(_ waiter: Waiter) -> Bool {
    ask { machine in
      if machine.isSettled, !(waiter.waitsForFinish && machine.phase != .finished) { return false }
      return machine.attach(waiter, isConsumer: false)
    }
  }

  @inline(__always)
  func takeLateWaiters() -> WaiterList { ask { $0.takeLateWaiters() } }

  func keepUntilFinish(_ waiter: Waiter) -> Bool { ask { $0.keepUntilFinish(waiter) } }

  func takeFinishWaiters() -> WaiterList { ask { $0.extras?.finishWaiters.take() ?? WaiterList() } }

  func leave(_ waiter: Waiter, cancelling: Bool) -> Bool {
    ask { $0.leave(waiter, cancelling: cancelling) }
  }

  func becomeConsumer(_ waiter: Waiter, if isConsumer: Bool) -> Bool {
    ask { $0.becomeConsumer(waiter, if: isConsumer) }
  }

  func reference(to future: AnyFuture) -> FutureReference {
    ask { $0.reference(to: future) }
  }

  // MARK: Work

  @inline(__always)
  func run() -> (work: Work, upstream: Upstream)? { change { $0.run() } }

  func runInTask() { ask { $0.runInTask() } }

  func wait(for upstream: Upstream) -> Bool {
    // The old edge is released here, after unlock.
    change { $0.wait(for: upstream) } != nil
  }

  /// Makes a future without upstream wait.
  ///
  /// Returns `nil` if the future has an upstream already.
  func beginWaiting(for upstream: Upstream) -> Bool? {
    change { machine -> Bool? in
      guard machine.isSettled || machine.waitsForNothing else { return nil }
      return machine.wait(for: upstream) != nil
    }
  }

  func block(on upstream: Upstream) { _ = ask { $0.block(on: upstream) } }

  func closureReturned() -> Finish { change { $0.closureReturned() } }

  func takeWork() -> (work: Work, context: ContextReference)? { ask { $0.takeWork() } }

  // MARK: Settling

  /// Settles the future.
  ///
  /// `store` runs with the lock held, before the flag is published, and only if this
  /// settlement is the first.
  @inline(__always)
  func settle(
    _ outcome: Outcome, from origin: SettlementOrigin, storing store: () -> Void
  ) -> Bool {
    change { machine in
      guard machine.settle(outcome, from: origin) else { return false }
      store()
      return true
    }
  }

  /// Settles a future that no other object holds.
  ///
  /// Returns the parts that the caller delivers.
  func settleUnseen(
    _ outcome: Outcome, isActing: Bool, storing store: () -> Void
  ) -> (work: Work?, context: ContextReference, upstream: Upstream)? {
    change { machine in
      let action = machine.settleUnseen(outcome, isActing: isActing)
      if action != nil { store() }
      return action
    }
  }

  @inline(__always)
  func deliver() -> Settlement { ask { $0.deliver() } }

  // MARK: Life in an operation queue

  func enqueue(isCertain: Bool) { change { $0.enqueue(isCertain: isCertain) } }

  func start() -> Finish { change { $0.start() } }

  func finishUnstarted() -> Finish { change { $0.finishUnstarted() } }

  func join() -> Bool { change { $0.join() } }

  /// How far the future is, and whether a queue holds it, or perhaps does, and has not
  /// started it: the future then finishes when the queue starts it.
  var stage: (phase: FutureStateMachine.Phase, isHeld: Bool) {
    machine.withLock { ($0.phase, $0.isHeld) }
  }

  /// Whether the settlement itself has finished the operation.
  var hasFinishedBySettling: Bool { machine.withLock { $0.finish == .now } }

  /// The placeholder operation that stands in a queue for the future.
  var placeholder: PlaceholderOperation? { machine.withLock { $0.extras?.placeholder } }

  /// Sets the placeholder operation that stands in a queue for the future.
  ///
  /// Called once.
  func setPlaceholder(_ placeholder: PlaceholderOperation) {
    ask { $0.needExtras().placeholder = placeholder }
  }

  func setMembers(_ members: PendingMembers) {
    ask { $0.needExtras().members = ObjectIdentifier(members) }
  }

  /// Whether the future is a member of an operation, if the future has not finished.
  func isMember(of members: PendingMembers) -> Bool {
    machine.withLock { $0.extras?.members == ObjectIdentifier(members) }
  }

  /// Returns the operations that are tied to the future.
  ///
  /// A caller that gets `isNew` adds the watcher that cancels them.
  func ties() -> (Ties, isNew: Bool) {
    let made = Ties()
    return ask { machine in
      let extras = machine.needExtras()
      if let ties = extras.ties { return (ties, false) }
      extras.ties = made
      return (made, true)
    }
  }

  /// Whether the future is in a queue, was in one, or has a placeholder in one.
  var belongsToQueue: Bool { machine.withLock { $0.place != .none && $0.place != .perhapsQueued } }

  // MARK: Dependencies

  /// Changes the table of dependencies.
  func changeDependencies<Outcome>(_ body: (inout DependencyTable) -> Outcome) -> Outcome {
    ask { body(&$0.needExtras().dependencies) }
  }

  var hasPendingDependencies: Bool { withDependencies { $0.isSatisfied } == false }

  /// Reads the table of dependencies.
  func withDependencies<Outcome>(_ body: (DependencyTable) -> Outcome) -> Outcome? {
    machine.withLock { machine in machine.extras.map { body($0.dependencies) } }
  }

  // MARK: Progress

  /// Stores a report, and returns the watches that the caller wakes.
  func report(_ progress: FutureProgress) -> [ProgressWatch] {
    ask { $0.isSettled ? [] : $0.needExtras().needProgress().report(progress) }
  }

  /// The watches that learn of a new edge of the future.
  var progressWatches: [ProgressWatch] {
    machine.withLock { $0.extras?.progress?.allWatches ?? [] }
  }

  /// How much the future counts where progress is joined.
  var progressWeight: Double {
    get { machine.withLock { $0.extras?.progress?.weight ?? 1 } }
    nonmutating set { ask { $0.needExtras().needProgress().weight = newValue } }
  }

  func add(_ watch: ProgressWatch) { ask { $0.needExtras().needProgress().add(watch) } }

  /// Removes a watch, which the caller keeps.
  func forget(_ watch: ProgressWatch) { ask { $0.extras?.progress?.remove(watch) } }

  /// Notes which turn of a loop the future's source is.
  func noteTurn(_ turn: LoopTurn) { ask { $0.needExtras().turn = turn } }

  /// The edge to the source, the producer's last report, and the turn of a loop that the
  /// source is.
  var progressState: (upstream: Upstream, report: FutureProgress?, turn: LoopTurn?) {
    machine.withLock { machine in
      (machine.upstream, machine.extras?.progress?.report, machine.extras?.turn)
    }
  }

  // MARK: Reading and releasing

  /// Where the closure runs; `.inline` once the future has settled.
  var context: ContextReference { machine.withLock { $0.context } }

  /// The context in which the future's closure has yet to run; `nil` if there is no
  /// closure, or it has begun.
  var contextToVisit: ContextReference? {
    machine.withLock { $0.isSettled || $0.work == nil ? nil : $0.context }
  }

  /// The edge to the source at this moment.
  var upstream: Upstream { machine.withLock { $0.upstream } }

  /// Whether there is a consumer at this moment.
  var isWanted: Bool { machine.withLock { $0.consumerCount > 0 } }

  /// Whether the delivery has begun.
  var isDelivered: Bool { machine.withLock { $0.isDelivered } }

  /// Whether there is a waiter at this moment.
  var hasWaiters: Bool { machine.withLock { !$0.waiters.isEmpty } }

  /// The futures downstream to which the first `limit` waiters lead, and whether there are
  /// more waiters.
  func downstreams(limit: Int) -> (futures: [AnyFuture], count: Int, isTruncated: Bool) {
    machine.withLock { machine in
      var futures: [AnyFuture] = []
      var count = 0
      let collect = { (waiter: Waiter) in
        count += 1
        if count <= limit { futures += waiter.downstreams }
        return count <= limit
      }
      machine.waiters.forEach(collect)
      machine.extras?.finishWaiters.forEach(collect)
      return (futures, count, count > limit)
    }
  }

  func abandon() -> (upstream: Upstream, waiters: WaiterList) {
    machine.withLock { $0.abandon() }
  }
}
