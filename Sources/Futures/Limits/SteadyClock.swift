import Synchronization

/// The latest time of which the callers of a machine have known.
///
/// A caller reads the clock before it has the machine, so another one may come first with a
/// later time.
struct LatestTime {
  private var time = Duration.zero

  /// Returns the time of a caller, or the latest one if the caller is late.
  mutating func advance(to now: Duration) -> Duration {
    time = max(time, now)
    return time
  }
}

/// Reads a user's clock as a time that never goes back, from any thread.
///
/// If the clock is set back, the time stands still at that moment and goes on from there. A
/// thread that is late, because others have read the clock since it did, changes nothing: the
/// time would otherwise run ahead of the clock when many threads read it.
final class SteadyClock: Sendable {
  private struct State {
    var latest = Duration.zero
    /// What the clock said at that moment.
    var reading = Duration.zero
    /// How often the clock was found set back.
    var setBacks = 0
    /// The number of the reading that found the clock set back last.
    var lastSetBack = 0
  }

  /// Called without a lock, because it calls the user's clock.
  private let elapsed: @Sendable () -> Duration
  /// The number of readings; it changes with the lock held.
  private let readings = Atomic<Int>(0)
  private let state = Lock(State())

  init(_ clock: any Clock<Duration>) { elapsed = clock.stopwatch() }

  var now: Duration { read().now }

  /// - Returns: The time, and how often the clock was set back before it.
  func read() -> (now: Duration, setBacks: Int) {
    let number = readings.load(ordering: .acquiring)
    let reading = elapsed()
    return state.withLock { state in
      let isLate = readings.wrappingAdd(1, ordering: .releasing).oldValue != number
      // It may be from before that.
      if state.lastSetBack > number { return (state.latest, state.setBacks) }
      let step = reading.boundedDifference(from: state.reading)
      if step < .zero, !isLate {
        state.reading = reading
        state.setBacks += 1
        state.lastSetBack = number + 1
      } else if step > .zero {
        state.reading = reading
        state.latest += step
      }
      return (state.latest, state.setBacks)
    }
  }
}
