import AllocationCounter
import Foundation

/// How much of the process is in memory.
enum ResidentMemory {
  struct Unknown: Error, CustomStringConvertible {
    let description = "/proc/self/statm says nothing; resident memory is only measured on Linux."
  }

  /// Bytes, after the allocator has given back what it only keeps: otherwise
  /// what comes next would be put where something was before, and cost
  /// nothing.
  static func bytes() throws -> Int {
    allocation_counter_trim()
    let fields = try String(contentsOfFile: "/proc/self/statm", encoding: .utf8)
      .split(separator: " ")
    guard fields.count > 1, let pages = Int(fields[1]) else { throw Unknown() }
    return pages * Int(sysconf(Int32(_SC_PAGESIZE)))
  }
}
