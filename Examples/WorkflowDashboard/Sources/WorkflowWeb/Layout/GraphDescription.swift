/// A graph in the language of Graphviz, made of identifiers and sizes only.
///
/// Names stay on this side, so a hostile name is no danger to the layout.
struct GraphDescription {
  /// The size of a task's box, in pixels.
  static let box = (width: 176.0, height: 58.0)
  /// Graphviz measures in inches of so many pixels.
  static let pixels = 72.0
  /// From so many tasks on, the lines are straight and the order is less refined.
  private static let many = 300

  let text: String

  /// - Parameter folded: The tasks whose inner workflows are not shown.
  init(of tasks: [TaskEntry], folded: Set<String>) {
    let hidden = Self.hidden(tasks, folded)
    let shown = tasks.filter { !hidden.contains($0.id) }
    var lines = ["digraph {", "rankdir=LR; nodesep=0.25; ranksep=0.6; pad=0.1;"]
    let size = "width=\(Self.box.width / Self.pixels), height=\(Self.box.height / Self.pixels)"
    lines.append("node [shape=box, fixedsize=true, label=\"\", \(size)];")
    lines.append("edge [arrowhead=none, arrowtail=none];")
    if shown.count > Self.many {
      lines.append("splines=false; nslimit=1; nslimit1=1; mclimit=0.3; maxiter=50;")
    }

    // Inner tasks follow their parent, so a parent closes when a task outside it comes.
    var open: [String] = []
    let parents = Set(shown.compactMap(\.parent))
    for task in shown {
      while let last = open.last, task.parent != last {
        lines.append("}")
        open.removeLast()
      }
      if parents.contains(task.id) {
        lines.append("subgraph \"cluster_\(task.id)\" { margin=14;")
        open.append(task.id)
      }
      lines.append("\"\(task.id)\";")
    }
    lines += open.map { _ in "}" }

    for task in shown {
      for id in task.prerequisites { lines.append("\"\(id)\" -> \"\(task.id)\";") }
      // The task around a workflow is drawn in front of the tasks inside.
      if let parent = task.parent, task.prerequisites.isEmpty {
        lines.append("\"\(parent)\" -> \"\(task.id)\" [style=invis];")
      }
    }
    text = (lines + ["}"]).joined(separator: "\n") + "\n"
  }

  /// The tasks inside folded ones.
  private static func hidden(_ tasks: [TaskEntry], _ folded: Set<String>) -> Set<String> {
    guard !folded.isEmpty else { return [] }
    var hidden: Set<String> = []
    for task in tasks {
      guard let parent = task.parent else { continue }
      if folded.contains(parent) || hidden.contains(parent) { hidden.insert(task.id) }
    }
    return hidden
  }
}
