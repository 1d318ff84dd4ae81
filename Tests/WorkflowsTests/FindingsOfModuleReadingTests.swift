import Foundation
import Futures
import TestSupport
import Testing

@testable import Workflows

/// What a reading of the whole module found, as programs.
@Suite("What a reading of the module found", .timeLimit(.minutes(5)), .oneAtATime)
struct FindingsOfModuleReadingTests {
  private func condition(_ name: String = "condition") -> ExternalConditionTask<Int> {
    ExternalConditionTask<Int>(name: name, waitsForFulfillment: true)
  }

  // MARK: Explanations

  @Test func `a condition waits: the explanation of the run lists it with the tasks that wait`()
    throws
  {
    let workflow = inlineWorkflow("w")
    try workflow.add(condition("approval"))
    let run = workflow.start()
    let text = run.explain().description
    #expect(text.contains(#"These tasks wait: "approval" (waits to be fulfilled)."#))
    #expect(!text.contains("These tasks execute"))
    workflow.cancel()
  }

  // MARK: Journals

  /// Lines with the highest numbers that a journal accepts.
  private static let highest: [[JournalFormat.Record]] = [
    [JournalFormat.Record(n: .max / 2, forgets: 0, forgot: "a")],
    [JournalFormat.Record(n: .max / 2, forgets: 0, finished: "a", version: 1, time: 0)],
    [JournalFormat.Record(n: 1, forgets: 0, finished: "a", version: 1, number: .max / 2)],
    [
      JournalFormat.Record(n: 1, forgets: 0, finished: "a", version: 1, number: .max / 2 - 1),
      JournalFormat.Record(
        n: 2, forgets: 0, finished: "b", version: 1, after: ["a": .max / 2 - 1], number: .max / 2),
    ],
  ]

  @Test(arguments: highest.indices)
  func `a line has one of the highest numbers: results that are recorded later are restored`(
    _ index: Int
  ) throws {
    let scene = try JournalScene()
    func resume() throws -> (WorkflowResumption, Workflow) {
      let workflow = inlineWorkflow()
      let first = try workflow.add(counting("a").journaled(as: "a"))
      let second = try workflow.add(counting("b").journaled(as: "b"), prerequisites: first)
      try workflow.add(counting("c").journaled(as: "c"), prerequisites: second)
      return (try workflow.resume(from: scene.journal, device: .hasty), workflow)
    }
    try resume().1.closeJournal()
    let salt = try #require(try JournalContents(try scene.bytes).header).number
    let lines = Self.highest[index].flatMap { record in
      JournalFormat.line(record, data: Data(#"{"result":1}"#.utf8), salt: salt)
    }
    try scene.write(try scene.bytes + lines)
    let (resumption, workflow) = try resume()
    #expect(resumption.restored == Self.highest[index].compactMap(\.finished))
    #expect(try workflow.start().wait(timeout: Event.patience).isFinished)
    workflow.closeJournal()
    for _ in 0..<2 {
      let again = try resume()
      #expect(again.0.restored == ["a", "b", "c"])
      again.1.closeJournal()
    }
  }

  // MARK: Messages

  /// Three tasks, one behind the other.
  private func chain(
    in workflow: Workflow
  ) throws -> (BlockWorkflowTask<Int>, BlockWorkflowTask<Int>, BlockWorkflowTask<Int>) {
    let first = try workflow.add(counting("first"))
    let second = try workflow.add(counting("second"), prerequisites: first)
    return (first, second, try workflow.add(counting("third"), prerequisites: second))
  }

  @Test func `a task behind cancelled ones is reset: the next cancellation reaches it`() throws {
    let workflow = inlineWorkflow()
    let (first, second, third) = try chain(in: workflow)
    first.cancel()
    third.reset()
    #expect(second.isCancelled && third.state == .pending)
    first.cancel()
    #expect(third.isCancelled)
    second.retry()
    #expect(second.state == .pending && third.state == .pending)
    first.cancel()
    #expect(second.isCancelled && third.isCancelled)
  }

  @Test func `a task is added behind cancelled ones: the next cancellation reaches it`() throws {
    let workflow = inlineWorkflow()
    let (first, _, third) = try chain(in: workflow)
    let other = try workflow.add(counting("other"))
    first.cancel()
    let added = try workflow.add(counting("added"), prerequisites: third)
    first.cancel()
    #expect(added.isCancelled && other.isReady)
    try workflow.addPrerequisite(third, to: other)
    first.cancel()
    #expect(other.isCancelled)
  }

  @Test func `a condition behind tasks that were reset is fulfilled: the next reset revokes that`()
    throws
  {
    let workflow = inlineWorkflow()
    let (first, _, third) = try chain(in: workflow)
    let condition = try workflow.add(condition(), prerequisites: third)
    first.reset()
    condition.fulfill(with: 1)
    first.reset()
    #expect(!condition.isFulfilled)
  }

  @Test func `a workflow inside a cancelled task is reset: a cancellation in front reaches it`()
    throws
  {
    let workflow = inlineWorkflow()
    let (first, _, third) = try chain(in: workflow)
    let inner = inlineWorkflow("inner")
    let inside = try inner.add(OpenTask(name: "inside"))
    try workflow.add(SubworkflowTask(subworkflow: inner), prerequisites: third)
    first.cancel()
    #expect(inside.isCancelled)
    inner.reset()
    #expect(inside.isReady)
    first.cancel()
    #expect(inside.isCancelled)
  }

  // MARK: Lifetimes

  @Test func `a retry policy keeps the run of its task: it goes with the workflow`() throws {
    weak var released: AnyWorkflowTask?
    do {
      let workflow = inlineWorkflow()
      let task = BlockWorkflowTask<Int>(name: "task") { run in
        run.task.retryPolicy = RetryPolicy(attempts: 2) { _, _ in
          run.isExecuting ? .stop : .retry
        }
        run.fail(with: TestError.first)
      }
      released = task
      try workflow.add(task)
      #expect(try workflow.start().wait(timeout: Event.patience).errors.count == 1)
    }
    #expect(released == nil)
  }
}
