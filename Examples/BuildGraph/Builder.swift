import Foundation
import Properations

/// Builds targets, if there is a reason to.
struct Builder: Sendable {
  /// A command has failed.
  struct CommandFailed: Error {
    let reason: Reason
    let outcome: Shell.Outcome
  }

  /// A file that was there at first is not there any more.
  struct Vanished: Error, LocalizedError {
    let name: String

    var errorDescription: String? { "'\(name)' has vanished" }
  }

  let folder: Folder
  let journal: Journal
  let shell: Shell

  /// Builds a target, or finds that this need not be.
  func build(_ rule: Rule, prerequisites: [Built?]) throws -> Future<Built> {
    let stamps = try zip(rule.prerequisites, prerequisites).map { name, built in
      guard let stamp = built?.stamp ?? folder.stamp(of: name) else { throw Vanished(name: name) }
      return stamp
    }
    let record = journal.records[rule.target]
    guard let reason = folder.reason(toBuild: rule, record, stamps: stamps) else {
      let stamp = folder.stampUnlessBuilt(rule, record, stamps: stamps)
      return Promises.makeSucceeded(
        with: Built(stamp: stamp, work: rule.script.isEmpty ? .nothing : .done))
    }
    try journal.begin(rule.target)
    return try shell.run(rule.script, in: folder.url).mapToValue(on: .global()) { outcome in
      guard outcome.end == .status(0) else {
        throw CommandFailed(reason: reason, outcome: outcome)
      }
      let file = folder.stamp(of: rule.target)
      let record = Record(
        script: rule.script, prerequisites: rule.prerequisites, stamps: stamps,
        stamp: file ?? .ofBuild(), isFile: file != nil)
      try journal.end(rule.target, record)
      return Built(stamp: record.stamp, work: .run(reason, outcome))
    }
  }
}

/// The folder in which names of a description are names of files.
struct Folder: Sendable {
  let url: URL

  func stamp(of name: String) -> Stamp? {
    Stamp(ofFile: URL(fileURLWithPath: name, relativeTo: url).path)
  }

  /// Why a target's commands have to be run; `nil` if they need not, or if it
  /// has none.
  func reason(toBuild rule: Rule, _ record: Record?, stamps: [Stamp]) -> Reason? {
    guard !rule.script.isEmpty else { return nil }
    let fileExists = stamp(of: rule.target) != nil
    return Reason(toBuild: rule, record, stamps: stamps, fileExists: fileExists)
  }

  /// What a target is whose commands are not run.
  func stampUnlessBuilt(_ rule: Rule, _ record: Record?, stamps: [Stamp]) -> Stamp {
    if let file = stamp(of: rule.target) { return file }
    return rule.script.isEmpty ? .ofParts(stamps) : record?.stamp ?? .ofBuild()
  }
}
