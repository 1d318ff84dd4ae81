import Foundation
import Futures
import TestSupport
import Testing

@testable import Workflows

@Suite("A journal that does not fit", .timeLimit(.minutes(5)), .oneAtATime)
struct JournalMismatchTests {
  private let scene: JournalScene

  init() throws {
    scene = try JournalScene()
    let chain = try RecordedChain()
    try chain.workflow.resume(from: scene.journal)
    chain.workflow.start()
    let hasFinished = eventuallyBlocking { !chain.workflow.hasUnfinishedTasks }
    try #require(hasFinished)
    chain.workflow.closeJournal()
  }

  /// Resumes a workflow that does not fit, first as it is by default, then otherwise.
  private func resume(_ workflow: Workflow) throws -> (WorkflowResumption, WorkflowResumption) {
    let before = try scene.bytes
    let states = workflow.allTasks.map(\.state)
    let error = journalError { try workflow.resume(from: scene.journal) }
    guard case .mismatch(let refused) = error else { throw TestError.first }
    #expect(try scene.bytes == before, "the file is as it was")
    #expect(workflow.allTasks.map(\.state) == states, "the workflow is as it was")
    let accepted = try workflow.resume(from: scene.journal, onMismatch: .runAgain)
    return (refused, accepted)
  }

  @Test func `a task of another version: named, and it and those behind it run again`()
    async throws
  {
    let runs = Log<String>()
    func make() throws -> Workflow {
      let workflow = inlineWorkflow()
      var last: [AnyWorkflowTask] = []
      for (name, version) in [("a", 1), ("b", 2), ("c", 1)] {
        let task = BlockWorkflowTask<Int>(name: name) { run in
          runs.append(name)
          run.finish(with: 9)
        }.journaled(as: name, version: version)
        try workflow.add(task, prerequisites: last)
        last = [task]
      }
      return workflow
    }
    let workflow = try make()
    let (refused, accepted) = try resume(workflow)
    let change = WorkflowResumption.Change(
      identifier: "b", kind: .version(recorded: 1, now: 2))
    #expect(refused.changed == [change] && refused.unknown == [])
    #expect(accepted.changed == [change] && accepted.forgotten == ["c"])
    #expect(accepted.restored == ["a"])
    #expect(try await workflow.run() == .finished)
    #expect(runs.entries == ["b", "c"])
    workflow.closeJournal()
    let next = try make()
    defer { next.closeJournal() }
    #expect(try next.resume(from: scene.journal).restored == ["a", "b", "c"])
  }

  @Test func `a recorded task that is not in the workflow: named, and forgotten`() throws {
    let workflow = inlineWorkflow()
    defer { workflow.closeJournal() }
    let a = try workflow.add(OpenTask(name: "a").journaled(as: "a"))
    try workflow.add(OpenTask(name: "b").journaled(as: "b"), prerequisites: a)
    let (refused, accepted) = try resume(workflow)
    #expect(refused.unknown == ["c"] && refused.changed == [])
    #expect(accepted.restored == ["a", "b"])
    #expect(try scene.recordCount == 2)
  }

  @Test func `another order of the same tasks: named`() throws {
    let workflow = inlineWorkflow()
    defer { workflow.closeJournal() }
    let b = try workflow.add(OpenTask(name: "b").journaled(as: "b"))
    let a = try workflow.add(OpenTask(name: "a").journaled(as: "a"), prerequisites: b)
    try workflow.add(OpenTask(name: "c").journaled(as: "c"), prerequisites: a)
    let (refused, accepted) = try resume(workflow)
    #expect(refused.changed.map(\.identifier) == ["a", "b", "c"])
    #expect(refused.changed.allSatisfy { $0.kind == .prerequisites })
    #expect(accepted.restored == [])
  }

  @Test func `a new recorded prerequisite: the task is named`() throws {
    let workflow = inlineWorkflow()
    defer { workflow.closeJournal() }
    let a = try workflow.add(OpenTask(name: "a").journaled(as: "a"))
    let new = try workflow.add(OpenTask(name: "new").journaled(as: "new"))
    let b = try workflow.add(OpenTask(name: "b").journaled(as: "b"), prerequisites: a, new)
    try workflow.add(OpenTask(name: "c").journaled(as: "c"), prerequisites: b)
    let (refused, accepted) = try resume(workflow)
    #expect(refused.changed == [.init(identifier: "b", kind: .prerequisites)])
    #expect(refused.forgotten == ["c"] && accepted.restored == ["a"])
  }

  @Test func `a new recorded task further up: those behind it run again, and are named`() throws {
    let workflow = inlineWorkflow()
    defer { workflow.closeJournal() }
    let a = try workflow.add(OpenTask(name: "a").journaled(as: "a"))
    let new = try workflow.add(OpenTask(name: "new").journaled(as: "new"))
    let plain = try workflow.add(OpenTask(name: "plain"), prerequisites: new)
    let b = try workflow.add(OpenTask(name: "b").journaled(as: "b"), prerequisites: a, plain)
    try workflow.add(OpenTask(name: "c").journaled(as: "c"), prerequisites: b)
    let found = try workflow.resume(from: scene.journal)
    #expect(found.restored == ["a"] && found.forgotten == ["b", "c"] && !found.hasMismatch)
  }

  @Test func `a result of another type: named`() throws {
    struct Pair: Codable, Sendable { let one: Int, two: Int }
    let workflow = inlineWorkflow()
    defer { workflow.closeJournal() }
    let a = try workflow.add(WorkflowTask<Pair>(name: "a").journaled(as: "a"))
    let b = try workflow.add(OpenTask(name: "b").journaled(as: "b"), prerequisites: a)
    try workflow.add(OpenTask(name: "c").journaled(as: "c"), prerequisites: b)
    let (refused, accepted) = try resume(workflow)
    let change = try #require(refused.changed.first)
    guard case .result(let reason) = change.kind else {
      Issue.record("\(change)")
      return
    }
    #expect(change.identifier == "a" && !reason.isEmpty)
    #expect(accepted.restored == [] && accepted.forgotten == ["b", "c"])
  }

  @Test func `two tasks with one identifier, one of them inside another workflow: an error`()
    throws
  {
    let scene = try JournalScene()
    let inner = inlineWorkflow("inner")
    try inner.add(OpenTask(name: "x").journaled(as: "twice"))
    let outer = inlineWorkflow("outer")
    try outer.add(OpenTask(name: "y").journaled(as: "twice"))
    try outer.add(SubworkflowTask(subworkflow: inner))
    #expect(
      journalError { try outer.resume(from: scene.journal) } == .duplicateIdentifier("twice"))
  }

  @Test func `a second task with the identifier of a recorded one fails`() async throws {
    let scene = try JournalScene()
    let workflow = inlineWorkflow()
    defer { workflow.closeJournal() }
    try workflow.resume(from: scene.journal)
    let first = try workflow.add(counting("first").journaled(as: "same"))
    let second = try workflow.add(counting("second").journaled(as: "same"), prerequisites: first)
    _ = try await workflow.run()
    #expect(first.isFinished)
    #expect(second.error as? WorkflowJournalError == .duplicateIdentifier("same"))
  }

  /// Two tasks with one identifier, and one with another.
  private func addTwoNamedAlike(
    to workflow: Workflow
  ) throws -> (first: WorkflowTask<Int>, second: WorkflowTask<Int>, other: WorkflowTask<Int>) {
    (
      try workflow.add(OpenTask(name: "first").journaled(as: "same")),
      try workflow.add(OpenTask(name: "second").journaled(as: "same")),
      try workflow.add(OpenTask(name: "other").journaled(as: "other"))
    )
  }

  @Test func `two tasks with one identifier, and the recorded one is reset: the other one fails`()
    async throws
  {
    let (scene, device) = (try JournalScene(), GatedDevice(isOpen: true))
    let workflow = inlineWorkflow()
    defer { workflow.closeJournal() }
    try workflow.resume(from: scene.journal, device: device.device)
    let (first, second, other) = try addTwoNamedAlike(to: workflow)
    let run = workflow.start()
    first.finish(with: 1)
    #expect(await eventually { first.isFinished })
    // The next two entries are written together.
    device.shut()
    let arrivals = device.arrivals.value
    other.finish(with: 2)
    #expect(await eventually { device.arrivals.value > arrivals })
    second.finish(with: 3)
    first.reset()
    device.open()
    try #require(await eventually { second.isFailed })
    #expect(second.error as? WorkflowJournalError == .duplicateIdentifier("same"))
    #expect(await run.completion.successValue?.errors.count == 1)
    first.start()
    #expect(await eventually { first.isExecuting })
    first.finish(with: 4)
    #expect(await eventually { first.isFinished })
  }

  @Test func `two tasks with one identifier, and the other one is reset: the record stays`()
    async throws
  {
    let (scene, device) = (try JournalScene(), GatedDevice(isOpen: true))
    let workflow = inlineWorkflow()
    try workflow.resume(from: scene.journal, device: device.device)
    let (first, second, other) = try addTwoNamedAlike(to: workflow)
    workflow.start()
    first.finish(with: 1)
    #expect(await eventually { first.isFinished })
    device.shut()
    let arrivals = device.arrivals.value
    other.finish(with: 2)
    #expect(await eventually { device.arrivals.value > arrivals })
    second.finish(with: 3)
    second.reset()
    device.open()
    #expect(await eventually { other.isFinished })
    workflow.closeJournal()
    #expect(first.isFinished && second.isReady)
    let again = inlineWorkflow()
    defer { again.closeJournal() }
    let restored = try again.add(OpenTask(name: "first").journaled(as: "same"))
    try again.add(OpenTask(name: "other").journaled(as: "other"))
    try again.resume(from: scene.journal)
    #expect(restored.result == 1)
  }

  @Test func `a workflow that has begun, or has a journal: an error`() async throws {
    let other = try JournalScene()
    let begun = inlineWorkflow("begun")
    try begun.add(OpenTask(name: "open"))
    begun.start()
    #expect(
      journalError { try begun.resume(from: other.journal) } == .alreadyBegun(workflow: "begun"))
    let twice = try RecordedChain()
    try twice.workflow.resume(from: scene.journal)
    #expect(
      journalError { try twice.workflow.resume(from: other.journal) }
        == .alreadyBegun(workflow: "chain"))
  }

  @Test func `the sentence of a mismatch names the tasks, and what to do`() throws {
    var resumption = WorkflowResumption()
    resumption.unknown = ["old"]
    resumption.changed = [.init(identifier: "b", kind: .version(recorded: 1, now: 2))]
    #expect(
      WorkflowJournalError.mismatch(resumption).errorDescription
        == "The journal does not fit the workflow. Not in the workflow: \"old\". Changed: "
        + "\"b\" (version 1 is recorded, and it is version 2). Restore what the tasks were, or "
        + "resume with onMismatch: .runAgain.")
    resumption.unknown = (0..<100_000).map { "task \($0)" }
    let long = try #require(WorkflowJournalError.mismatch(resumption).errorDescription)
    #expect(long.count < 1_000)
  }
}
