import TestSupport

@testable import Futures

/// Waits until somebody waits for a future: a task that has come to suspend,
/// a thread that has come to block.
///
/// Nothing public tells.
func hasWaiter(_ future: AnyFuture) async -> Bool {
  await eventually { future.storage.hasWaiters }
}
