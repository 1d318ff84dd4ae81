import Foundation
import TestSupport

@testable import Futures

/// A clock that says what a test tells it to say.
///
/// Its sleeps end together, when the test settles `end`.
final class UserClock: Clock, Sendable {
  struct Instant: InstantProtocol {
    var offset: Duration

    func advanced(by duration: Duration) -> Instant { self }
    func duration(to other: Instant) -> Duration { other.offset }
    static func < (lhs: Instant, rhs: Instant) -> Bool { lhs.offset < rhs.offset }
  }

  /// The time since the clock was asked for the first time.
  let time = Box(Duration.zero)
  /// Called whenever the clock is asked for the time.
  let onNow = Box<(@Sendable () -> Void)?>(nil)
  let sleeping = Counter()
  let end = Promise<Void>()

  var now: Instant {
    onNow.value?()
    return Instant(offset: time.value)
  }
  var minimumResolution: Duration { .nanoseconds(1) }

  func sleep(until deadline: Instant, tolerance: Duration?) async throws {
    sleeping.add()
    defer { sleeping.add(-1) }
    switch await end.completion {
    case .success: return
    case .failure(let error): throw error
    }
  }
}
