import Foundation
import Synchronization

/// An operation that stands in a queue for something else.
///
/// A pending future must not sit in an operation queue: the queue walks all its
/// operations that are not ready at every change, and one that it holds cannot
/// finish before the queue has started it. So what a queue holds is always one of
/// these: for closures (`BatchOperation`), for a promise that occupies its queue
/// (`OccupyingOperation`), for pending futures (`PendingMembers`), for tasks.
///
///   waiting ── becomeReady ──▶ ready ── start ──▶ running ──▶ finished
///                                                 the last hold is released
///
/// While `isBlocked`, a waiting operation's dependencies have not finished: it is
/// not ready whatever else is. Cancelling the operation cancels what it stands
/// for, which then ends the place in its own way.
package class PlaceholderOperation: Operation, @unchecked Sendable {
  // Sendable: everything is in atomics.
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

  package override init() { super.init() }

  /// Makes the operation ready before it is put in a queue.
  package final func beginReady() { phase.store(Phase.ready, ordering: .relaxed) }

  // MARK: What it stands for

  /// The queue has given the place: called once.
  package func begin() {}

  /// The operation has finished.
  package func didFinish() {}

  /// The place was cancelled: cancels what it stands for.
  package func cancelOccupants() {}

  /// Hands the name, the priority and the quality of service on.
  package final func takeScheduling(of future: AnyFuture) {
    if let name = future.name { self.name = name }
    if future.queuePriority != .normal { queuePriority = future.queuePriority }
    if future.qualityOfService != .default { qualityOfService = future.qualityOfService }
  }

  // MARK: The place

  /// Lets the queue start the operation.
  package final func becomeReady() {
    let (isFirst, _) = phase.compareExchange(
      expected: Phase.waiting, desired: Phase.ready, ordering: .acquiringAndReleasing)
    if isFirst { post("isReady") }
  }

  /// The dependencies of what it stands for have finished, or have not.
  package final func setBlocked(_ isBlocked: Bool) {
    self.isBlocked.store(isBlocked, ordering: .releasing)
    if !isBlocked { post("isReady") }
  }

  /// Keeps the place when `begin()` has returned.
  package final func hold() { holds.wrappingAdd(1, ordering: .relaxed) }

  /// Gives a hold back; the last one finishes the operation.
  package final func release() {
    guard holds.wrappingSubtract(1, ordering: .acquiringAndReleasing).newValue == 0 else { return }
    phase.store(Phase.finished, ordering: .releasing)
    post("isFinished")
    didFinish()
  }

  /// Whether it waits for nothing but its queue.
  package final var hasBecomeReady: Bool { phase.load(ordering: .acquiring) != Phase.waiting }

  // MARK: Life as an operation

  package override var isAsynchronous: Bool { true }

  package override var isReady: Bool {
    SchedulingPoints.suspend()
    defer { SchedulingPoints.resume() }
    if phase.load(ordering: .acquiring) == Phase.waiting || isBlocked.load(ordering: .acquiring) {
      return false
    }
    return super.isReady
  }

  package override var isExecuting: Bool {
    unexplored { phase.load(ordering: .acquiring) == Phase.running }
  }
  package override var isFinished: Bool {
    unexplored { phase.load(ordering: .acquiring) == Phase.finished }
  }

  /// Whether the place was cancelled.
  ///
  /// (Kept here: a queue that sees Foundation's flag takes the operation for
  /// ready, whatever barrier it stands behind.)
  package override var isCancelled: Bool { unexplored { wasCancelled.load(ordering: .acquiring) } }

  package override func start() {
    let (isFirst, _) = phase.compareExchange(
      expected: Phase.ready, desired: Phase.running, ordering: .acquiringAndReleasing)
    guard isFirst else { return }
    begin()
    release()
  }

  package override func cancel() {
    guard !wasCancelled.exchange(true, ordering: .acquiringAndReleasing) else { return }
    cancelOccupants()
  }
}

extension Operation {
  /// Tells Foundation that a property of the operation has changed.
  package func post(_ key: String) {
    SchedulingPoints.handOff()
    #if canImport(Darwin)
      willChangeValue(forKey: key)
    #endif
    didChangeValue(forKey: key)
  }
}
