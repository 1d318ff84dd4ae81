import Foundation
import Futures
import TestSupport
import Testing
import Workflows

@Suite("Descriptions", .timeLimit(.minutes(1)), .oneAtATime)
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
}
