import Foundation
import Futures
import TestSupport
import Testing

@testable import Workflows

/// What a reading of the engine of workflows found, as programs.
@Suite("What a reading of the engine found", .timeLimit(.minutes(1)), .oneAtATime)
struct FindingsOfEngineReadingTests {
  // MARK: Journals

  /// Numbers that no journal reaches.
  private static let extremes: [JournalFormat.Record] = [
    JournalFormat.Record(n: 1, forgets: .max, forgot: "a"),
    JournalFormat.Record(n: 1, forgets: .max, finished: "a"),
    JournalFormat.Record(n: 1, forgets: .min, forgot: "a"),
    JournalFormat.Record(n: .max, forgets: 0, forgot: "a"),
    JournalFormat.Record(n: 1, forgets: 0, finished: "a", number: .max),
  ]

  @Test(arguments: extremes.indices)
  func `a line has the right sum and numbers out of range: it is damage, and recording goes on`(
    _ index: Int
  ) throws {
    let scene = try JournalScene()
    func resume() throws -> (WorkflowResumption, Workflow) {
      let workflow = inlineWorkflow()
      try workflow.add(counting("a").journaled(as: "a"))
      return (try workflow.resume(from: scene.journal, device: .hasty), workflow)
    }
    try resume().1.closeJournal()
    let salt = try #require(try JournalContents(try scene.bytes).header).number
    let extreme = JournalFormat.line(Self.extremes[index], data: Data("1".utf8), salt: salt)
    try scene.write(try scene.bytes + extreme)
    let (resumption, workflow) = try resume()
    #expect(resumption.restored.isEmpty)
    #expect(try workflow.start().wait(timeout: Event.patience).isFinished)
    workflow.closeJournal()
    let again = try resume()
    #expect(again.0.restored.count == 1)
    again.1.closeJournal()
  }

  // MARK: Cancellations of all

  @Test func `clean-up tasks fail one after the other: a finished workflow inside hears nothing`()
    throws
  {
    let center = NotificationCenter()
    let inner = Workflow(name: "inner", context: .inline, notificationCenter: center)
    try inner.add(counting("inside"))
    let postings = Postings(center, of: inner)
    let workflow = inlineWorkflow()
    workflow.failFast = true
    try workflow.add(SubworkflowTask(name: "subworkflow", subworkflow: inner))
    let work = try workflow.add(failing("work"))
    for number in 0..<10 {
      try workflow.add(failing("\(number)"), prerequisites: [work], when: .whenAllDone)
    }
    #expect(try workflow.start().wait(timeout: Event.patience).errors.count == 11)
    #expect(postings.log.entries.count { $0 == "willCancel inner" } == 0)
  }

  @Test func `a task inside fails, and the workflow around fails fast: the others inside end`()
    throws
  {
    let inner = inlineWorkflow("inner")
    let (open, bad) = (OpenTask(name: "open"), OpenTask(name: "bad"))
    try inner.add(open)
    try inner.add(bad)
    let middle = inlineWorkflow("middle")
    try middle.add(SubworkflowTask(subworkflow: inner))
    let workflow = inlineWorkflow()
    workflow.failFast = true
    let task = try workflow.add(SubworkflowTask(subworkflow: middle))
    let run = workflow.start()
    bad.fail(with: TestError.first)
    #expect(task.isFailed && open.isCancelled)
    #expect(try run.wait(timeout: Event.patience).errors.count == 1)
  }
}
