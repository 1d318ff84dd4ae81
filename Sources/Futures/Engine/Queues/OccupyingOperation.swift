import Foundation

/// Stands in a queue for a promise that occupies it.
///
/// The queue owns its operations until they have finished. If it held the promise itself,
/// a promise that its producer drops would occupy the queue for ever. So this operation
/// owns the promise only until the operation has started it. (If the work keeps the promise
/// while it runs, the operation does so too. It then needs no weak reference, which makes
/// every use of the promise slower.)
///
/// While dependencies of the promise are pending, the operation is not in the queue, because
/// it is not ready. It is a member of an operation that stands in the queue for many:
///
///   outside ── wait(in:) ──▶ member ── enterQueue ──▶ in the queue
///                               └───── end ─────────▶ outside
///
/// On Linux it may stay a member while it is in the queue; see `passBarriers(behind:)`.
package final class OccupyingOperation: PlaceholderOperation, @unchecked Sendable {
  // Sendable: `occupant`, `place` and `placeLeft` have locks, a weak reference is safe on
  // any thread, the rest never changes.
  private let occupant: Lock<AnyFuture?>
  private let place = Lock<Place?>(nil)
  /// The place that the operation leaves: until it is in its queue or, if it has passed
  /// barriers, until it has finished.
  private let placeLeft = Lock<Place?>(nil)
  /// The promise, if its work does not keep it.
  private let reference: FutureReference?
  fileprivate private(set) weak var queue: OperationQueue?

  /// The membership of an operation that is not in its queue yet.
  struct Place {
    let queue: OperationQueue
    let members: PendingMembers
    let id: Int
  }

  init(for future: AnyFuture, in queue: OperationQueue) {
    occupant = Lock(future)
    reference = future.traits.contains(.isKeptByWork) ? nil : future.reference
    super.init()
    self.queue = queue
    beginReady()
    if future.hasCustomScheduling { takeScheduling(of: future) }
    hold()
  }

  package override func begin() {
    occupant.withLock { reference == nil ? $0 : $0.take() }?.start()
  }

  package override func didFinish() {
    occupant.replace(with: nil)
    endLeaving()
  }

  /// The promise, if it still exists.
  private var promise: AnyFuture? {
    if let reference { reference.future } else { occupant.withLock { $0 } }
  }

  package override var occupants: [AnyFuture] { promise.map { [$0] } ?? [] }

  package override func cancelOccupants() { promise?.cancel() }

  /// Makes the operation a member until no dependency is pending.
  func wait(in place: Place) {
    self.place.replace(with: place)
    // The last dependency may have finished, or the promise may have settled, meanwhile.
    guard let future = promise, !future.isSettled else { return leave() }
    if !future.storage.hasPendingDependencies { enterQueue() }
  }

  package override func wasUnblocked() { enterQueue() }

  /// Enters the queue, unless the operation has done so.
  func enterQueue() {
    guard let place = place.withLock({ $0.take() }) else { return }
    add(to: place)
    if ShutDownQueues.phase(of: place.queue) == .over { cancelOccupants() }
  }

  private func add(to place: Place) {
    #if !canImport(Darwin)
      if place.queue.hasBarrierOperations {
        let isPassing = BarrierOperation.whileNoneIsAdded {
          place.queue.addReliably(self)
          return passBarriers(behind: place)
        }
        if !isPassing { place.members.remove(place.id) }
        return
      }
    #endif
    placeLeft.replace(with: place)
    // The queue may be a user's subclass.
    WorkLoop.current.callOut { place.queue.addReliably(self) }
    // Only now, so that the queue is never empty in between.
    endLeaving()
  }

  /// What the operation was a member of, while it enters its queue; a task queue lets it enter
  /// there.
  package var membersLeft: PendingMembers? { placeLeft.withLock { $0?.members } }

  #if !canImport(Darwin)
    /// Lets the operation start in front of the barriers that wait for the place where it was a
    /// member.
    ///
    /// What they wait for may need this operation. They wait for this operation too, because its
    /// membership does not end before it has finished.
    ///
    /// Returns `false` if there are none.
    private func passBarriers(behind place: Place) -> Bool {
      // In most cases there is no barrier.
      guard !isFreeForFoundation, let gates = Gates.of(self) else { return false }
      // A late barrier may wait for this promise, and not for all members.
      let behind = BarrierOperation.gates(
        gates, of: place.queue, waitingFor: [place.members] + occupants)
      if behind.isEmpty { return false }
      placeLeft.replace(with: place)
      // If everything was cancelled, the operation may have run meanwhile.
      if isFinished { endLeaving() }
      leave(behind, of: gates)
      return true
    }
  #endif

  private func endLeaving() {
    if let place = placeLeft.withLock({ $0.take() }) { place.members.remove(place.id) }
  }

  private func leave() {
    if let place = place.withLock({ $0.take() }) { place.members.remove(place.id) }
  }

  /// Finishes the operation, because the promise has settled or is released.
  func end() {
    // Work that still runs, because its promise was cancelled, finishes the operation later.
    let isKept = reference == nil && isExecuting
    let last = isKept ? nil : occupant.withLock { $0.take() }
    leave()
    setBlocked(false)
    release()
    withExtendedLifetime(last) {}
  }
}

extension AnyFuture {
  /// The queue in which a future that occupies its queue waits for a slot; `nil` if the
  /// future has started, or the library does not know the queue.
  final var queueToOccupy: OperationQueue? {
    guard traits.contains(.occupiesQueue), !isExecuting else { return nil }
    return (storage.placeholder as? OccupyingOperation)?.queue
  }

  /// Keeps the slot of a future that occupies its queue until the registration ends, even
  /// if the future settles before.
  package final func holdSlot() -> Registration {
    let placeholder = storage.placeholder
    let isHeld = placeholder?.hold() == true
    return Registration { if isHeld { placeholder?.release() } }
  }
}
