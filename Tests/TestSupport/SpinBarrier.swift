import Foundation
import Synchronization

/// A barrier that threads leave within a microsecond of each other.
///
/// `Barrier` wakes its threads one after the other. For a race whose window is shorter
/// than that, the threads meet here first.
package final class SpinBarrier: Sendable {
  private let missing: Atomic<Int>

  package init(_ size: Int) { missing = Atomic(size) }

  /// Waits, without sleeping, until all threads of the barrier have come.
  ///
  /// - Parameter delay: How many additional times the thread reads the counter before it
  ///   leaves; each takes a few nanoseconds. A race that varies the delay finds a narrow
  ///   window sooner.
  package func meet(delay: Int = 0) {
    missing.subtract(1, ordering: .acquiringAndReleasing)
    var looks = 0
    while missing.load(ordering: .acquiring) > 0 {
      looks += 1
      if looks > 1_000 { sched_yield() }
    }
    for _ in 0..<delay { _ = missing.load(ordering: .acquiring) }
  }
}
