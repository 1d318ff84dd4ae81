import Foundation
import Futures
import TestSupport
import Testing
import Workflows

@Suite("How a task ends whose work is a workflow", .timeLimit(.minutes(5)), .oneAtATime)
struct SubworkflowEndTests {
  private func isStuck(_ outcome: WorkflowOutcome) -> Bool {
    if case .stuck = outcome { true } else { false }
  }

  private func isCancelled(_ outcome: WorkflowOutcome) -> Bool {
    if case .cancelled = outcome { true } else { false }
  }

  /// A workflow inside another one, whose result is made in steps.
  private struct Nest {
    private let queue: OperationQueue
    let inner: Workflow
    let outer: Workflow
    let isMaking = Event()
    let mayGoOn = Event()
    let made = Counter()
    let source: BlockWorkflowTask<Int>
    let task: SubworkflowTask<Int>

    /// - Parameter fails: Whether making the first result fails.
    init(fails: Bool) throws {
      let runs = Counter()
      let source = counting("source", runs)
      queue = OperationQueue()
      let inner = Workflow(name: "inner", operationQueue: queue)
      self.inner = inner
      outer = Workflow(name: "outer", operationQueue: queue)
      try inner.add(source)
      let (isMaking, mayGoOn, made) = (isMaking, mayGoOn, made)
      task = SubworkflowTask(name: "task", subworkflow: inner) { _ in
        if made.add() == 1 {
          isMaking.signal()
          if !mayGoOn.wait() { throw TestError.second }
          if fails { throw TestError.first }
        }
        return runs.value
      }
      try outer.add(task)
      self.source = source
    }

    /// Lets the first result be made; `false` if that has not ended in time.
    func makeResult() async -> Bool {
      mayGoOn.signal()
      return await eventually { queue.operationCount == 0 }
    }
  }

  @Test(
    "a task inside is reset while the result is made: the task waits for the end inside again",
    arguments: [false, true])
  func resetWhileMade(fails: Bool) async throws {
    let nest = try Nest(fails: fails)
    let run = nest.outer.start()
    #expect(await nest.isMaking.opened())
    nest.source.reset()
    #expect(await nest.makeResult())
    // The run ends, because nothing goes on.
    #expect(isStuck(try await run.value))
    #expect(nest.task.isExecuting && nest.task.result == nil && nest.made.value == 1)
    #expect(try await nest.outer.run().isFinished)
    #expect(nest.task.result == 2 && nest.made.value == 2)
  }

  @Test("a task inside is reset and finishes again while the result is made: the later one counts")
  func finishedAgainWhileMade() async throws {
    let nest = try Nest(fails: false)
    let run = nest.outer.start()
    #expect(await nest.isMaking.opened())
    nest.source.reset()
    let next = nest.outer.start()
    #expect(try await nest.task.future.value == 2)
    #expect(await nest.makeResult())
    #expect(isStuck(try await run.value))
    #expect(try await next.value.isFinished)
    #expect(nest.task.result == 2)
  }

  @Test("a task inside is reset while the result of an inner workflow that had ended is made")
  func resetWhileMadeOfFinished() async throws {
    let nest = try Nest(fails: false)
    #expect(try await nest.inner.run().isFinished)
    let run = nest.outer.start()
    #expect(await nest.isMaking.opened())
    nest.source.reset()
    #expect(await nest.makeResult())
    #expect(isStuck(try await run.value))
    #expect(try await nest.inner.run().isFinished)
    #expect(try await nest.task.future.value == 2)
  }

  @Test("an output that runs the inner workflow once more is called once, and its result counts")
  func rerunByOutput() async throws {
    let inner = Workflow(name: "inner")
    let runs = Counter()
    try inner.add(counting("source", runs))
    let outer = Workflow(name: "outer")
    let made = Counter()
    let task = SubworkflowTask<Int>(subworkflow: inner) { inner in
      made.add()
      inner.reset()
      _ = try inner.start().wait()
      return made.value
    }
    try outer.add(task)
    #expect(try await outer.run().isFinished)
    #expect(task.result == 1 && made.value == 1 && runs.value == 2)
  }

  @Test("input or output that throws a cancellation cancels the task")
  func cancellation() async throws {
    for throwsEarly in [false, true] {
      let inner = Workflow(name: "inner")
      try inner.add("source") { 1 }
      let outer = Workflow(name: "outer")
      let task = SubworkflowTask<Int>(
        subworkflow: inner,
        input: { _ in if throwsEarly { throw CancellationError() } },
        output: { _ in throw CancellationError() })
      try outer.add(task)
      #expect(isCancelled(try await outer.run()))
      #expect(task.isCancelled)
    }
  }

  @Test func `revived from inside, reset, then a task inside fails: the task fails at once`()
    async throws
  {
    let inner = inlineWorkflow("inner")
    let runs = Counter()
    let approval = try inner.add(
      ExternalConditionTask<Int>(name: "approval", waitsForFulfillment: false))
    try inner.add(counting("other", runs))
    let outer = inlineWorkflow("outer")
    let task = try outer.add(SubworkflowTask<Int>(name: "task", subworkflow: inner) { _ in 1 })
    // Fails inside, and is revived when the condition inside is fulfilled.
    #expect(try await !outer.run().isFinished)
    #expect(approval.fulfill(with: 1) && task.isFinished)

    inner.reset()
    approval.start()
    #expect(approval.isFailed && task.isReady)
    #expect(try await !outer.run().isFinished)
    #expect(task.isFailed && runs.value == 1)
    // The failure is still retried when the user asks for it.
    inner.reset()
    #expect(approval.fulfill(with: 2))
    outer.retry()
    #expect(task.isFinished && runs.value == 2)
  }

  @Test(
    "a message to a task that has not begun reaches the tasks inside that ran alone",
    arguments: [false, true], [false, true])
  func messageBeforeBeginning(isPending: Bool, isRetry: Bool) async throws {
    let (inner, outer) = (inlineWorkflow("inner"), inlineWorkflow("outer"))
    let runs = Counter()
    let source = try inner.add(
      BlockWorkflowTask<Int>(name: "source") { run in
        if runs.add() == 1, isRetry {
          run.fail(with: TestError.first)
        } else {
          run.finish(with: runs.value)
        }
      })
    let before = try outer.add(counting("before"))
    let task = SubworkflowTask(name: "task", subworkflow: inner)
    try outer.add(task, prerequisites: isPending ? [before] : [])
    _ = try await inner.run()
    #expect(source.state == (isRetry ? .failed : .finished))
    if isRetry { task.retry() } else { task.reset() }
    #expect(source.state == (isRetry ? .failed : .ready))
    #expect(try await outer.run().isFinished)
    #expect(source.result == 2 && runs.value == 2)
  }
}
