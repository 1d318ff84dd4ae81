extension Plan {
  /// The maximum number of cycles that are reported.
  private static let limit = 20

  /// Returns cycles among the rules, so that every edge that is part of a cycle appears
  /// in one of them.
  ///
  /// For each edge that no earlier cycle contains, the shortest cycle through it is
  /// returned. A list of all cycles could be exponentially long.
  ///
  /// - Parameters:
  ///   - ordered: The rules that depend on no cycle.
  ///   - number: The positions of the rules by their targets.
  /// - Complexity: O(rules + prerequisites) for each cycle.
  static func cycles(
    in rules: [Rule], without ordered: [Int], _ number: [String: Int]
  ) -> [Description.Problem] {
    var isOrdered = Array(repeating: false, count: rules.count)
    for i in ordered { isOrdered[i] = true }
    let arrows = rules.indices.map { i in
      isOrdered[i] ? [] : rules[i].prerequisites.compactMap { number[$0] }.filter { !isOrdered[$0] }
    }
    let components = components(of: arrows)
    var told: Set<[Int]> = []
    var cycles: [[Int]] = []
    // Goes through the rules in the order of their lines.
    for start in rules.indices {
      for next in arrows[start]
      where components[next] == components[start] && !told.contains([start, next]) {
        guard cycles.count < limit else {
          return cycles.map { problem($0, rules) } + [
            Description.Problem(line: rules[start].line, message: "there are more such cycles")
          ]
        }
        let cycle = [start] + path(from: next, to: start, arrows)
        for (i, target) in cycle.enumerated() {
          told.insert([target, cycle[(i + 1) % cycle.count]])
        }
        cycles.append(cycle)
      }
    }
    return cycles.map { problem($0, rules) }
  }

  private static func problem(_ cycle: [Int], _ rules: [Rule]) -> Description.Problem {
    // The cycle is reported from the rule that comes first.
    let first = cycle.indices.min { cycle[$0] < cycle[$1] } ?? cycle.startIndex
    let turned = cycle[first...] + cycle[..<first] + [cycle[first]]
    let names = turned.map { "'\(rules[$0].target)' (line \(rules[$0].line))" }
    return Description.Problem(
      line: rules[cycle[first]].line,
      message: "these need one another: " + names.joined(separator: " -> "))
  }

  /// Returns the shortest path along the edges, without its end.
  private static func path(from start: Int, to end: Int, _ arrows: [[Int]]) -> [Int] {
    guard start != end else { return [] }
    var previous = [start: start]
    var queue = [start]
    var done = 0
    while done < queue.count, previous[end] == nil {
      let current = queue[done]
      done += 1
      for next in arrows[current] where previous[next] == nil {
        previous[next] = current
        queue.append(next)
      }
    }
    var path: [Int] = []
    var current = end
    while current != start, let before = previous[current] {
      path.append(before)
      current = before
    }
    return path.reversed()
  }

  /// Returns the number of the strongly connected component of each rule.
  ///
  /// Rules of one component need each other.
  ///
  /// This is Tarjan's algorithm with an explicit stack instead of recursion.
  private static func components(of arrows: [[Int]]) -> [Int] {
    let unseen = -1
    var component = Array(repeating: unseen, count: arrows.count)
    var order = component
    var lowest = component
    var (found, open) = (0, [Int]())
    for root in arrows.indices where order[root] == unseen {
      var calls = [(rule: root, arrow: 0)]
      while let (rule, arrow) = calls.last {
        if arrow == 0 {
          order[rule] = found
          lowest[rule] = found
          found += 1
          open.append(rule)
        }
        if arrow < arrows[rule].count {
          calls[calls.count - 1].arrow += 1
          let next = arrows[rule][arrow]
          if order[next] == unseen {
            calls.append((next, 0))
          } else if component[next] == unseen {
            lowest[rule] = min(lowest[rule], order[next])
          }
        } else {
          if lowest[rule] == order[rule] {
            while let member = open.popLast() {
              component[member] = rule
              if member == rule { break }
            }
          }
          calls.removeLast()
          if let caller = calls.last?.rule { lowest[caller] = min(lowest[caller], lowest[rule]) }
        }
      }
    }
    return component
  }
}
