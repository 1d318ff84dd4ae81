import ExampleSupport
import Foundation

/// The folder that the file names in a description are relative to.
struct Folder: Sendable {
  let url: URL
  private let prefix: String
  /// Whether targets are built even if they are up to date.
  let buildsAll: Bool
  /// Reads the stamp of the file at a path; tests count the calls.
  var read: @Sendable (String) -> Stamp? = { Stamp(ofFile: $0) }

  init(url: URL, buildsAll: Bool = false) {
    self.url = url
    prefix = url.path.hasSuffix("/") ? url.path : url.path + "/"
    self.buildsAll = buildsAll
  }

  /// The path of the file that keeps what was built by a description.
  func state(of description: String) -> String {
    url.appendingPathComponent(".\(description).state").path
  }

  func stamp(of name: String) -> Stamp? { read(path(of: name)) }

  private func path(of name: String) -> String { name.hasPrefix("/") ? name : prefix + name }

  /// Returns why a target's commands must run; `nil` if they need not run, or if it has
  /// none.
  func reason(toBuild rule: Rule, _ record: Record?, stamps: [Stamp]) -> Reason? {
    guard !rule.script.isEmpty else { return nil }
    let fileExists = stamp(of: rule.target) != nil
    let reason = Reason(
      toBuild: rule, record, stamps: stamps, fileExists: fileExists, stamp: stamp(of:))
    return reason ?? (buildsAll ? .wantedAnew : nil)
  }

  /// Returns the stamp of a target whose commands are not run.
  func stampUnlessBuilt(_ rule: Rule, _ record: Record?, stamps: [Stamp]) -> Stamp {
    if let file = stamp(of: rule.target) { return file }
    return rule.script.isEmpty ? .ofParts(stamps) : record?.stamp ?? .ofBuild()
  }

  /// Returns the stamps of the files that the dependency files of a target name, without
  /// its prerequisites; `nil` if the target has no dependency files.
  ///
  /// Call it after the commands have run.
  ///
  /// - Parameter start: The time when the commands began, in nanoseconds since 1970. A
  ///   command may have read a file before the file changed, so a file that has changed
  ///   since then counts as changed.
  func found(by rule: Rule, since start: Int64) throws -> [String: Stamp]? {
    guard !rule.dependencyFiles.isEmpty else { return nil }
    var found: [String: Stamp] = [:]
    for file in rule.dependencyFiles {
      let bytes: [UInt8]
      do throws(SystemError) { bytes = try TextFile.read(path(of: file)) } catch {
        throw DependencyFile.Wrong(name: file, reason: "cannot be read: \(error)")
      }
      guard let names = DependencyFile.prerequisites(in: bytes) else {
        throw DependencyFile.Wrong(name: file, reason: "is not one: a line has no colon")
      }
      for name in names where name != rule.target {
        found[name] = Stamp(ofFile: path(of: name), unchangedSince: start) ?? .ofBuild()
      }
    }
    // The prerequisites have stamps from before the commands, and these are what the
    // commands worked with.
    for name in rule.prerequisites { found[name] = nil }
    return found
  }
}
