import Foundation

/// Stands in a queue for a promise that occupies it.
///
/// The queue owns its operations until they have finished. If it held the promise
/// itself, a promise that its producer drops would occupy the queue for ever. So
/// this operation owns the promise only until it has started it.
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

  package override func cancelOccupants() { reference.future?.cancel() }

  /// The promise has settled, or is released: finishes the operation.
  func end() {
    let last = occupant.withLock { $0.take() }
    setBlocked(false)
    release()
    withExtendedLifetime(last) {}
  }
}

extension AnyFuture {
  /// Keeps the slot of a future that occupies its queue, even when the future has
  /// settled, until the registration ends.
  package final func holdSlot() -> Registration {
    let placeholder = storage.placeholder
    let isHeld = placeholder?.hold() == true
    return Registration { if isHeld { placeholder?.release() } }
  }
}
