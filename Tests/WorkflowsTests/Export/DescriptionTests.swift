import Foundation
import Futures
import TestSupport
import Testing
import Workflows

@Suite("Descriptions", .timeLimit(.minutes(5)), .oneAtATime)
struct DescriptionTests {
  /// A workflow of tasks in a row, the first of which fails with an error of
  /// the library that names it.
  private func brokenChain(of count: Int) async throws -> WorkflowOutcome {
    let workflow = inlineWorkflow("chain")
    var last: AnyWorkflowTask = try workflow.add(ExternalConditionTask<Int>(name: "first"))
    for number in 0..<count {
      last = try workflow.add(counting("\(number)"), prerequisites: last)
    }
    return try await workflow.run()
  }

  @Test("an error of the library prints as its sentence, however many tasks depend on the task")
  func printedError() async throws {
    let outcome = try await brokenChain(of: 50_000)
    let text =
      "\"first\" has not been fulfilled. Call fulfill(with:), or make it wait for its fulfilment."
    #expect("\(outcome)" == "failed: first (\(text))")
    let error = try #require(outcome.errors.values.first)
    #expect("\(error)" == text && error.localizedDescription == text)
  }

  private struct Offline: LocalizedError {
    var errorDescription: String? { "The server cannot be reached." }
  }

  @Test func `a task fails with an error that has a message: the outcome contains the message`()
    async throws
  {
    let workflow = inlineWorkflow()
    try workflow.add(BlockWorkflowTask<Int>(name: "load") { task in task.fail(with: Offline()) })
    #expect(try await "\(workflow.run())" == "failed: load (The server cannot be reached.)")
  }

  @Test("an outcome names twenty tasks, and says how many more there are")
  func longOutcome() async throws {
    let workflow = inlineWorkflow()
    for number in 1...100 { try workflow.add(failing(number < 10 ? "0\(number)" : "\(number)")) }
    let text = try await "\(workflow.run())"
    #expect(text.hasPrefix("failed: 01 (first), 02 (first)") && text.hasSuffix(" and 80 more"))
    #expect(text.components(separatedBy: ",").count == 20)
  }

  @Test("the tree of a large graph has a thousand lines, and is not indented without end")
  func largeTree() throws {
    let workflow = inlineWorkflow("large")
    var last = try workflow.add(counting("first"))
    for number in 0..<50_000 {
      last = try workflow.add(counting("\(number)"), prerequisites: last)
    }
    let lines = workflow.debugDescription.split(separator: "\n")
    #expect(lines.count == 1_002 && lines.last == "(and more, left out)")
    #expect(lines.allSatisfy { $0.utf8.count < 400 })
    #expect(lines[45].contains("| [45] <BlockWorkflowTask<Int>"))
  }

  @Test("an outcome has a bounded length, however many tasks a task waits for")
  func boundedOutcome() async throws {
    let workflow = inlineWorkflow("wide")
    let all = (0..<2_000).map { OpenTask(name: "task number \($0)") }
    for task in all { try workflow.add(task) }
    let last = try workflow.add(OpenTask(name: "last"), prerequisites: all)
    let stuck = WorkflowOutcome.stuck([last: all])
    #expect("\(stuck)".utf8.count < 400)
    #expect("\(stuck)".hasPrefix("stuck: last waits for \"task number 0\" and \"task number 1\""))
    #expect("\(stuck)".hasSuffix(" and 1995 more"))
  }

  @Test("a cycle names its first and last tasks, and says how many are between them")
  func boundedCycle() throws {
    let workflow = inlineWorkflow("chain")
    let first = try workflow.add(OpenTask(name: "first"))
    var last = first
    for number in 0..<2_000 {
      last = try workflow.add(OpenTask(name: "\(number)"), prerequisites: last)
    }
    do {
      try workflow.addPrerequisite(last, to: first)
      Issue.record("no cycle")
    } catch WorkflowError.cycle(let path) {
      #expect(path.count == 2_002)
      let text = "\(WorkflowError.cycle(path))"
      #expect(text.utf8.count < 1_000)
      #expect(
        text.contains("\"first\" -> \"0\" -> ") && text.contains(" -> \"1999\" -> \"first\"."))
      #expect(text.contains("(1982 more)"))
    }
  }

  @Test("names that are more than a word are in quotes, and long ones are cut")
  func quotedNames() {
    let names = ["word", "two words", "a, b", "", "say \"x\"", "f(x)", "line\nbreak"]
    let outcome = WorkflowOutcome.cancelled(names.map { OpenTask(name: $0) })
    #expect(
      "\(outcome)"
        == #"cancelled: "", "a, b", "f(x)", "line break", "say \"x\"", "two words", word"#)
    let long = OpenTask(name: String(repeating: "x", count: 1_000_000))
    for text in [
      "\(WorkflowOutcome.cancelled([long]))", "\(WorkflowError.noWork(long))",
      "\(WorkflowOutcome.failed([long: WorkflowError.noWork(long)]))",
    ] {
      #expect(text.utf8.count < 600 && text.contains("xxx..."), "\(text.count)")
    }
    let keys = (0..<100_000).map { "key \($0)" }
    #expect("\(WorkflowError.missingPrerequisiteKeys(keys, of: long))".utf8.count < 2_000)
  }
}
