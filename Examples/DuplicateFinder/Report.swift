/// The results of the search in a stable order.
struct Report: Sendable {
  let groups: [DuplicateGroup]
  let problems: [Problem]
  let files: Int
  let emptyFiles: Int
  /// The fates of the files, if an action was performed.
  let deeds: Deeds?
  /// `false` after Ctrl-C.
  let isComplete: Bool

  init(of findings: Findings.Snapshot, isComplete: Bool) {
    groups = findings.groups.sorted()
    problems = findings.problems.sorted()
    files = findings.files
    emptyFiles = findings.emptyFiles
    deeds = findings.deeds
    self.isComplete = isComplete
  }

  var wastedBytes: Int64 { groups.reduce(0) { $0 + $1.wastedBytes } }

  var exitCode: Command.ExitCode {
    guard isComplete else { return .interrupted }
    return problems.isEmpty ? .done : .incomplete
  }
}
