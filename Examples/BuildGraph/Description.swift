/// A target, what it needs, and how it is made.
struct Rule: Sendable, Equatable {
  let target: String
  let prerequisites: [String]
  /// A script; empty for a mere name.
  var script: String
  /// Where the rule begins.
  let line: Int
}

/// What a build description says: rules without duplicates.
struct Description: Sendable {
  /// What is wrong with a line.
  struct Problem: Error, Equatable, CustomStringConvertible {
    let line: Int
    let message: String

    var description: String { "\(line): \(message)" }
  }

  /// All that is wrong with a description, in the order of the lines.
  struct Problems: Error, Equatable {
    let list: [Problem]
  }

  let rules: [Rule]

  init(_ text: String) throws(Problems) {
    var parser = Parser()
    // ("\r\n" is one character.)
    for (i, line) in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
      .enumerated()
    {
      parser.read(line, number: i + 1)
    }
    guard parser.problems.isEmpty else { throw Problems(list: parser.problems) }
    rules = parser.finished
  }
}

/// Reads lines one after the other.
private struct Parser {
  private var rules: [Rule] = []
  private var lineOfTarget: [String: Int] = [:]
  private(set) var problems: [Description.Problem] = []
  /// Whether indented lines belong to a rule.
  private var isInRule = false

  /// The rules, with what all lines of their scripts have in common cut off.
  var finished: [Rule] {
    rules.map { rule in
      var rule = rule
      var lines = rule.script.split(separator: "\n", omittingEmptySubsequences: false)
        .drop { $0.allSatisfy(\.isWhitespace) }
      while lines.last?.allSatisfy(\.isWhitespace) == true { lines.removeLast() }
      let indent = lines.filter { !$0.allSatisfy(\.isWhitespace) }
        .map { $0.prefix(while: \.isWhitespace).count }.min()
      rule.script = lines.map { $0.dropFirst(indent ?? 0) }.joined(separator: "\n")
      return rule
    }
  }

  mutating func read(_ line: Substring, number: Int) {
    func problem(_ message: String) {
      problems.append(Description.Problem(line: number, message: message))
    }
    let isHarmless = line.unicodeScalars.allSatisfy {
      $0 == "\t" || $0.properties.generalCategory != .control
    }
    guard isHarmless else { return problem("a control character") }
    guard let first = line.first(where: { !$0.isWhitespace }) else {
      // Empty lines may stand inside a script.
      if isInRule, !rules.isEmpty { rules[rules.count - 1].script += "\n" }
      return
    }
    if line.first?.isWhitespace == true {
      guard isInRule else {
        if first != "#" { problem("a command without a target above it") }
        return
      }
      rules[rules.count - 1].script += line + "\n"
    } else if first != "#" {
      isInRule = false
      do throws(Description.Problem) {
        let rule = try rule(of: line, number: number)
        if let other = lineOfTarget.updateValue(number, forKey: rule.target) {
          problem("'\(rule.target)' is defined in line \(other) already")
          lineOfTarget[rule.target] = other
        }
        rules.append(rule)
      } catch {
        problems.append(error)
        // Its commands are not to be complained of as well.
        rules.append(Rule(target: "", prerequisites: [], script: "", line: number))
      }
      isInRule = true
    }
  }

  private func rule(of line: Substring, number: Int) throws(Description.Problem) -> Rule {
    func problem(_ message: String) -> Description.Problem {
      Description.Problem(line: number, message: message)
    }
    guard let colon = line.firstIndex(of: ":") else {
      throw problem("a rule has the form 'TARGET: PREREQUISITE...', and commands are indented")
    }
    let names = line[..<colon].split(whereSeparator: \.isWhitespace)
    guard names.count == 1 else {
      throw problem(names.isEmpty ? "no target before the colon" : "more than one target")
    }
    let words = line[line.index(after: colon)...].split(whereSeparator: \.isWhitespace)
    var prerequisites: [String] = []
    var seen: Set<Substring> = []
    for word in words.prefix(while: { !$0.hasPrefix("#") }) {
      guard !word.contains(":") else { throw problem("more than one colon") }
      // Once is enough.
      if seen.insert(word).inserted { prerequisites.append(String(word)) }
    }
    return Rule(
      target: String(names[0]), prerequisites: prerequisites, script: "", line: number)
  }
}
