import AllocationCounter
import Foundation

/// Counts calls of `malloc`.
enum Allocations {
  struct Uncounted: Error, CustomStringConvertible {
    let description: String
  }

  /// Whether a program can count allocations on this platform; on Linux it can.
  static var canBeCounted: Bool { allocation_counter_is_supported() != 0 }

  /// Returns the number of allocations that the whole process makes during the work.
  static func count(_ work: () -> Void) throws -> UInt64 {
    guard counted({ for _ in 0..<100 { _ = Operation() } }) >= 100 else {
      // A zero must not look like a success.
      throw Uncounted(description: "The allocation counter does not see the allocations.")
    }
    work()  // Caches of the runtime, and the buffers that a thread keeps.
    return counted(work)
  }

  private static func counted(_ work: () -> Void) -> UInt64 {
    allocation_counter_start()
    work()
    return allocation_counter_stop()
  }
}
