import Foundation

/// What one query says of a job.
struct JobState: Sendable, Equatable {
  /// How far a job is.
  enum Phase: Sendable, Equatable {
    /// It waits, runs, is suspended or tidies up.
    case active
    /// It has ended by itself.
    case ended
    case cancelled
    case nodeFailed
    case timedOut
    case outOfMemory
  }

  let jobID: Int
  let phase: Phase
  /// The status as `waitpid` reports it.
  let status: Int32
  let node: String
  let name: String
  let reason: String

  /// The fields that `squeue` prints, each followed by a bar.
  ///
  /// The name comes last but one and the reason last: names are written so that they
  /// contain no bar.
  static let format = "JobID:|,State:|,exit_code:|,NodeList:|,Name:|,Reason:|"

  /// Reads one line of the query; `nil` if it is none.
  init?(line: Substring) {
    let fields = line.split(separator: "|", omittingEmptySubsequences: false)
    guard fields.count >= 6, let id = Int(fields[0]) else { return nil }
    jobID = id
    status = Int32(fields[2]) ?? 0
    node = String(fields[3])
    name = String(fields[4])
    reason = fields[5].trimmingCharacters(in: .whitespaces)
    phase =
      switch fields[1] {
      case "COMPLETED", "FAILED": .ended
      case "CANCELLED", "REVOKED": .cancelled
      case "NODE_FAIL", "BOOT_FAIL", "PREEMPTED", "LAUNCH_FAILED", "RECONFIG_FAIL": .nodeFailed
      case "TIMEOUT", "DEADLINE": .timedOut
      case "OUT_OF_MEMORY": .outOfMemory
      // Also states that later versions may have.
      default: .active
      }
  }

  /// Reads the answer to a query.
  static func all(in text: String) -> [JobState] {
    text.split(separator: "\n").compactMap { JobState(line: $0) }
  }

  var isActive: Bool { phase == .active }
}
