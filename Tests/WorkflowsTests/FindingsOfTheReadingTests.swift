import Foundation
import Futures
import TestSupport
import Testing

@testable import Workflows

/// What a reading of the module found, as programs.
@Suite("What a reading found in workflows", .timeLimit(.minutes(5)), .oneAtATime)
struct FindingsOfTheReadingTests {
  /// A result that cannot be recorded.
  private struct Unrecordable: Codable, Sendable {
    static let hasBegun = TestLock<Event?>(nil)
    static let goesOn = TestLock<Event?>(nil)
    init() {}
    init(from decoder: any Decoder) throws {}
    func encode(to encoder: any Encoder) throws {
      Self.hasBegun.withLock { $0 }?.signal()
      Self.goesOn.withLock { $0 }?.wait()
      throw TestError.first
    }
  }

  private func condition(_ name: String = "condition") -> ExternalConditionTask<Void> {
    ExternalConditionTask<Void>(name: name, waitsForFulfillment: true)
  }

  // MARK: Room

  @Test func `a record that cannot be written while others wait for room: nothing stands still`()
    async throws
  {
    let (encodes, encoded, asks, decided) = (Event(), Event(), Event(), Event())
    let (begins, ends) = (Event(), Event())
    Unrecordable.hasBegun.withLock { $0 = encodes }
    Unrecordable.goesOn.withLock { $0 = encoded }
    let scene = try JournalScene()
    let (outer, inner) = (Workflow(name: "outer"), Workflow(name: "inner"))
    outer.maxConcurrentTaskCount = 1
    let task = BlockWorkflowTask<Unrecordable>(name: "task") { $0.finish(with: Unrecordable()) }
      .journaled(as: "task")
    task.retryPolicy = RetryPolicy(
      attempts: 2,
      retryIf: { _ in
        asks.signal()
        decided.wait()
        return false
      })
    try inner.add(task)
    let innerGate = try inner.add(condition())
    try inner.add("behind", after: innerGate) { _ in }
    try outer.add(SubworkflowTask(subworkflow: inner))
    let gate = try outer.add(condition())
    try outer.add("blocking", after: gate) { _ in
      begins.signal()
      ends.wait()
    }
    try outer.resume(from: scene.journal)
    let run = outer.start()
    #expect(await encodes.opened())
    #expect(await eventually { gate.isExecuting && innerGate.isExecuting })
    gate.fulfill()
    #expect(await begins.opened())
    innerGate.fulfill()
    encoded.signal()
    #expect(await asks.opened())
    ends.signal()
    #expect(await eventually { outer.allTasks.last?.isFinished == true })
    decided.signal()
    let outcome = try await run.value
    #expect(outcome.errors.count == 1)
    outer.closeJournal()
  }

  @Test(arguments: [false, true])
  func `a finished workflow inside is reset while its result is made: it gets the room`(
    _ hasNamedLimit: Bool
  ) async throws {
    let (outer, inner) = (Workflow(name: "outer"), Workflow(name: "inner"))
    let a = try inner.add("a") { 1 }
    #expect(try await inner.run() == .finished)
    let (isMaking, goesOn, calls) = (Event(), Event(), Counter())
    let sub = SubworkflowTask<Int>(name: "sub", subworkflow: inner) { _ in
      calls.add()
      if calls.value == 1 {
        isMaking.signal()
        goesOn.wait()
      }
      return 7
    }
    try outer.add(sub)
    // The run goes on although the workflow inside does nothing for a moment.
    let hold = try outer.add(condition())
    if hasNamedLimit {
      outer.limit("one", to: 1)
      (a.limitName, sub.limitName) = ("one", "one")
    } else {
      outer.maxConcurrentTaskCount = 1
    }
    let run = outer.start()
    #expect(await isMaking.opened())
    inner.reset()
    inner.start()
    goesOn.signal()
    #expect(await eventually { a.isFinished })
    hold.fulfill()
    #expect(try await run.value == .finished)
    #expect(sub.result == 7 && a.isFinished)
  }

  // MARK: Input and output

  @Test func `a reset before the result is made: output is not called`() async throws {
    let (outer, inner) = (Workflow(name: "outer"), Workflow(name: "inner"))
    let (isTold, goesOn, outputs, isOver) = (Event(), Event(), Counter(), Event())
    let a = try inner.add(OpenTask(name: "a"))
    // It holds up the report to the task around.
    let delegate = FinishDelegate {
      isTold.signal()
      goesOn.wait()
    }
    a.delegate = delegate
    let sub = SubworkflowTask<Int>(name: "sub", subworkflow: inner) { _ in
      outputs.add()
      return 3
    }
    try outer.add(sub)
    outer.start()
    // A thread that still reports the beginning would call the delegate, and the thread
    // that finishes the task would go on.
    #expect(
      await eventually {
        a.isExecuting && !inner.core.read { $0.isTelling || !$0.news.isEmpty }
      })
    Thread {
      a.finish(with: 1)
      isOver.signal()
    }.start()
    #expect(await isTold.opened())
    outer.reset()
    goesOn.signal()
    #expect(await isOver.opened())
    #expect(outputs.value == 0 && sub.state == .ready)
    withExtendedLifetime(delegate) {}
  }

  @Test func `a run that is over before the input of the last one is made gets no input`()
    async throws
  {
    let (outer, inner) = (Workflow(name: "outer"), Workflow(name: "inner"))
    let (begins, goesOn, inputs) = (Event(), Event(), Counter())
    try inner.add("a") { 1 }
    let sub = SubworkflowTask<Int>(
      name: "sub", subworkflow: inner,
      input: { _ in
        inputs.add()
        begins.signal()
        goesOn.wait()
      },
      output: { _ in 3 })
    try outer.add(sub)
    outer.start()
    #expect(await begins.opened())
    sub.cancel()
    let second = outer.retry()
    #expect(await eventually { sub.isExecuting })
    sub.cancel()
    #expect(try await second.value == .cancelled([sub]))
    goesOn.signal()
    // The thread that made the input has gone on when it begins the next run.
    #expect(try await outer.retry().value == .finished)
    #expect(inputs.value == 2)
  }

  // MARK: Clean-up

  @Test func `with a journal, a reset inside leaves the clean-up behind a failed task alone`()
    async throws
  {
    let scene = try JournalScene()
    let (outer, inner) = (inlineWorkflow("outer"), inlineWorkflow("inner"))
    let a = try inner.add("a") { 1 }
    try inner.add("b", after: a) { _ -> Int in throw TestError.first }
    let sub = try outer.add(SubworkflowTask(subworkflow: inner))
    let cleanUp = try outer.add(
      OpenTask(name: "clean up"), prerequisites: [sub], when: .whenAllDone)
    try outer.resume(from: scene.journal)
    let run = outer.start()
    #expect(sub.isFailed && cleanUp.isExecuting)
    a.reset()
    #expect(sub.isFailed && cleanUp.isExecuting)
    cleanUp.finish(with: 1)
    #expect(try await run.value == .failed([sub: TestError.first]))
    outer.closeJournal()
  }

  @Test func `clean-up in a stuck workflow inside runs when the workflow around is cancelled`()
    async throws
  {
    let (outer, inner) = (inlineWorkflow("outer"), inlineWorkflow("inner"))
    let acquire = try inner.add("acquire") { 1 }
    let door = try inner.add(condition())
    let use = try inner.add("use", after: acquire, door) { _, _ in 1 }
    let cleanUp = try inner.add("clean up", after: acquire, use, when: .whenAllDone) { _, _ in 1 }
    try outer.add(SubworkflowTask(subworkflow: inner))
    try outer.add(condition("other"))
    let run = outer.start()
    door.reset()
    outer.cancel()
    guard case .cancelled = try await run.value else {
      Issue.record("not cancelled")
      return
    }
    #expect(use.isCancelled && cleanUp.isFinished)
  }

  // MARK: Parts of a workflow

  @Test func `a task that is added behind a task outside the run does not run`() async throws {
    let workflow = inlineWorkflow()
    let done = try workflow.add("done") { 1 }
    #expect(try await workflow.run(only: done) == .finished)
    let open = try workflow.add(OpenTask(name: "open"))
    let run = try workflow.start(only: open)
    let outside = try workflow.add("outside", after: done) { _ in 1 }
    #expect(outside.state == .ready)
    open.finish(with: 1)
    #expect(try await run.value == .finished)
    #expect(outside.state == .ready)
  }

  @Test func `a retry of nothing leaves a run of one task what it is`() async throws {
    let workflow = inlineWorkflow()
    let open = try workflow.add(OpenTask(name: "open"))
    try workflow.add("other") { 1 }
    let run = try workflow.start(only: open)
    workflow.retry()
    open.finish(with: 1)
    #expect(try await run.value == .finished)
  }

  @Test func `a start reaches a stuck workflow two levels inside, also a start of one task`()
    async throws
  {
    for isOnly in [false, true] {
      let (outer, middle) = (inlineWorkflow("outer"), inlineWorkflow("middle"))
      let inner = inlineWorkflow("inner")
      let a = try inner.add("a") { 1 }
      let hold = try inner.add(condition())
      try middle.add(SubworkflowTask(subworkflow: inner))
      let open = try middle.add(OpenTask(name: "open"))
      let sub = try outer.add(SubworkflowTask(subworkflow: middle))
      outer.start()
      a.reset()
      hold.fulfill()
      #expect(a.state == .ready)
      let run = isOnly ? try outer.start(only: sub) : outer.start()
      #expect(a.isFinished)
      open.finish(with: 1)
      #expect(try await run.value == .finished)
    }
  }

  // MARK: Other

  @Test func `a future that was taken before the workflow was resumed gets the result`()
    async throws
  {
    let scene = try JournalScene()
    func make() throws -> (Workflow, WorkflowTask<Int>) {
      let workflow = inlineWorkflow()
      let task = BlockWorkflowTask<Int>(name: "task") { $0.finish(with: 3) }
      return (workflow, try workflow.add(task.journaled(as: "task")))
    }
    let (first, _) = try make()
    try first.resume(from: scene.journal)
    _ = try await first.run()
    first.closeJournal()
    let (second, task) = try make()
    let future = task.future
    try second.resume(from: scene.journal)
    #expect(try await future.value == 3)
    second.closeJournal()
  }

  @Test func `a trace after a retry of the workflow around has nothing of the run before`()
    async throws
  {
    let (outer, inner) = (inlineWorkflow("outer"), inlineWorkflow("inner"))
    let (a, runs) = (try inner.add("a") { 1 }, Counter())
    try inner.add("b", after: a) { _ in
      runs.add()
      if runs.value == 1 { throw TestError.first }
    }
    try outer.add(SubworkflowTask(subworkflow: inner))
    _ = try await outer.run()
    #expect(try await outer.retry().value == .finished)
    #expect(inner.traceSummary.criticalPath.map(\.task.name) == ["b"])
  }

  @Test func `a task that was cancelled when nothing was inside finishes with what is added`()
    async throws
  {
    let (outer, inner) = (inlineWorkflow("outer"), inlineWorkflow("inner"))
    let sub = try outer.add(SubworkflowTask(subworkflow: inner))
    outer.cancel()
    try inner.add("a") { 1 }
    #expect(try await inner.run() == .finished)
    #expect(sub.isFinished)
  }
}

/// Calls a closure when a task has finished.
private final class FinishDelegate: WorkflowTaskDelegate, Sendable {
  private let body: @Sendable () -> Void
  init(_ body: @escaping @Sendable () -> Void) { self.body = body }
  func task(_ task: AnyWorkflowTask, didFinishWith result: any Sendable) { body() }
}
