import Foundation
import Synchronization

/// Owns the lock and the state machine of a future, and publishes what others
/// may read without the lock.
///
/// This is the only place where a future's lock is taken. Each method takes
/// it, asks the machine, lets go, and returns what is to be done; none of them
/// calls anybody.
package struct FutureStorage: ~Copyable {
  /// What anyone may read at any time.
  ///
  /// Bits are only ever set, but for `executing`; each is published after all
  /// it speaks of.
  struct Flags: OptionSet {
    let rawValue: UInt8
    static let settled = Flags(rawValue: 1)
    static let failed = Flags(rawValue: 2)
    static let cancelled = Flags(rawValue: 4)
    static let finished = Flags(rawValue: 8)
    static let executing = Flags(rawValue: 16)
    static let queued = Flags(rawValue: 32)

    // (The one of `OptionSet` is a call.)
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

  /// What is to be published of a machine.
  @inline(__always)
  private static func flags(of machine: borrowing FutureStateMachine) -> Flags {
    var flags: UInt8 = 0
    if machine.phase == .settled {
      flags = Flags.settled.rawValue
      if machine.outcome != .success { flags |= Flags.failed.rawValue }
      if machine.outcome == .cancelled { flags |= Flags.cancelled.rawValue }
    }
    if machine.isFinished { flags |= Flags.finished.rawValue }
    if machine.isClosureActive || machine.isStarted && machine.phase != .settled {
      flags |= Flags.executing.rawValue
    }
    if machine.isQueued { flags |= Flags.queued.rawValue }
    return Flags(rawValue: flags)
  }

  /// An event that may change what is published.
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

  /// An event that does not.
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
  func attach(_ waiter: Waiter, isDemanding: Bool) -> Bool {
    ask {
      $0.attach(waiter, isDemanding: isDemanding, by: ObjectIdentifier(Drain.current))
    }
  }

  @inline(__always)
  func takeLateWaiters() -> WaiterList { ask { $0.takeLateWaiters() } }

  func deliver(by drain: Drain) {
    ask { $0.deliver(by: ObjectIdentifier(drain)) }
  }

  func leave(_ waiter: Waiter) -> Bool { ask { $0.leave(waiter) } }

  func demand(_ waiter: Waiter) { ask { $0.demand(waiter) } }

  func watch(_ handler: SettlementHandler) -> Bool {
    ask { $0.watch(handler) }
  }

  func reference(to future: AnyFuture) -> FutureReference {
    ask { $0.reference(to: future) }
  }

  // MARK: Work

  @inline(__always)
  func run() -> Work? { change { $0.run() } }

  func wait(for upstream: Upstream) -> Bool { change { $0.wait(for: upstream) } }

  func retarget(_ upstream: Upstream) -> Bool { change { $0.retarget(upstream) } }

  func closureReturned() -> Finish { change { $0.closureReturned() } }

  // MARK: Settling

  /// Settles, and lets `store` put the result where it is read once the flag is
  /// seen.
  ///
  /// `store` runs with the lock held and only if this settlement is the first.
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

  func takeHandler() -> (handler: Work, context: ContextReference)? {
    ask { $0.takeHandler() }
  }

  @inline(__always)
  func deliver() -> Settlement { ask { $0.deliver() } }

  // MARK: Life in an operation queue

  func enqueue() -> Bool { change { $0.enqueue() } }

  func start() -> Finish { change { $0.start() } }

  func finishUnstarted() -> Finish { change { $0.finishUnstarted() } }

  func join(_ queue: OperationQueue) -> Bool { change { $0.join(queue) } }

  func dependencies(of future: AnyFuture) -> DependencyList {
    ask { $0.dependencies(of: future) }
  }

  /// The operations depended on, if there were ever any.
  var dependencies: DependencyList? { machine.withLock { $0.dependencies } }

  // MARK: Looking and letting go

  /// Where the closure runs; `.inline` once the future has settled.
  var context: ContextReference { machine.withLock { $0.context } }

  /// Whether the future needs its context in order to settle.
  var needsContext: Bool { machine.withLock { $0.needsContext } }

  /// What the future waits for at this moment.
  var upstream: Upstream { machine.withLock { $0.upstream } }

  /// The queue that the library has put the future in.
  var home: OperationQueue? { machine.withLock { $0.home } }

  /// Whether anybody wants the value, at this moment.
  var isWanted: Bool { machine.withLock { $0.demand > 0 } }

  /// Whether anybody waits, at this moment.
  var hasWaiters: Bool { machine.withLock { !$0.waiters.isEmpty } }

  func abandon() -> (upstream: Upstream, waiters: WaiterList) {
    machine.withLock { $0.abandon() }
  }
}
