/// The commands that a build would run, with the reasons, in a possible order.
struct DryRun {
  let lines: [String]

  init(_ plan: Plan, in folder: Folder, records: [String: Record]) {
    var lines: [String] = []
    var stamps: [String: Stamp] = [:]
    // The targets that would be built, and the targets without commands that depend on
    // them.
    var stale: Set<String> = []
    for rule in plan.rules {
      let record = records[rule.target]
      let known = rule.prerequisites.map { stamps[$0] ?? folder.stamp(of: $0) ?? .ofBuild() }
      var reason = folder.reason(toBuild: rule, record, stamps: known)
      if let name = rule.prerequisites.first(where: stale.contains) {
        stale.insert(rule.target)
        if record != nil, !rule.script.isEmpty { reason = .wouldBeBuilt(name) }
      }
      stamps[rule.target] = folder.stampUnlessBuilt(rule, record, stamps: known)
      guard let reason else { continue }
      stale.insert(rule.target)
      lines.append("would build  \(rule.target) (\(reason))")
      lines += rule.script.split(separator: "\n").map { "    $ \($0)" }
    }
    self.lines = lines.isEmpty ? ["Everything is up to date."] : lines
  }
}
