import Foundation

/// Stands in a queue for a promise that occupies it.
///
/// The queue owns its operations until they have finished. If it held the promise itself,
/// a promise that its producer drops would occupy the queue for ever. So this operation
/// owns the promise only until the operation has started it.
package final class OccupyingOperation: PlaceholderOperation, @unchecked Sendable {
  // Sendable: `occupant` has a lock.
  private let occupant: Lock<AnyFuture?>
  private let reference: FutureReference

  init(for future: AnyFuture) {
    occupant = Lock(future)
    reference = future.reference
    super.init()
    beginReady()
    takeScheduling(of: future)
    hold()
  }

  package override func begin() { occupant.withLock { $0.take() }?.start() }

  package override var occupants: [AnyFuture] { reference.future.map { [$0] } ?? [] }

  package override func cancelOccupants() { reference.future?.cancel() }

  /// Finishes the operation, because the promise has settled or is released.
  func end() {
    let last = occupant.withLock { $0.take() }
    setBlocked(false)
    release()
    withExtendedLifetime(last) {}
  }
}

extension AnyFuture {
  /// Keeps the slot of a future that occupies its queue until the registration ends, even
  /// if the future settles before.
  package final func holdSlot() -> Registration {
    let placeholder = storage.placeholder
    let isHeld = placeholder?.hold() == true
    return Registration { if isHeld { placeholder?.release() } }
  }
}
