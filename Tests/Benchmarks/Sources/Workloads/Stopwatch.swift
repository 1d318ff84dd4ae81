import Foundation

/// The kind of time that is measured.
package enum Clock: Sendable {
  /// The processor time of all threads of the process: for work that never waits. Other
  /// programs hardly disturb it.
  case processor
  /// Wall-clock time: for work that passes between threads.
  case wall

  /// Nanoseconds since a fixed moment.
  @inline(__always)
  package var now: UInt64 {
    var time = timespec()
    clock_gettime(self == .wall ? CLOCK_MONOTONIC : CLOCK_PROCESS_CPUTIME_ID, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
  }

  /// Returns the duration of the work in nanoseconds.
  @inline(__always)
  package func time(_ work: () throws -> Void) rethrows -> Double {
    let start = now
    try work()
    return Double(now - start)
  }
}

/// Checks a result, so that the optimiser cannot remove the work and an error is noticed.
@inline(__always)
package func expect(_ condition: Bool, _ what: StaticString = "the work went wrong") {
  precondition(condition, "\(what)")
}
