import ExampleSupport
import Foundation

/// The folder in which names of a description are names of files.
struct Folder: Sendable {
  let url: URL
  private let prefix: String
  /// Whether everything is built, whatever is known of it.
  let buildsAll: Bool

  init(url: URL, buildsAll: Bool = false) {
    self.url = url
    prefix = url.path.hasSuffix("/") ? url.path : url.path + "/"
    self.buildsAll = buildsAll
  }

  func stamp(of name: String) -> Stamp? { Stamp(ofFile: path(of: name)) }

  private func path(of name: String) -> String { name.hasPrefix("/") ? name : prefix + name }

  /// Why a target's commands have to be run; `nil` if they need not, or if it
  /// has none.
  func reason(toBuild rule: Rule, _ record: Record?, stamps: [Stamp]) -> Reason? {
    guard !rule.script.isEmpty else { return nil }
    let fileExists = stamp(of: rule.target) != nil
    let reason = Reason(
      toBuild: rule, record, stamps: stamps, fileExists: fileExists, stamp: stamp(of:))
    return reason ?? (buildsAll ? .wantedAnew : nil)
  }

  /// What a target is whose commands are not run.
  func stampUnlessBuilt(_ rule: Rule, _ record: Record?, stamps: [Stamp]) -> Stamp {
    if let file = stamp(of: rule.target) { return file }
    return rule.script.isEmpty ? .ofParts(stamps) : record?.stamp ?? .ofBuild()
  }

  /// What the dependency files of a target name beside its prerequisites, after its
  /// commands have run; `nil` if it has none.
  ///
  /// - Parameter start: When the commands began, in nanoseconds since 1970. A file
  ///   that has changed since may have been read before: it counts as changed.
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
    // Their stamps are older, and what the commands have worked with.
    for name in rule.prerequisites { found[name] = nil }
    return found
  }
}
