import Synchronization

/// A membership that ends when this object is released, or earlier.
///
/// In most cases the waiter list of a future keeps the registration. So the membership ends
/// when the future settles or is released. Callers of `AnyFuture.holdSlot()` and
/// `OperationWatch.add(to:_:)` keep it themselves.
package final class Registration: Sendable {
  private let body: @Sendable () -> Void
  private let hasEnded = Atomic<Bool>(false)

  /// - Parameter body: Ends the membership. Called once.
  package init(_ body: @escaping @Sendable () -> Void) { self.body = body }

  deinit { end() }

  /// Ends the membership.
  package func end() {
    if !hasEnded.exchange(true, ordering: .acquiringAndReleasing) { body() }
  }
}
