import Futures
import Synchronization

/// Makes objects and counts how many of them are alive.
package final class LifetimeTracker: Sendable {
  private let count = TestLock(0)

  package init() {}

  /// The number of its objects that are alive.
  package var alive: Int { count.withLock { $0 } }

  /// Makes an object to capture.
  package func make() -> Tracked { Tracked(of: self) }

  fileprivate func change(by amount: Int) { count.withLock { $0 += amount } }
}

/// An object whose life is counted.
package final class Tracked: Sendable {
  private let tracker: LifetimeTracker

  fileprivate init(of tracker: LifetimeTracker) {
    self.tracker = tracker
    tracker.change(by: 1)
  }

  deinit { tracker.change(by: -1) }

  /// Does nothing; a closure that calls it captures the object.
  package func touch() {}
}
