import Foundation

/// Stands in a queue for a promise that occupies it.
///
/// The queue owns its operations until they have finished. If it held the promise itself,
/// a promise that its producer drops would occupy the queue for ever. So this operation
/// owns the promise only until the operation has started it.
///
/// While dependencies of the promise are pending, the operation is not in the queue, because
/// it is not ready. It is a member of an operation that stands in the queue for many:
///
///   outside ── wait(in:) ──▶ member ── enterQueue ──▶ in the queue
///                               └───── end ─────────▶ outside
package final class OccupyingOperation: PlaceholderOperation, @unchecked Sendable {
  // Sendable: `occupant` and `place` have locks, a weak reference is safe on any thread, the
  // rest never changes.
  private let occupant: Lock<AnyFuture?>
  private let place = Lock<Place?>(nil)
  private let reference: FutureReference
  fileprivate private(set) weak var queue: OperationQueue?

  /// The membership of an operation that is not in its queue yet.
  struct Place {
    let queue: OperationQueue
    let members: PendingMembers
    let id: Int
  }

  init(for future: AnyFuture, in queue: OperationQueue) {
    occupant = Lock(future)
    reference = future.reference
    super.init()
    self.queue = queue
    beginReady()
    takeScheduling(of: future)
    hold()
  }

  package override func begin() { occupant.withLock { $0.take() }?.start() }

  package override var occupants: [AnyFuture] { reference.future.map { [$0] } ?? [] }

  package override func cancelOccupants() { reference.future?.cancel() }

  /// Makes the operation a member until no dependency is pending.
  func wait(in place: Place) {
    self.place.replace(with: place)
    // The last dependency may have finished, or the promise may have settled, meanwhile.
    guard let future = reference.future, !future.isSettled else { return leave() }
    if !future.storage.hasPendingDependencies { enterQueue() }
  }

  package override func wasUnblocked() { enterQueue() }

  /// Enters the queue, unless the operation has done so.
  func enterQueue() {
    guard let place = place.withLock({ $0.take() }) else { return }
    // The queue may be a user's subclass.
    WorkLoop.current.callOut { place.queue.addReliably(self) }
    // Only now, so that the queue is never empty in between.
    place.members.remove(place.id)
    if ShutDownQueues.phase(of: place.queue) == .over { cancelOccupants() }
  }

  private func leave() {
    if let place = place.withLock({ $0.take() }) { place.members.remove(place.id) }
  }

  /// Finishes the operation, because the promise has settled or is released.
  func end() {
    let last = occupant.withLock { $0.take() }
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
