import Foundation
import Synchronization

/// An operation that stands in a queue for something else.
///
/// A pending future must not be in an operation queue. The queue walks all its operations
/// that are not ready at every change, and an operation that the queue holds cannot
/// finish before the queue has started it. So the queue holds a placeholder instead: for
/// closures (`BatchOperation`), for a promise that occupies its queue
/// (`OccupyingOperation`), for pending futures (`PendingMembers`), for a barrier on Linux
/// (`BarrierOperation`).
///
///   waiting ── becomeReady ──▶ ready ── start ──▶ running ──▶ finished
///                                                 the last hold is released
///
/// The operation's *occupants* are the futures that it stands for. While `isBlocked`, the
/// operation is not ready in any phase, because dependencies of its occupants are
/// pending. Cancelling the operation cancels the occupants. The operation then finishes
/// as each subclass says.
package class PlaceholderOperation: Operation, @unchecked Sendable {
  // Sendable: all state is in atomics.
  private enum Phase {
    static let waiting: UInt8 = 0
    static let ready: UInt8 = 1
    static let running: UInt8 = 2
    static let finished: UInt8 = 3
  }

  private let phase = Atomic<UInt8>(Phase.waiting)
  private let isBlocked = Atomic<Bool>(false)
  private let wasCancelled = Atomic<Bool>(false)
  private let holds = Atomic<Int>(1)
  #if !canImport(Darwin)
    /// How many gates in front are shut, or `Gates.countedByFoundation`.
    let gatesInFront = Atomic<Int>(Gates.countedByFoundation)
  #endif

  package override init() { super.init() }

  /// Makes the operation ready before it is put in a queue.
  package final func beginReady() { phase.store(Phase.ready, ordering: .relaxed) }

  // MARK: For subclasses

  /// Does the operation's work.
  ///
  /// Called once, when the queue has started the operation.
  package func begin() {}

  /// Called when the operation has finished.
  package func didFinish() {}

  /// Called when no dependency of the occupants is pending any more.
  package func wasUnblocked() {}

  /// The futures that the operation stands for; empty if it runs a handler.
  package var occupants: [AnyFuture] { [] }

  /// Cancels the occupants, because the operation was cancelled.
  package func cancelOccupants() {}

  // MARK: The slot

  /// Lets the queue start the operation.
  package final func becomeReady() {
    willChange(.isReady)
    let (isFirst, _) = phase.compareExchange(
      expected: Phase.waiting, desired: Phase.ready, ordering: .acquiringAndReleasing)
    didBecomeReady(if: isFirst)
  }

  /// Sets whether dependencies of the occupants are pending.
  package final func setBlocked(_ isBlocked: Bool) {
    willChange(.isReady)
    // In one order with the other conditions: a thread that meets the last one has to see it.
    _ = self.isBlocked.exchange(isBlocked, ordering: .sequentiallyConsistent)
    // Also if it was not blocked, because another thread may have changed that meanwhile. A
    // started operation does not need it.
    let mayStart = !isBlocked && phase.load(ordering: .acquiring) <= Phase.ready
    didBecomeReady(if: mayStart)
    if mayStart { wasUnblocked() }
    // A queue that has found the operation ready remembers that until it hears otherwise.
    if isBlocked { postBlocked() }
  }

  /// Keeps the slot after `begin()` has returned.
  ///
  /// Returns `false` if the operation has finished.
  @discardableResult
  package final func hold() -> Bool {
    var count = holds.load(ordering: .relaxed)
    while count > 0 {
      let (isDone, now) = holds.compareExchange(
        expected: count, desired: count + 1, ordering: .relaxed)
      if isDone { return true }
      count = now
    }
    return false
  }

  /// Gives a hold back.
  ///
  /// The last one finishes the operation.
  package final func release() {
    guard holds.wrappingSubtract(1, ordering: .acquiringAndReleasing).newValue == 0 else { return }
    willChange([.isExecuting, .isFinished])
    phase.store(Phase.finished, ordering: .releasing)
    didChange([.isExecuting, .isFinished])
    didFinish()
  }

  /// Whether the operation waits for nothing but Foundation's dependencies.
  package final var mayStart: Bool {
    phase.load(ordering: .acquiring) != Phase.waiting && !isBlocked.load(ordering: .acquiring)
  }

  // MARK: Life as an operation

  package override var isAsynchronous: Bool { true }

  package override var isReady: Bool {
    SchedulingPoints.suspend()
    defer { SchedulingPoints.resume() }
    guard mayStart else { return false }
    #if !canImport(Darwin)
      let gates = gatesInFront.load(ordering: .acquiring)
      if gates != Gates.countedByFoundation { return gates == 0 }
    #endif
    return super.isReady
  }

  /// Whether Foundation counts no dependency of this operation that has not finished.
  package final var isFreeForFoundation: Bool { unexplored { super.isReady } }

  package override var isExecuting: Bool {
    unexplored { phase.load(ordering: .acquiring) == Phase.running }
  }
  package override var isFinished: Bool {
    unexplored { phase.load(ordering: .acquiring) == Phase.finished }
  }

  /// Whether the operation was cancelled.
  ///
  /// Foundation's own flag stays unset, because it would make the operation ready even
  /// behind a barrier.
  package override var isCancelled: Bool { unexplored { wasCancelled.load(ordering: .acquiring) } }

  package override func start() {
    willChange(.isExecuting)
    let (isFirst, _) = phase.compareExchange(
      expected: Phase.ready, desired: Phase.running, ordering: .acquiringAndReleasing)
    didChange(.isExecuting)
    guard isFirst else { return }
    begin()
    release()
  }

  /// Finishes an operation that no queue of Foundation has, and does none of its work.
  ///
  /// Only for an operation whose occupants have settled, or are being cancelled.
  package final func finishUnstarted() {
    let (isFirst, _) = phase.compareExchange(
      expected: Phase.ready, desired: Phase.running, ordering: .acquiringAndReleasing)
    if isFirst { release() }
  }

  package override func cancel() {
    willChange(.isCancelled)
    let isFirst = !wasCancelled.exchange(true, ordering: .acquiringAndReleasing)
    didChange(.isCancelled)
    if isFirst { cancelOccupants() }
  }
}

extension Operation {
  /// The futures that the operation stands for, if it is a placeholder.
  package final var futuresInside: [AnyFuture] {
    (self as? PlaceholderOperation)?.occupants ?? []
  }

  /// Those of the futures that need a slot of the queue.
  ///
  /// Its pending members need none, except those that enter it later.
  package final var futuresThatNeedSlots: [AnyFuture] {
    guard let members = self as? PendingMembers else { return futuresInside }
    return members.operationsToCome.flatMap(\.occupants)
  }

  /// Copies the name, the priority and the quality of service of another operation.
  package func takeScheduling(of other: Operation) {
    if let name = other.name { self.name = name }
    if other.queuePriority != .normal { queuePriority = other.queuePriority }
    if other.qualityOfService != .default { qualityOfService = other.qualityOfService }
  }
}
