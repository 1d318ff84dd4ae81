import Foundation
import Futures

/// A context that starts operations where it is asked to, under a lock of its own.
package final class LockingContext: ExecutionContext {
  private let lock = DispatchSemaphore(value: 1)
  /// Operations that did not get the lock in time.
  package let refused = Counter()

  package init() {}

  package func execute(_ operation: Operation) {
    guard lock.wait(timeout: .now() + 20) == .success else {
      refused.add()
      return
    }
    operation.start()
    lock.signal()
  }
}
