import ExampleSupport
import Foundation

/// A target, its prerequisites and its commands.
struct Rule: Sendable, Equatable {
  let target: String
  let prerequisites: [String]
  /// The commands; empty for a target that only names its prerequisites.
  var script: String
  /// The number of the line in which the rule begins.
  let line: Int
  /// The files to which the commands write further prerequisites of the target.
  var dependencyFiles: [String] = []
  /// Whether the commands run whenever the target is wanted.
  var runsAlways = false
}

/// The content of a build description: rules without duplicates.
struct Description: Sendable {
  /// An error in a line.
  struct Problem: Error, Equatable, CustomStringConvertible {
    let line: Int
    let message: String

    var description: String { "\(line): \(message)" }
  }

  /// The error for a file that is not UTF-8.
  struct NotText: Error {}

  /// All errors in a description, in the order of the lines.
  struct Problems: Error, Equatable {
    let list: [Problem]
  }

  let rules: [Rule]
  /// The targets that are built by default; all targets if empty.
  let defaults: [String]

  /// Reads the description in a file.
  ///
  /// - Throws: A `SystemError`, `NotText`, or the `Problems` of the text.
  init(file: URL) throws {
    guard let text = String(validating: try TextFile.read(file.path), as: UTF8.self) else {
      throw NotText()
    }
    try self.init(text)
  }

  init(_ text: String) throws(Problems) {
    var parser = Parser()
    // In Swift, "\r\n" is one character.
    for (i, line) in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
      .enumerated()
    {
      parser.read(line, number: i + 1)
    }
    parser.checkSettings()
    guard parser.problems.isEmpty else { throw Problems(list: parser.problems) }
    rules = parser.finished
    defaults = parser.defaults
  }
}

/// Reads the lines of a description.
private struct Parser {
  private var rules: [Rule] = []
  private var lineOfTarget: [String: Int] = [:]
  private(set) var problems: [Description.Problem] = []
  /// The place that indented lines belong to.
  private enum Place { case nothing, rule, setting(String) }
  private var place = Place.nothing
  /// The targets that settings such as `.default: a b` name, with their lines.
  private var settings: [String: [(target: String, line: Int)]] = [".default": [], ".always": []]

  /// The targets that are built by default.
  var defaults: [String] { settings[".default", default: []].map(\.target) }

  /// The rules, with the common indentation of each script removed.
  var finished: [Rule] {
    let always = Set(settings[".always", default: []].map(\.target))
    return rules.map { rule in
      var rule = rule
      rule.runsAlways = always.contains(rule.target)
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
      // A script may contain empty lines.
      if case .rule = place { rules[rules.count - 1].script += "\n" }
      return
    }
    if line.first?.isWhitespace == true {
      switch place {
      case .rule: rules[rules.count - 1].script += line + "\n"
      case .nothing where first != "#": problem("a command without a target above it")
      case .setting(let name) where first != "#": problem("'\(name)' has no commands")
      case .nothing, .setting: break
      }
    } else if first != "#" {
      place = .nothing
      do throws(Description.Problem) {
        let rule = try rule(of: line, number: number)
        if settings[rule.target] != nil {
          settings[rule.target]? += rule.prerequisites.map { ($0, number) }
          place = .setting(rule.target)
          return
        }
        if let other = lineOfTarget.updateValue(number, forKey: rule.target) {
          problem("'\(rule.target)' is defined in line \(other) already")
          lineOfTarget[rule.target] = other
        }
        rules.append(rule)
      } catch {
        problems.append(error)
        // This rule takes the commands, so that they are not reported as well.
        rules.append(Rule(target: "", prerequisites: [], script: "", line: number))
      }
      place = .rule
    }
  }

  /// Reports settings that name unknown targets.
  mutating func checkSettings() {
    // A wrong line may have defined any target.
    guard problems.isEmpty else { return }
    for (name, targets) in settings {
      for (target, line) in targets where lineOfTarget[target] == nil {
        problems.append(
          Description.Problem(
            line: line, message: "'\(name)' names '\(target)', which is no target"))
      }
    }
    problems.sort { ($0.line, $0.message) < ($1.line, $1.message) }
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
    var dependencyFiles: [String] = []
    var seen: Set<Substring> = []
    for word in words.prefix(while: { !$0.hasPrefix("#") }) {
      guard !word.contains(":") else { throw problem("more than one colon") }
      // Ignores repeated prerequisites.
      guard seen.insert(word).inserted else { continue }
      if word.hasPrefix("@") {
        guard word.count > 1 else { throw problem("no name after '@'") }
        dependencyFiles.append(String(word.dropFirst()))
      } else {
        prerequisites.append(String(word))
      }
    }
    return Rule(
      target: String(names[0]), prerequisites: prerequisites, script: "", line: number,
      dependencyFiles: dependencyFiles)
  }
}
