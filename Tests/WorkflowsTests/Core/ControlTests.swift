import Foundation
import Futures
import FuturesTestSupport
import TestSupport
import Testing
import Workflows

/// How many tasks are at work, and the most that ever were.
private final class Crowd: Sendable {
  let now = Counter()
  func task(_ name: String) -> AsyncWorkflowTask<Int> {
    AsyncWorkflowTask<Int>(name: name) { [now] _ in
      now.add()
      for _ in 0..<20 { await Task.yield() }
      now.add(-1)
      return 1
    }
  }
}

@Suite(
  "Pausing, failing fast, time limits and parts of a workflow", .timeLimit(.minutes(5)), .oneAtATime
)
struct ControlTests {
  // MARK: Pausing

  @Test("a paused workflow begins nothing; resumed, it goes on where it stopped")
  func pausing() throws {
    let workflow = inlineWorkflow()
    let first = try workflow.add(OpenTask(name: "first"))
    let second = try workflow.add(OpenTask(name: "second"), prerequisites: first)
    let outcome = workflow.start()
    workflow.pause()
    workflow.pause()
    #expect(workflow.isPaused && first.isExecuting)
    first.finish(with: 1)
    #expect(first.isFinished && second.state == .ready && second.runs.value == 0)
    #expect(!outcome.isSettled)
    workflow.resume()
    #expect(!workflow.isPaused && second.isExecuting)
    second.finish(with: 2)
    #expect(outcome.result?.successValue?.isFinished == true)
  }

  @Test("a workflow that is paused before its start begins when it is resumed, on a queue, too")
  func pausedBefore() async throws {
    let workflow = Workflow(name: "queue")
    let runs = Counter()
    for i in 0..<20 { try workflow.add(counting("\(i)", runs)) }
    workflow.pause()
    let outcome = workflow.start()
    #expect(runs.value == 0 && !outcome.isSettled)
    workflow.resume()
    #expect(try await outcome.value.isFinished && runs.value == 20)
    workflow.resume()
    #expect(!workflow.isPaused)
  }

  @Test("what is cancelled while it is paused does not begin, and the run ends")
  func cancelledWhilePaused() throws {
    let workflow = inlineWorkflow()
    let task = try workflow.add(OpenTask(name: "task"))
    workflow.pause()
    let outcome = workflow.start()
    workflow.cancel()
    #expect(outcome.result?.successValue == .cancelled([task]))
    workflow.resume()
    #expect(task.isCancelled && task.runs.value == 0)
    workflow.retry()
    #expect(task.isExecuting)
  }

  @Test("a paused workflow pauses those inside, and its limit is as before when it is resumed")
  func pausedOutside() throws {
    let (outer, inner) = (inlineWorkflow("outer"), inlineWorkflow("inner"))
    outer.maxConcurrentTaskCount = 1
    let (a, b) = (try inner.add(OpenTask(name: "a")), try inner.add(OpenTask(name: "b")))
    let task = try outer.add(SubworkflowTask(name: "sub", subworkflow: inner))
    outer.start()
    #expect(a.isExecuting && !b.isExecuting)
    outer.pause()
    a.finish(with: 1)
    #expect(!b.isExecuting && b.state == .ready && !inner.isPaused)
    outer.resume()
    #expect(b.isExecuting && outer.maxConcurrentTaskCount == 1)
    b.finish(with: 1)
    #expect(task.isFinished)
  }

  @Test("pausing and resuming from many threads while a workflow runs loses no task")
  func restlessPausing() async throws {
    for _ in 0..<30 {
      let (outer, inner) = (Workflow(name: "outer"), Workflow(name: "inner"))
      let runs = Counter()
      for i in 0..<40 { try inner.add(counting("\(i)", runs)) }
      try outer.add(SubworkflowTask(name: "sub", subworkflow: inner))
      for i in 0..<40 { try outer.add(counting("\(i)", runs)) }
      let outcome = outer.start()
      DispatchQueue.concurrentPerform(iterations: 4) { i in
        for _ in 0..<10 {
          let workflow = i % 2 == 0 ? outer : inner
          workflow.pause()
          workflow.maxConcurrentTaskCount = i + 1
          workflow.resume()
        }
      }
      #expect(try await outcome.value.isFinished && runs.value == 80)
    }
  }

  // MARK: Limits around and inside

  @Test("the limit of a workflow holds for all that is inside, beside inner limits")
  func limitsInside() async throws {
    let crowd = Crowd()
    let outer = Workflow(name: "outer")
    outer.maxConcurrentTaskCount = 2
    for i in 0..<4 {
      let inner = Workflow(name: "inner \(i)")
      if i % 2 == 0 { inner.maxConcurrentTaskCount = 1 }
      for j in 0..<10 { try inner.add(crowd.task("\(j)")) }
      try outer.add(SubworkflowTask(name: "sub \(i)", subworkflow: inner))
    }
    for i in 0..<10 { try outer.add(crowd.task("\(i)")) }
    #expect(try await outer.run().isFinished)
    #expect(crowd.now.highest <= 2 && crowd.now.value == 0)
    // Set while it runs, or taken away, it holds from then on.
    outer.reset()
    outer.maxConcurrentTaskCount = 1
    let outcome = outer.start()
    outer.maxConcurrentTaskCount = .max
    #expect(try await outcome.value.isFinished)
  }

  @Test("a workflow that runs already takes its part of the limit of the one that it comes into")
  func joiningTheLimit() throws {
    let (outer, inner) = (inlineWorkflow("outer"), inlineWorkflow("inner"))
    outer.maxConcurrentTaskCount = 2
    let (a, b) = (try inner.add(OpenTask(name: "a")), try inner.add(OpenTask(name: "b")))
    inner.start()
    #expect(a.isExecuting && b.isExecuting)
    let own = try outer.add(OpenTask(name: "own"))
    try outer.add(SubworkflowTask(name: "sub", subworkflow: inner))
    outer.start()
    #expect(own.state == .ready)
    a.finish(with: 1)
    #expect(own.isExecuting)
  }

  @Test("tasks of a named group are limited together, in the workflows inside, too")
  func namedLimit() async throws {
    let (network, others) = (Crowd(), Crowd())
    let (outer, inner) = (Workflow(name: "outer"), Workflow(name: "inner"))
    outer.limit("network", to: 2)
    for workflow in [outer, inner] {
      for i in 0..<12 {
        let task = network.task("page \(i)")
        task.limitName = "network"
        try workflow.add(task)
        try workflow.add(others.task("other \(i)")).limitName = "unknown"
      }
    }
    try outer.add(SubworkflowTask(name: "sub", subworkflow: inner))
    #expect(try await outer.run().isFinished)
    #expect(network.now.highest <= 2)
    outer.reset()
    #expect(try await outer.run().isFinished)
    #expect(network.now.highest <= 2)
  }

  @Test("a task that is cancelled in the line of a named limit is passed, and may come again")
  func cancelledInLine() throws {
    let workflow = inlineWorkflow()
    workflow.limit("one", to: 0)
    let tasks = try (0..<3).map { try workflow.add(OpenTask(name: "\($0)")) }
    for task in tasks { task.limitName = "one" }
    workflow.start()
    #expect(tasks.map(\.isExecuting) == [true, false, false])
    tasks[1].cancel()
    tasks[0].fail(with: TestError.first)
    #expect(tasks.map(\.isExecuting) == [false, false, true])
    tasks[1].retry()
    #expect(!tasks[1].isExecuting)
    workflow.limit("one", to: 2)
    #expect(tasks[1].isExecuting && tasks[1].runs.value == 1)
    tasks[1].finish(with: 1)
    tasks[2].finish(with: 1)
    #expect(tasks.allSatisfy { !$0.isExecuting })
  }

  @Test("a condition that waits, and a workflow inside, hold no permit of a named limit")
  func waitingHoldsNoPermit() throws {
    let (outer, inner) = (inlineWorkflow("outer"), inlineWorkflow("inner"))
    outer.limit("one", to: 1)
    let condition = ExternalConditionTask<Int>(name: "condition", waitsForFulfillment: true)
    let (sub, open) = (SubworkflowTask(name: "sub", subworkflow: inner), OpenTask(name: "open"))
    try inner.add(open)
    for task in [condition, sub] { try outer.add(task) }
    for task in [condition, sub, open] { task.limitName = "one" }
    outer.start()
    #expect(condition.isExecuting && sub.isExecuting && open.isExecuting)
    open.finish(with: 1)
    condition.fulfill(with: 1)
    #expect(sub.isFinished && condition.isFinished)
  }

  // MARK: Failing fast

  @Test("with failFast the first failure cancels all else; a retry runs that again")
  func failFast() throws {
    let workflow = inlineWorkflow()
    workflow.failFast = true
    let (a, b) = (try workflow.add(OpenTask(name: "a")), try workflow.add(OpenTask(name: "b")))
    let after = try workflow.add(OpenTask(name: "after"), prerequisites: a, b)
    let done = try workflow.add(counting("done"))
    let outcome = workflow.start()
    a.fail(with: TestError.first)
    #expect(a.isFailed && b.isCancelled && after.isCancelled && done.isFinished)
    #expect(outcome.result?.successValue?.errors.keys.map(\.name) == ["a"])
    workflow.retry()
    #expect(a.isExecuting && b.isExecuting && after.state == .pending)
  }

  @Test("with failFast a task that is tried again ends nothing")
  func failFastWithRetry() async throws {
    let workflow = Workflow(name: "test")
    workflow.failFast = true
    let task = try workflow.add(failing("task", times: 2))
    task.retryPolicy = TaskRetryPolicy(attempts: 3)
    try workflow.add(counting("other"), prerequisites: task)
    #expect(try await workflow.run().isFinished)
  }

  @Test("with failFast inside, the task around fails with the error, and is not cancelled")
  func failFastInside() throws {
    let (outer, inner) = (inlineWorkflow("outer"), inlineWorkflow("inner"))
    inner.failFast = true
    let (a, b) = (try inner.add(OpenTask(name: "a")), try inner.add(OpenTask(name: "b")))
    let sub = try outer.add(SubworkflowTask(name: "sub", subworkflow: inner))
    let other = try outer.add(OpenTask(name: "other"))
    outer.start()
    b.fail(with: TestError.first)
    #expect(a.isCancelled && sub.isFailed && other.isExecuting)
    #expect(sub.error as? TestError == .first)
  }

  // MARK: A limit of time

  @Test("a run that takes too long: what executes fails, what has not begun is cancelled")
  func timeout() async throws {
    let workflow = inlineWorkflow()
    workflow.timeout = .milliseconds(100)
    let slow = try workflow.add(OpenTask(name: "slow"))
    slow.retryPolicy = TaskRetryPolicy(attempts: 5)
    let after = try workflow.add(OpenTask(name: "after"), prerequisites: slow)
    let outcome = try await workflow.run()
    #expect(slow.isFailed && after.isCancelled && slow.runs.value == 1)
    guard case WorkflowError.runTimedOut(let task, after: let limit)? = outcome.errors[slow] else {
      Issue.record("\(outcome)")
      return
    }
    #expect(task === slow && limit == .milliseconds(100))
    #expect("\(outcome)".contains("ran longer than 0.1 seconds"))
    // Without a limit, or within it, nothing happens.
    workflow.timeout = .seconds(60)
    let second = workflow.retry()
    // The thread that ended the first run may be the one that starts the tasks.
    #expect(await eventually { slow.runs.value == 2 })
    slow.finish(with: 1)
    #expect(await eventually { after.runs.value == 1 })
    after.finish(with: 1)
    #expect(try await second.value.isFinished)
  }

  @Test("a run that takes too long while it is paused is cancelled; inside, the task around is")
  func timeoutWhilePaused() async throws {
    let (outer, inner) = (Workflow(name: "outer"), Workflow(name: "inner"))
    inner.timeout = .milliseconds(1)
    inner.pause()
    let task = try inner.add(OpenTask(name: "task"))
    let sub = try outer.add(SubworkflowTask(name: "sub", subworkflow: inner))
    #expect(try await outer.run() == .cancelled([sub]))
    #expect(task.isCancelled && task.runs.value == 0)
  }

  @Test("a run inside that takes too long fails the task around it")
  func timeoutInside() async throws {
    let (outer, inner) = (inlineWorkflow("outer"), inlineWorkflow("inner"))
    inner.timeout = .milliseconds(100)
    let task = try inner.add(OpenTask(name: "task"))
    let sub = try outer.add(SubworkflowTask(name: "sub", subworkflow: inner))
    #expect(try await outer.run().errors.keys.map(\.name) == ["sub"])
    #expect(task.isFailed && sub.failurePath == [sub, task])
  }

  @Test("the limit of a run that ended in time does not reach the next one")
  func timeoutIsOver() async throws {
    // A busy machine may need longer than the limit: the limit grows until a run ends within it.
    var limit = Duration.milliseconds(20)
    var workflow = Workflow(name: "test")
    while true {
      workflow.timeout = limit
      try workflow.add(counting("quick"))
      if try await workflow.run().isFinished { break }
      limit *= 2
      workflow = Workflow(name: "test")
    }
    workflow.timeout = nil
    let gate = try workflow.add(ExternalConditionTask<Int>(name: "gate", waitsForFulfillment: true))
    let outcome = workflow.start()
    let isOver = Event()
    Promises.delay(for: limit * 3).onSuccess(on: .inline) { isOver.signal() }
    #expect(await isOver.opened())
    #expect(!outcome.isSettled)
    gate.fulfill(with: 1)
    #expect(try await outcome.value.isFinished)
  }

  // MARK: Part of a workflow

  @Test("running one task runs what it needs, and nothing that has finished or waits for it")
  func only() async throws {
    let workflow = inlineWorkflow()
    let runs = Counter()
    let a = try workflow.add(counting("a", runs))
    let b = try workflow.add(counting("b", runs), prerequisites: a)
    let c = try workflow.add(counting("c", runs), prerequisites: b)
    let other = try workflow.add(counting("other", runs))
    #expect(try await workflow.run(only: b).isFinished)
    #expect(a.isFinished && b.isFinished && runs.value == 2)
    #expect(c.state == .ready && other.state == .ready)
    #expect(try await workflow.run(only: b).isFinished && runs.value == 2)
    #expect(try await workflow.run(only: c).isFinished && runs.value == 3)
    #expect(try await workflow.run().isFinished)
    #expect(other.isFinished && runs.value == 4)
  }

  @Test("running one task of which a part fails: the outcome names that part only")
  func onlyFailing() async throws {
    let workflow = inlineWorkflow()
    let bad = try workflow.add(failing("bad"))
    let target = try workflow.add(counting("target"), prerequisites: bad)
    let other = try workflow.add(failing("other"))
    other.start()
    #expect(other.isFailed)
    let outcome = try await workflow.run(only: target)
    #expect(outcome.errors.keys.map(\.name) == ["bad"] && target.state == .pending)
  }

  @Test("running one task while a run goes on joins that; the rest goes on")
  func onlyJoins() throws {
    let workflow = inlineWorkflow()
    let first = try workflow.add(OpenTask(name: "first"))
    let second = try workflow.add(OpenTask(name: "second"), prerequisites: first)
    let run = workflow.start()
    let joined = try workflow.start(only: first)
    first.finish(with: 1)
    #expect(second.isExecuting && !joined.isSettled)
    second.finish(with: 1)
    #expect(run.isSettled && joined.result?.successValue?.isFinished == true)
  }

  @Test("running one task while another one is run alone: both run, and nothing else")
  func onlyJoinsOnly() async throws {
    let workflow = inlineWorkflow()
    let gate = try workflow.add(OpenTask(name: "gate"))
    let a = try workflow.add(counting("a"), prerequisites: gate)
    let b = try workflow.add(counting("b"), prerequisites: gate)
    let other = try workflow.add(counting("other"), prerequisites: gate)
    let first = try workflow.start(only: a)
    let second = try workflow.start(only: b)
    gate.finish(with: 1)
    #expect(try await first.value.isFinished)
    #expect(try await second.value.isFinished)
    #expect(a.isFinished && b.isFinished && other.state == .ready)
  }

  @Test("running one task while others are added: those it needs join, those of the rest do not")
  func onlyWhileAdding() async throws {
    let workflow = inlineWorkflow()
    let gate = try workflow.add(OpenTask(name: "gate"))
    let target = try workflow.add(counting("target"), prerequisites: gate)
    let needed = try workflow.add(counting("needed"))
    let outside = try workflow.add(counting("outside"))
    let run = try workflow.start(only: target)
    let behind = try workflow.add(counting("behind"), prerequisites: outside)
    let free = try workflow.add(counting("free"))
    #expect(free.isFinished && needed.state == .ready)
    try workflow.addPrerequisite(needed, to: target)
    #expect(needed.isFinished)
    gate.finish(with: 1)
    #expect(try await run.value.isFinished)
    #expect(target.isFinished && outside.state == .ready && behind.state == .pending)
    #expect(try await workflow.run().isFinished && behind.isFinished)
  }

  @Test("after a run of one task has ended, the others start their dependents again")
  func afterOnly() async throws {
    let workflow = inlineWorkflow()
    let isBroken = Box(true)
    let a = try workflow.add(
      BlockWorkflowTask<Int>(name: "a") { run in
        if isBroken.value { run.fail(with: TestError.first) } else { run.finish(with: 1) }
      })
    let b = try workflow.add(counting("b"), prerequisites: a)
    let other = try workflow.add(counting("other"))
    let behind = try workflow.add(counting("behind"), prerequisites: other)
    #expect(try await workflow.run(only: a) == .failed([a: TestError.first]))
    other.start()
    #expect(behind.isFinished)
    isBroken.value = false
    a.retry()
    #expect(b.isFinished)
  }

  /// A workflow of which only a part runs: `bad` and `open`, for `target`.
  private struct Part {
    let workflow: Workflow
    let bad, open, target, behind, behindAll, other: OpenTask
    var outside: [WorkflowTaskState] { [behind, behindAll, other].map(\.state) }

    init(
      clock: any Clock<Duration> = ContinuousClock(), usesRules: Bool
    ) throws {
      workflow = Workflow(name: "test", context: .inline, clock: clock)
      bad = try workflow.add(OpenTask(name: "bad"))
      open = try workflow.add(OpenTask(name: "open"))
      target = try workflow.add(OpenTask(name: "target"), prerequisites: bad, open)
      behind = try workflow.add(OpenTask(name: "behind"), prerequisites: open)
      behindAll = try workflow.add(OpenTask(name: "behind all"), prerequisites: behind, target)
      other = try workflow.add(OpenTask(name: "other"))
      if usesRules {
        try workflow.add(OpenTask(name: "clean up"), prerequisites: [behindAll], when: .whenAllDone)
      }
    }
  }

  @Test(arguments: [false, true])
  func `failFast in a run of one task: the first failure cancels its part, and no other task`(
    usesRules: Bool
  ) throws {
    let part = try Part(usesRules: usesRules)
    part.workflow.failFast = true
    let outcome = try part.workflow.start(only: part.target)
    part.other.start()
    part.bad.fail(with: TestError.first)
    #expect(part.open.isCancelled && part.target.isCancelled)
    #expect(part.outside == [.pending, .pending, .executing])
    part.other.finish(with: 1)
    #expect(outcome.result?.successValue == .failed([part.bad: TestError.first]))
    // What was left alone continues with the tasks that it waits for.
    part.workflow.retry()
    for task in [part.bad, part.open, part.target, part.behind, part.behindAll] {
      #expect(task.finish(with: 1))
    }
    #expect(part.outside == [.finished, .finished, .finished])
  }

  @Test func `failFast in a run of one task: the failure of another task ends nothing`() throws {
    let part = try Part(usesRules: false)
    part.workflow.failFast = true
    let outcome = try part.workflow.start(only: part.target)
    part.other.start()
    part.other.fail(with: TestError.second)
    for task in [part.bad, part.open, part.target] { #expect(task.finish(with: 1)) }
    #expect(outcome.result?.successValue == .finished && part.other.isFailed)
  }

  @Test(arguments: [false, true])
  func `a run of one task takes too long: its part ends, other tasks stay as they are`(
    usesRules: Bool
  ) async throws {
    let clock = ManualClock()
    let part = try Part(clock: clock, usesRules: usesRules)
    part.workflow.timeout = .seconds(1)
    let outcome = try part.workflow.start(only: part.target)
    part.other.start()
    _ = try await clock.nextSleep()
    clock.advance(by: .seconds(1))
    #expect(await eventually { part.target.isCancelled })
    #expect(part.bad.isFailed && part.open.isFailed)
    #expect(part.outside == [.pending, .pending, .executing])
    #expect(!outcome.isSettled)
    part.other.finish(with: 1)
    #expect(await outcome.completion.successValue?.errors.count == 2)
  }

  @Test func `cancelling the workflow during a run of one task cancels all tasks`() throws {
    let part = try Part(usesRules: false)
    try part.workflow.start(only: part.target)
    part.workflow.cancel()
    #expect(part.outside == [.cancelled, .cancelled, .cancelled])
  }

  @Test("running a task of another workflow is an error that names it")
  func onlyForeign() async throws {
    let (workflow, other) = (inlineWorkflow(), inlineWorkflow())
    let task = try other.add(OpenTask(name: "foreign"))
    await #expect {
      _ = try await workflow.run(only: task)
    } throws: { error in
      guard case WorkflowError.taskOutsideWorkflow(task)? = error as? WorkflowError else {
        return false
      }
      return "\(error)".contains("foreign")
    }
    #expect(task.state == .ready)
  }
}
