extension WorkflowCore {
  /// Describes tasks and, indented, their dependents.
  ///
  /// The text is for people. It also appears when an error or value that holds a task is
  /// printed. It is therefore limited to a thousand lines and forty levels of
  /// indentation; deeper lines begin with the number of their level.
  func tree(from roots: [AnyWorkflowTask], indent: Int = 0) -> String {
    let (longest, deepest) = (1_000, 40)
    var lines: [String] = []
    var seen: Set<ObjectIdentifier> = []
    var next = roots.reversed().map { (task: $0, depth: indent) }
    while let (task, depth) = next.popLast() {
      if lines.count == longest {
        lines.append("(and more, left out)")
        break
      }
      lines.append(
        String(repeating: "   | ", count: min(depth, deepest))
          + (depth > deepest ? "[\(depth)] " : "") + task.description)
      guard seen.insert(ObjectIdentifier(task)).inserted else { continue }
      next += task.dependentTasks.reversed().map { ($0, depth + 1) }
    }
    return lines.joined(separator: "\n")
  }
}
