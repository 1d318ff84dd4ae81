import Futures

/// A clock on which every sleep throws.
package struct BrokenClock: Clock {
  package typealias Instant = ContinuousClock.Instant

  private let error: any Error
  private let end: Future<Void>

  /// - Parameters:
  ///   - error: What the sleeps throw.
  ///   - end: When the sleeps end.
  package init(error: any Error, end: Future<Void> = Promises.makeSucceeded()) {
    self.error = error
    self.end = end
  }

  package var now: Instant { .now }
  package var minimumResolution: Duration { .nanoseconds(1) }

  package func sleep(until deadline: Instant, tolerance: Duration?) async throws {
    _ = await end.completion
    throw error
  }
}
