import ExampleSupport
import Foundation
import Properations
import Synchronization

/// Builds targets that have a reason to be built.
final class Builder: Sendable {
  /// The error of a target whose command failed.
  struct CommandFailed: Error {
    let reason: Reason
    let outcome: Shell.Outcome
  }

  /// The error for a file that existed when the build was planned, but is gone now.
  struct Vanished: Error, LocalizedError {
    let name: String

    var errorDescription: String? { "'\(name)' has vanished" }
  }

  private let folder: Folder
  private let journal: Journal
  private let shell: Shell
  private let transcript: Transcript
  private let keepsGoing: Bool
  private let launcher: [String]
  private let hasFailed = Atomic(false)

  /// - Parameters:
  ///   - keepsGoing: Whether other targets are still built after one has failed.
  ///   - launcher: The command that starts scripts; none if empty.
  init(
    in folder: Folder, journal: Journal, shell: Shell, transcript: Transcript, keepsGoing: Bool,
    launcher: [String] = []
  ) {
    self.folder = folder
    self.journal = journal
    self.shell = shell
    self.transcript = transcript
    self.keepsGoing = keepsGoing
    self.launcher = launcher
  }

  /// Builds a target, or finds that it is up to date.
  ///
  /// The future is cancelled if an earlier failure has stopped the build.
  func build(_ rule: Rule, prerequisites: [Built?]) throws -> Future<Built> {
    if hasFailed.load(ordering: .acquiring), !keepsGoing {
      return Promises.makeFailed(with: ProperationsError.cancelled)
    }
    return try noting {
      let stamps = try zip(rule.prerequisites, prerequisites).map { name, built in
        guard let stamp = built?.stamp ?? folder.stamp(of: name) else {
          throw Vanished(name: name)
        }
        return stamp
      }
      let record = journal.records[rule.target]
      guard let reason = folder.reason(toBuild: rule, record, stamps: stamps) else {
        let stamp = folder.stampUnlessBuilt(rule, record, stamps: stamps)
        return Promises.makeSucceeded(
          with: Built(stamp: stamp, work: rule.script.isEmpty ? .nothing : .done))
      }
      return try run(rule, reason, stamps)
    }
  }

  private func run(_ rule: Rule, _ reason: Reason, _ stamps: [Stamp]) throws -> Future<Built> {
    try journal.begin(rule.target)
    let output = try OutputFile()
    transcript.begin(rule, reason, output)
    let start = Self.now
    // Inline: runs on the thread that notices the end of the process, without a hop.
    let end = try shell.run(rule.script, by: launcher, writingTo: output)
    return end.mapToValue(on: .inline) { [self] outcome in
      try noting {
        guard outcome.end == .status(0) else {
          throw CommandFailed(reason: reason, outcome: outcome)
        }
        let file = folder.stamp(of: rule.target)
        let record = Record(
          script: rule.script, prerequisites: rule.prerequisites, stamps: stamps,
          stamp: file ?? .ofBuild(), isFile: file != nil,
          found: try folder.found(by: rule, since: start))
        try journal.end(rule.target, record)
        return Built(stamp: record.stamp, work: .run(reason, outcome))
      }
    }
  }

  /// Records a failure, so that no further target is built, before the error is reported.
  private func noting<Value>(_ body: () throws -> Value) throws -> Value {
    do { return try body() } catch {
      hasFailed.store(true, ordering: .releasing)
      throw error
    }
  }

  /// The current time, in nanoseconds since 1970.
  private static var now: Int64 {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
  }
}
