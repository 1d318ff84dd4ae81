import AllocationCounter
import Foundation
import Workloads

/// The resident memory of a process.
enum ResidentMemory {
  struct Unknown: Error, CustomStringConvertible {
    let description: String
  }

  /// Returns the memory of each of a million pending links, in bytes.
  ///
  /// Call it in a process that has done nothing else: memory that an earlier measurement
  /// has released is used again and would not be counted.
  static func ofPendingLink() throws -> Double {
    let length = 1_000_000
    let before = try bytes()
    let chain = InlineChain.pending(length: length)
    let after = try bytes()
    withExtendedLifetime(chain) { expect(chain.last.result == nil) }
    return Double(after - before) / Double(length)
  }

  /// Returns the same from any process: a new process, with a heap of its own, measures
  /// it.
  static func ofPendingLinkInNewProcess() throws -> Double {
    let other = Process()
    let output = Pipe()
    other.executableURL = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
    other.arguments = [BudgetsCommand.pendingMemoryFlag]
    other.standardOutput = output
    try other.run()
    let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    other.waitUntilExit()
    guard other.terminationStatus == 0,
      let bytes = Double(text.trimmingCharacters(in: .whitespacesAndNewlines))
    else { throw Unknown(description: "The process that measures memory said: \(text)") }
    return bytes
  }

  private static func bytes() throws -> Int {
    allocation_counter_trim()
    let fields = try String(contentsOfFile: "/proc/self/statm", encoding: .utf8)
      .split(separator: " ")
    guard fields.count > 1, let pages = Int(fields[1]) else {
      throw Unknown(description: "/proc/self/statm says nothing of resident memory.")
    }
    return pages * Int(sysconf(Int32(_SC_PAGESIZE)))
  }
}
