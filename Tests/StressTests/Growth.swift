import Foundation
import TestSupport

/// How the time for something grows with its size.
enum Growth {
  /// The least time that is worth comparing.
  private static let shortest = 0.005

  /// How much longer it takes for four times the size: 4 if the time is in
  /// proportion, 16 if it is quadratic, 64 if it is cubic.
  ///
  /// The size is doubled until the time can be measured. Each time is the
  /// processor time of the calling thread, and the least of up to five runs. The measurement
  /// ends early where the ratio is below `bound`. Otherwise it is repeated once with four times
  /// the size, and the smaller ratio counts: what outgrows a cache of the processor does so at
  /// one size, what is quadratic is so at both.
  ///
  /// - Parameters:
  ///   - start: The first size.
  ///   - bound: A ratio that is small enough.
  ///   - body: Prepares something of a size, and returns what is measured.
  static func ratio(
    from start: Int = 64, below bound: Double, of body: (Int) -> () -> Void
  ) -> Double {
    var size = start
    var small = time(size, body)
    while small < shortest, size < 1 << 20 {
      size *= 2
      small = time(size, body)
    }
    for _ in 0..<4 { small = min(small, time(size, body)) }
    let large = leastTime(size * 4, below: bound * small, body)
    if large < bound * small { return large / small }
    return min(large / small, leastTime(size * 16, below: bound * large, body) / large)
  }

  /// The same on a small stack, where deep recursion ends the program.
  static func ratioOnSmallStack(
    from start: Int = 64, below bound: Double,
    of body: @escaping @Sendable (Int) -> () -> Void
  ) async throws -> Double {
    try await SmallStackThread.running(within: .seconds(240)) {
      ratio(from: start, below: bound, of: body)
    }
  }

  /// What a ratio of times for twice the size must stay below: 2 if the time is in proportion,
  /// 4 if it is quadratic.
  static let doubledBound = 3.0

  /// How many times a ratio of wall-clock times is measured before it counts as too large.
  static let tries = 6

  /// The least of some measurements of a ratio of wall-clock times.
  ///
  /// Other processes may have the machine during one of them, so the measurement is repeated while the ratio is not
  /// below `bound`; every second time with twice the size, because what outgrows a cache of the
  /// processor does so at one size only.
  ///
  /// - Parameters:
  ///   - bound: A ratio that is small enough.
  ///   - ratio: Measures a ratio with sizes multiplied by its argument.
  static func leastRatio(
    below bound: Double, _ ratio: (_ factor: Int) async throws -> Double
  ) async rethrows -> Double {
    var least = Double.infinity
    for attempt in 0..<tries where least >= bound {
      least = min(least, try await ratio(1 + attempt % 2))
    }
    return least
  }

  private static func leastTime(
    _ size: Int, below limit: Double, _ body: (Int) -> () -> Void
  ) -> Double {
    var least = Double.infinity
    for _ in 0..<5 where least >= limit { least = min(least, time(size, body)) }
    return least
  }

  /// How long the calling thread has had a processor, in seconds.
  private static func threadTime() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }

  /// How long the calling thread works on something of a size.
  private static func time(_ size: Int, _ body: (Int) -> () -> Void) -> Double {
    let measured = body(size)
    let start = threadTime()
    measured()
    return threadTime() - start
  }
}
