/// The reason to build a target.
enum Reason: Sendable, Equatable, CustomStringConvertible {
  case neverBuilt
  case always
  case wantedAnew
  case commandsChanged
  case prerequisitesChanged
  case changed(String)
  case missing
  /// A prerequisite would be built. This reason occurs only in a dry run.
  case wouldBeBuilt(String)

  /// Returns `nil` if there is no reason.
  ///
  /// - Parameters:
  ///   - record: The record of the last successful build.
  ///   - stamps: The current stamps of the prerequisites, in their order.
  ///   - fileExists: Whether the target is a file now.
  ///   - stamp: The current stamp of a file that a dependency file has named.
  init?(
    toBuild rule: Rule, _ record: Record?, stamps: [Stamp], fileExists: Bool,
    stamp: (String) -> Stamp?
  ) {
    guard let record else {
      self = .neverBuilt
      return
    }
    if record.script != rule.script {
      self = .commandsChanged
    } else if record.prerequisites != rule.prerequisites || record.stamps.count != stamps.count
      || (record.found == nil) != rule.dependencyFiles.isEmpty
    {
      self = .prerequisitesChanged
    } else if let i = stamps.indices.first(where: { stamps[$0] != record.stamps[$0] }) {
      self = .changed(rule.prerequisites[i])
    } else if let name = record.found?.filter({ stamp($0.key) != $0.value }).keys.min() {
      self = .changed(name)
    } else if record.isFile, !fileExists {
      self = .missing
    } else if rule.runsAlways {
      self = .always
    } else {
      return nil
    }
  }

  var description: String {
    switch self {
    case .neverBuilt: "not built yet, or not to the end"
    case .always: "it always runs"
    case .wantedAnew: "everything is wanted anew"
    case .commandsChanged: "its commands have changed"
    case .prerequisitesChanged: "its list of prerequisites has changed"
    case .changed(let name): "\(name) has changed"
    case .missing: "it is missing"
    case .wouldBeBuilt(let name): "\(name) would be built"
    }
  }
}
