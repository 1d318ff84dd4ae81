import ExampleSupport

/// The line on the terminal that shows the progress of the search.
enum ProgressLine {
  /// The text of the line; with the cursor it fits in 40 columns.
  static func text(for soFar: Findings.Snapshot) -> String {
    if let deeds = soFar.deeds {
      let verb = deeds.action == .remove ? "Removed" : "Linked"
      return "\(verb) \(deeds.count) of \(soFar.filesToReplace.of("file"))"
    }
    guard let candidates = soFar.candidates else { return "Scanning: \(soFar.files.of("file"))" }
    let percent = 100 * soFar.candidatesCompared / max(1, candidates)
    return "\(percent) %, \(soFar.bytesRead.asSize) read, \(soFar.groups.count.of("group"))"
  }
}
