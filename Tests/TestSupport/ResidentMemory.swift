import Foundation
import Testing

/// The memory that the process has in use, where the system tells it.
package enum ResidentMemory {
  /// In bytes; `nil` except on Linux, where `/proc` tells it.
  package static var bytes: Int? {
    #if os(Linux)
      let fields = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8))?
        .split(separator: " ")
      guard let fields, fields.count > 1, let pages = Int(fields[1]) else { return nil }
      return pages * sysconf(Int32(_SC_PAGESIZE))
    #else
      return nil
    #endif
  }

  /// Checks that the memory has grown by less than a limit.
  ///
  /// Where the system does not tell the memory, this checks nothing, and says so.
  ///
  /// - Parameters:
  ///   - start: The memory before, as `bytes` has told it.
  ///   - limit: The limit, in bytes.
  package static func expectGrowth(
    since start: Int?, below limit: Int, sourceLocation: SourceLocation = #_sourceLocation
  ) {
    guard let start, let now = bytes else {
      print("\(sourceLocation): the memory is unknown here, and is not checked")
      return
    }
    #expect(now - start < limit, sourceLocation: sourceLocation)
  }
}
