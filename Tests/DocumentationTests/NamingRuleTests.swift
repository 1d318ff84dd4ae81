import Foundation
import TestSupport
import Testing

/// A line of `.ci/interface.txt` that declares a function or an initialiser.
private struct InterfaceFunction {
  struct Parameter {
    /// `_` if calls write no label.
    var label: String
    var type: String
  }

  var module: String
  /// As in `Future.delay`.
  var name: String
  var parameters: [Parameter]

  /// Returns the functions that are not deprecated.
  static func all() throws -> [InterfaceFunction] {
    try Documents.text(of: ".ci/interface.txt").split(separator: "\n").compactMap { line in
      let cells = line.components(separatedBy: " | ")
      guard cells.count == 3, cells[2].contains(/\b(func|init)\b/),
        !cells[2].contains(" deprecated "), let list = list(of: cells[2])
      else { return nil }
      return InterfaceFunction(
        module: cells[0], name: String(cells[1].prefix { $0 != "(" }),
        parameters: parts(of: list).map(Parameter.init))
    }
  }

  /// Returns the text between the parentheses of the parameters.
  private static func list(of declaration: String) -> Substring? {
    guard let start = declaration.firstIndex(of: "(") else { return nil }
    var depth = 0
    for index in declaration[start...].indices {
      switch declaration[index] {
      case "(": depth += 1
      case ")": depth -= 1
      default: break
      }
      if depth == 0 { return declaration[declaration.index(after: start)..<index] }
    }
    return nil
  }

  /// Splits at the commas that are not inside brackets.
  private static func parts(of list: Substring) -> [String] {
    var parts = [""]
    var depth = 0
    var last: Character = " "
    for character in list {
      switch character {
      case "(", "[", "<": depth += 1
      case ">" where last == "-": break
      case ")", "]", ">": depth -= 1
      default: break
      }
      if character == ",", depth == 0 {
        parts.append("")
      } else {
        parts[parts.count - 1].append(character)
      }
      last = character
    }
    return parts.map { $0.trimmingCharacters(in: .whitespaces) }.filter { !$0.isEmpty }
  }
}

extension InterfaceFunction.Parameter {
  init(_ text: String) {
    let words = text.prefix { $0 != ":" }.split(separator: " ").filter { !$0.hasPrefix("@") }
    label = words.first.map(String.init) ?? ""
    type = text.drop { $0 != ":" }.dropFirst().trimmingCharacters(in: .whitespaces)
  }

  var isClosure: Bool {
    type.contains("->") || type.contains(".Block") || type.contains(".Finish")
  }
  var isContext: Bool { type.contains(/^(some ExecutionContext|Context\b)/) }
  var isDuration: Bool { type.contains(/^Duration\b/) }
  var isInterval: Bool { type.hasPrefix("DispatchTimeInterval") }
}

/// Holds the public interface to the rules in the article Changelog.
@Suite("The rules for names", .timeLimit(.minutes(5)), .oneAtATime)
struct NamingRuleTests {
  @Test("on: is where a closure runs, and a context has no other label")
  func contexts() throws {
    let functions = try InterfaceFunction.all()
    // They keep the context, and take no closure.
    let settings = ["Workflow.init", "AnyWorkflowTask.setContext"]
    let places =
      /^(some (ExecutionContext|Actor)|Context|Isolation|DispatchQueue|OperationQueue)\b/
    var found = 0
    for function in functions {
      for parameter in function.parameters {
        if parameter.isContext, !settings.contains(function.name) {
          #expect(parameter.label == "on", "\(function.name)")
        }
        if parameter.label == "on" {
          found += 1
          // Combine's name; the article gives the reason.
          if function.name.hasSuffix(".assign") { continue }
          #expect(parameter.type.contains(places), "\(function.name): \(parameter.type)")
        }
      }
    }
    #expect(found > 50, "the functions were not found")
  }

  @Test("A closure has the label that its part has everywhere")
  func closures() throws {
    /// The functions that may have a closure with a label. Without a label, any function may.
    let owners: [String: Regex<AnyRegexOutput>] = try [
      "using": #"(Future\.(map|compactMap)\w+|Future\.recover(ToFuture)?)"#,
      "perform": #"(Any)?Future\.(on[A-Z]\w+|always)"#,
      "that": #"Future\.ensure"#,
      // Like Combine and the standard library.
      "where": #"(Promises\.find|ProducerTask\.(try)?(contains|first|Contains|First))"#,
      "with": #"ProducerTask\.replace(Error|Nil)"#,
      "receiveOutput": #"ProducerTask\.(breakpointOnOutput|handleEvents)"#,
      "receiveFailure": #"ProducerTask\.(breakpointOnFailure|handleEvents)"#,
      "receiveCancel": #"ProducerTask\.handleEvents"#,
      // By their parameters.
      "block": #"\w*Block\w*Task\.init"#,
      "work": #"Block\w*ProducerTask\.init"#,
      "transform": #"(Async)?BlockConsumerProducerTask\.init"#,
      "make": #"(Future|Operation)WorkflowTask\.init"#,
      "body": #"(Workflow\.add|AsyncWorkflowTask\.init)"#,
      "run": #"Workflow\.add"#,
      "method": #"MethodWorkflowTask\.init"#,
      "evaluate": #"BlockCondition\.init"#,
      "members": #"Group\w*Task\.init"#,
      // Requirements of protocols, and what implements them.
      "completion": #"(\w+\.)+(evaluate|receive)"#,
      // Beside another closure, or beside values.
      "release": #"Promises\.using"#,
      "decide": #"RetryPolicy\.init"#,
      "retryIf": #"RetryPolicy\.init"#,
      "random": #"RetryPolicy\.Jitter\.full"#,
      "didStart": #"BlockObserver\.init"#,
      "didProduce": #"BlockObserver\.init"#,
      "didCancel": #"BlockObserver\.init"#,
      "didFinish": #"BlockObserver\.init"#,
      "onChange": #"Observers\.Progress\.init"#,
      "write": #"ProducerTask\.printEvents"#,
      "result": #"OperationWorkflowTask\.init"#,
      "input": #"SubworkflowTask\.init"#,
      "output": #"SubworkflowTask\.init"#,
    ].mapValues { try Regex($0) }
    let others = #/(Future|ProducerTask)\.\?\?/#
    var unused = Set(owners.keys)
    for function in try InterfaceFunction.all() where function.name.wholeMatch(of: others) == nil {
      for parameter in function.parameters where parameter.isClosure && parameter.label != "_" {
        unused.remove(parameter.label)
        let owner = owners[parameter.label]
        #expect(
          try owner?.wholeMatch(in: function.name) != nil,
          "\(function.name) has a closure with the label '\(parameter.label)'")
      }
      // The methods of a future say what a closure does, except those whose name says it.
      if function.name.hasPrefix("Future."), function.name != "Future.getFuture" {
        let hasNone = function.parameters.contains { $0.isClosure && $0.label == "_" }
        #expect(!hasNone, "\(function.name)")
      }
    }
    #expect(unused.isEmpty, "no function has these labels any longer")
  }

  @Test("What waits or ends by itself takes both kinds of time; what is kept takes a Duration")
  func times() throws {
    let functions = try InterfaceFunction.all().filter { $0.module != "FuturesTestSupport" }
    // They describe a rule, a report or a choice among futures.
    let kept: Set<String> = [
      "Batcher.init", "FuturesDiagnostics.Configuration.init", "Promise.report", "Promises.pending",
      "RateLimiter.init", "RetryBudget.init", "RetryPolicy.init", "SingleFlight.init",
    ]
    func times(_ isTime: (InterfaceFunction.Parameter) -> Bool) -> Set<String> {
      Set(
        functions.flatMap { function in
          function.parameters.filter(isTime).map { "\(function.name) \($0.label)" }
        })
    }
    let (durations, intervals) = (times(\.isDuration), times(\.isInterval))
    let withDurationOnly = durations.subtracting(intervals).map { $0.prefix { $0 != " " } }
    #expect(Set(withDurationOnly.map(String.init)) == kept)
    // The one conversion takes an interval only.
    #expect(intervals.subtracting(durations) == ["Duration.init _"])
    #expect(intervals.count > 10, "the functions were not found")
  }
}
