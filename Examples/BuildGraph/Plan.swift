/// The targets to build, prerequisites first.
struct Plan: Sendable {
  /// The error for a target that the description does not define.
  struct UnknownTarget: Error, CustomStringConvertible {
    let name: String

    var description: String { "there is no target '\(name)'" }
  }

  let rules: [Rule]

  /// - Parameters:
  ///   - targets: The wanted targets; if empty, those that the description builds by
  ///     default.
  ///   - isFile: Whether a name that is no target is a file.
  /// - Throws: `Description.Problems` for unknown prerequisites and for cycles anywhere
  ///   in the description; `UnknownTarget`.
  /// - Complexity: O(rules + prerequisites).
  init(
    _ description: Description, targets: [String], isFile: (String) -> Bool
  ) throws {
    let rules = description.rules
    let number = Dictionary(uniqueKeysWithValues: rules.enumerated().map { ($1.target, $0) })
    var problems: [Description.Problem] = []
    for rule in rules {
      for name in rule.prerequisites where number[name] == nil && !isFile(name) {
        problems.append(
          Description.Problem(
            line: rule.line,
            message: "'\(rule.target)' needs '\(name)', which is neither a target nor a file"))
      }
    }
    let order = Self.order(of: rules, number)
    if order.count < rules.count {
      problems += Self.cycles(in: rules, without: order, number)
    }
    guard problems.isEmpty else {
      throw Description.Problems(list: problems.sorted { $0.line < $1.line })
    }

    var wanted: Set<Int> = []
    var next: [Int] = []
    for name in targets.isEmpty ? description.defaults : targets {
      guard let i = number[name] else { throw UnknownTarget(name: name) }
      next.append(i)
    }
    if next.isEmpty { next = Array(rules.indices) }
    while let i = next.popLast() {
      guard wanted.insert(i).inserted else { continue }
      next += rules[i].prerequisites.compactMap { number[$0] }
    }
    self.rules = order.filter(wanted.contains).map { rules[$0] }
  }

  /// Returns the rules that depend on no cycle, each after its prerequisites, otherwise
  /// in the order of the description.
  private static func order(of rules: [Rule], _ number: [String: Int]) -> [Int] {
    var dependents: [[Int]] = Array(repeating: [], count: rules.count)
    var missing = Array(repeating: 0, count: rules.count)
    for (i, rule) in rules.enumerated() {
      for prerequisite in rule.prerequisites.compactMap({ number[$0] }) {
        dependents[prerequisite].append(i)
        missing[i] += 1
      }
    }
    var order = rules.indices.filter { missing[$0] == 0 }
    var done = 0
    while done < order.count {
      for dependent in dependents[order[done]] {
        missing[dependent] -= 1
        if missing[dependent] == 0 { order.append(dependent) }
      }
      done += 1
    }
    return order
  }
}
