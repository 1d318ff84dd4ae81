import Foundation
import Futures

extension Workflow {
  /// The graph of the workflow in the language of Graphviz.
  ///
  /// Tasks have their names and states, as text and as colour; subworkflows are clusters.
  /// Edges to a task with a ``TriggerRule`` other than the default are dashed and
  /// labelled with the rule. The order is that in which tasks were added, so that two
  /// drawings differ only where the workflows do. Names may contain any characters.
  public var dot: String {
    var lines = ["digraph \(DotText.quoted(name)) {", "  rankdir=LR;", "  node [shape=box];"]
    var edges: [String] = []
    draw { step, pad in
      switch step {
      case .open(let id, let name):
        lines.append("\(pad)subgraph cluster_\(id) {")
        lines.append("\(pad)  label=\(DotText.quoted(name));")
      case .close:
        lines.append("\(pad)}")
      case .task(let id, let task, let state):
        lines.append(
          "\(pad)\(id) [label=\(DotText.quoted(task.name + "\n" + state.description)), "
            + "style=filled, fillcolor=\"\(state.colour)\"];")
      case .edge(let from, let to, let rule):
        let style = rule.text.map { " [style=dashed, label=\(DotText.quoted($0))]" } ?? ""
        edges.append("  \(from) -> \(to)\(style);")
      }
    }
    return (lines + edges + ["}"]).joined(separator: "\n") + "\n"
  }

  /// The graph of the workflow in the language of Mermaid.
  ///
  /// Tasks have their names and states, as text and as colour; subworkflows are
  /// subgraphs. Edges to a task with a ``TriggerRule`` other than the default are dashed
  /// and labelled with the rule. The order is that in which tasks were added. Names may
  /// contain any characters.
  public var mermaid: String {
    var lines = ["flowchart LR"]
    var edges: [String] = []
    draw { step, pad in
      switch step {
      case .open(let id, let name):
        lines.append("\(pad)subgraph \(id)_inside[\"\(MermaidText.escaped(name))\"]")
      case .close:
        lines.append("\(pad)end")
      case .task(let id, let task, let state):
        lines.append(
          "\(pad)\(id)[\"\(MermaidText.escaped(task.name))<br/>\(state)\"]:::\(state.className)")
      case .edge(let from, let to, let rule):
        let arrow = rule.text.map { "-. \($0) .->" } ?? "-->"
        edges.append("  \(from) \(arrow) \(to)")
      }
    }
    let classes = WorkflowTaskState.allCases.map {
      "  classDef \($0.className) fill:\($0.colour),color:#000000"
    }
    return (lines + edges + classes).joined(separator: "\n") + "\n"
  }
}

/// A step of a walk over a workflow and the workflows inside it.
private enum DrawingStep {
  case open(id: String, name: String)
  case close
  case task(id: String, AnyWorkflowTask, WorkflowTaskState)
  case edge(from: String, to: String, TriggerRule)
}

extension Workflow {
  /// Reports tasks and clusters in order, a subworkflow after its task.
  ///
  /// No recursion: workflows may be nested deeply.
  private func draw(_ report: (DrawingStep, _ pad: String) -> Void) {
    // The depth from which lines are indented no further, and identifiers no longer contain
    // their path. The length of a drawing then stays proportional to the size of the workflow.
    let deepest = 40
    func pad(_ depth: Int) -> String { String(repeating: "  ", count: min(depth, deepest) + 1) }
    var seen: Set<ObjectIdentifier> = [ObjectIdentifier(self)]
    var levels = [(snapshot: Snapshot(of: self), prefix: "t", next: 0)]
    while let level = levels.last {
      let depth = levels.count - 1
      guard level.next < level.snapshot.tasks.count else {
        levels.removeLast()
        if !levels.isEmpty { report(.close, pad(depth - 1)) }
        continue
      }
      levels[levels.count - 1].next += 1
      let task = level.snapshot.tasks[level.next]
      let (id, pad) = ("\(level.prefix)\(level.next)", pad(depth))
      report(.task(id: id, task.task, task.state), pad)
      for prerequisite in task.prerequisites {
        report(.edge(from: "\(level.prefix)\(prerequisite)", to: id, task.rule), pad)
      }
      // A workflow that several tasks run is drawn once.
      if let inner = task.task.nesting?.inner, seen.insert(ObjectIdentifier(inner)).inserted {
        report(.open(id: id, name: inner.name), pad)
        let prefix = depth < deepest ? id + "_" : "n\(seen.count)_"
        levels.append((Snapshot(of: inner), prefix, 0))
      }
    }
  }
}

extension TriggerRule {
  /// The label of an edge to a task with the rule; `nil` for the default rule.
  fileprivate var text: String? {
    switch self {
    case .whenAllSucceed: nil
    case .whenAllDone: "all done"
    case .whenAnyFails: "any fails"
    }
  }
}

extension WorkflowTaskState {
  fileprivate var colour: String {
    switch self {
    case .pending: "#eeeeee"
    case .ready: "#cfe2ff"
    case .executing: "#fff3bf"
    case .cancelled: "#d0d0d0"
    case .finished: "#c3e6cb"
    case .failed: "#f5c2c7"
    case .skipped: "#e2d9f3"
    }
  }

  fileprivate var className: String { description.lowercased() }
}
