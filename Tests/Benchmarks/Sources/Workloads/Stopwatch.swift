import Foundation

/// How time is told.
package enum Clock: Sendable {
  /// Of all threads of the process together, while they run: for work that
  /// never waits. What else the machine does hardly disturbs it.
  case processor
  /// On the wall: for work that goes from thread to thread.
  case wall

  /// Nanoseconds since some moment.
  @inline(__always)
  package var now: UInt64 {
    var time = timespec()
    clock_gettime(self == .wall ? CLOCK_MONOTONIC : CLOCK_PROCESS_CPUTIME_ID, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
  }

  /// How many nanoseconds the work took.
  @inline(__always)
  package func time(_ work: () throws -> Void) rethrows -> Double {
    let start = now
    try work()
    return Double(now - start)
  }
}

/// Insists on a result, so that the work behind it can neither be left out by
/// the optimiser nor go wrong unnoticed.
@inline(__always)
package func expect(_ condition: Bool, _ what: StaticString = "the work went wrong") {
  precondition(condition, "\(what)")
}
