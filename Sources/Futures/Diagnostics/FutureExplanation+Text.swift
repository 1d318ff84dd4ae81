extension FutureExplanation: CustomStringConvertible {
  /// The explanation as an indented tree, one line for each future.
  ///
  /// Names are shortened to 80 characters, without line breaks.
  public var description: String {
    var lines: [String] = []
    var written: Set<Int> = []
    // Futures that no step leads to, because the steps between are left out, come last.
    for start in steps.indices where !written.contains(start) {
      var stack = [(position: start, depth: 0)]
      if start > 0 { lines.append("Found later:") }
      while let (position, depth) = stack.popLast() {
        let step = steps[position]
        let pad = String(repeating: "  ", count: min(depth, 40))
        guard written.insert(position).inserted else {
          lines.append("\(pad)\(step.title), see above")
          continue
        }
        lines.append("\(pad)\(step.title)\(step.needsOnlyOne ? ", waits for one of:" : "")")
        for reason in step.reasons { lines.append("\(pad)  → \(reason)") }
        if step.leftOutCount > 0 {
          lines.append("\(pad)  … \(step.leftOutCount) futures of the chain …")
        }
        if step.moreCount > 0 { lines.append("\(pad)  … and \(step.moreCount) more futures") }
        // A chain is not indented, so that the text stays narrow.
        let next = step.waitsFor.count > 1 ? depth + 1 : depth
        for other in step.waitsFor.reversed() { stack.append((other, next)) }
      }
    }
    if isTruncated { lines.append("There are more futures, which were not visited.") }
    return lines.joined(separator: "\n")
  }

  /// The explanation as a drawing in the language of Mermaid.
  ///
  /// Edges lead from a future to those that it waits for. Names may contain any characters.
  public var mermaid: String {
    var lines = ["flowchart TD"]
    for (position, step) in steps.enumerated() {
      lines.append("  f\(position)[\"\(MermaidText.escaped(step.label))\"]")
    }
    for (from, to, label) in edges {
      lines.append("  f\(from) --\(label.map { ">|\"\($0)\"|" } ?? ">") f\(to)")
    }
    return lines.joined(separator: "\n") + "\n"
  }

  /// The explanation as a drawing in the language of Graphviz.
  ///
  /// Edges lead from a future to those that it waits for. Names may contain any characters.
  public var dot: String {
    var lines = ["digraph {", "  node [shape=box];"]
    for (position, step) in steps.enumerated() {
      lines.append("  f\(position) [label=\(DotText.quoted(step.label))];")
    }
    for (from, to, label) in edges {
      lines.append("  f\(from) -> f\(to)\(label.map { " [label=\"\($0)\"]" } ?? "");")
    }
    return (lines + ["}"]).joined(separator: "\n") + "\n"
  }

  private var edges: [(from: Int, to: Int, label: String?)] {
    steps.enumerated().flatMap { position, step in
      step.waitsFor.map { other in
        (position, other, step.leftOutCount > 0 ? "\(step.leftOutCount) more" : nil)
      }
    }
  }
}

extension FutureExplanation.Step: CustomStringConvertible {
  fileprivate var title: String {
    AnyFuture.title(createdAt, name)
  }

  /// The future and what it waits for.
  public var description: String { ([title] + reasons.map(\.description)).joined(separator: " ") }

  fileprivate var label: String {
    let more = moreCount > 0 ? ["and \(moreCount) more futures"] : []
    return ([title] + reasons.map(\.description) + more).joined(separator: "\n")
  }
}
