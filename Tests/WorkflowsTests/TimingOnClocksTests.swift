import Foundation
import Futures
import FuturesTestSupport
import TestSupport
import Testing

@testable import Workflows

@Suite("Workflows on a clock of the test", .timeLimit(.minutes(5)), .oneAtATime)
struct TimingOnClocksTests {
  private let clock = ManualClock()

  @Test func `a task fails when its time on the clock is up`() async throws {
    let workflow = Workflow(name: "w", clock: clock)
    let door = try workflow.add(ExternalConditionTask<Int>(name: "door", waitsForFulfillment: true))
    door.timeout = .seconds(60)
    let run = workflow.start()
    #expect(try await clock.nextSleep().duration == .seconds(60))
    clock.advance(by: .seconds(59))
    #expect(door.state == .executing)
    clock.advance(by: .seconds(1))
    _ = await run.completion
    guard case .timedOut(_, after: .seconds(60))? = door.error as? WorkflowError else {
      Issue.record("\(String(describing: door.error))")
      return
    }
    #expect(clock.sleeping == 0)
  }

  @Test func `with failFast, every task that executes when the time of the run is up fails`()
    async throws
  {
    let workflow = Workflow(name: "w", context: .inline, clock: clock)
    workflow.timeout = .seconds(60)
    workflow.failFast = true
    let doors = try (0..<3).map {
      try workflow.add(ExternalConditionTask<Int>(name: "door \($0)", waitsForFulfillment: true))
    }
    let run = workflow.start()
    _ = try await clock.nextSleep()
    clock.advance(by: .seconds(60))
    let outcome = try await run.value
    for door in doors {
      guard case .runTimedOut(door, after: .seconds(60))? = door.error as? WorkflowError else {
        Issue.record("\(door): \(String(describing: door.error))")
        continue
      }
    }
    #expect(outcome.errors.count == 3)
  }

  /// Starts operations inside the call that hands them over.
  private struct AtOnce: ExecutionContext {
    func execute(_ operation: Operation) { operation.start() }
  }

  /// Starts the workflow again, without a timeout, when the first run has ended.
  private final class Again: WorkflowDelegate {
    private let ends = Counter()
    func workflow(_ workflow: Workflow, didEndRunWith outcome: WorkflowOutcome) {
      guard ends.add() == 1 else { return }
      workflow.timeout = nil
      workflow.reset()
      workflow.start()
    }
  }

  @Test func `a run is over before its timer begins, and another one runs: that has no timer`()
    throws
  {
    let workflow = Workflow(name: "w", context: AtOnce(), clock: clock)
    workflow.timeout = .seconds(60)
    let (delegate, runs) = (Again(), Log<TaskWork<Int>>())
    workflow.delegate = delegate
    let task = try workflow.add(
      BlockWorkflowTask<Int>(name: "t") { run in
        runs.append(run)
        if runs.count == 1 { run.finish(with: 1) }
      })
    workflow.start()
    #expect(task.isExecuting && runs.count == 2)
    #expect(workflow.core.read { $0.runTimer } == nil)
    runs.takeAll().last?.finish(with: 2)
    #expect(task.result == 2)
  }

  @Test func `a run ends when its time on the clock is up`() async throws {
    let workflow = Workflow(name: "w", context: .inline, clock: clock)
    workflow.timeout = .seconds(60)
    let door = try workflow.add(ExternalConditionTask<Int>(name: "door", waitsForFulfillment: true))
    let run = workflow.start()
    _ = try await clock.nextSleep()
    clock.advance(by: .seconds(60))
    _ = await run.completion
    guard case .runTimedOut(_, after: .seconds(60))? = door.error as? WorkflowError else {
      Issue.record("\(String(describing: door.error))")
      return
    }
  }

  /// Lets the time of a run be up while it is told that a task has failed.
  private final class Dawdler: WorkflowDelegate {
    private let clock: ManualClock
    let isUp = Box(false)
    init(_ clock: ManualClock) { self.clock = clock }

    func workflow(_ workflow: Workflow, task: AnyWorkflowTask, didFailWith error: any Error) {
      let told = Event()
      // Handlers are called in the order in which they were added: the workflow's comes first.
      workflow.core.read { $0.runTimer }?.onCompletion(on: .inline) { _ in told.signal() }
      clock.advance(by: .seconds(60))
      isUp.value = told.wait()
    }
  }

  @Test func `the time is up while a delegate hears of the end of the run: nothing is cancelled`()
    async throws
  {
    let workflow = Workflow(name: "w", context: .inline, clock: clock)
    workflow.timeout = .seconds(60)
    let delegate = Dawdler(clock)
    workflow.delegate = delegate
    let task = try workflow.add(OpenTask(name: "t"))
    let behind = try workflow.add(OpenTask(name: "behind"), prerequisites: task)
    let run = workflow.start()
    _ = try await clock.nextSleep()
    Thread { task.fail(with: TestError.first) }.start()
    #expect(try await run.value == .failed([task: TestError.first]))
    #expect(delegate.isUp.value && behind.state == .pending)
  }

  @Test func `the timer is released when the work ends in time`() async throws {
    let workflow = Workflow(name: "w", clock: clock)
    workflow.timeout = .seconds(60)
    let door = try workflow.add(ExternalConditionTask<Int>(name: "door", waitsForFulfillment: true))
    door.timeout = .seconds(60)
    let run = workflow.start()
    for _ in 0..<2 { _ = try await clock.nextSleep() }
    door.fulfill(with: 1)
    #expect(await run.completion.successValue?.isFinished == true)
    #expect(await eventually { clock.sleeping == 0 })
  }

  @Test func `the error of the clock ends what has a timeout`() async throws {
    let workflow = Workflow(name: "w", clock: BrokenClock(error: TestError.second))
    let door = try workflow.add(ExternalConditionTask<Int>(name: "door", waitsForFulfillment: true))
    door.timeout = .seconds(60)
    _ = await workflow.start().completion
    #expect(door.error as? TestError == .second)

    let end = Promise<Void>()
    let other = Workflow(name: "o", clock: BrokenClock(error: TestError.second, end: end))
    other.timeout = .seconds(60)
    let gate = try other.add(ExternalConditionTask<Int>(name: "gate", waitsForFulfillment: true))
    let run = other.start()
    #expect(await eventually { gate.state == .executing })
    end.succeed()
    _ = await run.completion
    #expect(gate.error as? TestError == .second)
  }

  @Test func `the deadline of a retry policy counts on the clock of the policy`() async throws {
    let workflow = Workflow(name: "w")
    let attempts = Counter()
    let clock = clock
    let task = try workflow.add("t") { () throws -> Int in
      attempts.add()
      // Each attempt takes a minute.
      clock.advance(by: .seconds(60))
      throw TestError.first
    }
    task.retryPolicy = RetryPolicy(attempts: 100, deadline: .seconds(150), clock: clock)
    _ = try await workflow.run()
    #expect(attempts.value == 3)
    // After a reset, the time begins anew.
    workflow.reset()
    _ = try await workflow.run()
    #expect(attempts.value == 6)
  }

  @Test func `a clock that cannot sleep does not stop the attempts`() async throws {
    let workflow = Workflow(name: "w")
    let attempts = Counter()
    let task = try workflow.add("t") { () throws -> Int in
      attempts.add()
      throw TestError.first
    }
    task.retryPolicy = RetryPolicy(
      attempts: 3, delay: .constant(.seconds(60)), clock: BrokenClock(error: TestError.second))
    _ = try await workflow.run()
    #expect(attempts.value == 3)
    #expect(task.error as? TestError == .first)
  }

  @Test func `the tasks of a workflow share a budget`() async throws {
    let budget = RetryBudget(ratio: 0.5, minimumPerSecond: 0, clock: clock)
    let workflow = Workflow(name: "w")
    workflow.maxConcurrentTaskCount = 1
    let attempts = Counter()
    for index in 0..<10 {
      let task = try workflow.add("t\(index)") { () throws -> Int in
        attempts.add()
        throw TestError.first
      }
      task.retryPolicy = RetryPolicy(attempts: 9, budget: budget)
    }
    _ = try await workflow.run()
    #expect(attempts.value == 15)
    #expect(budget.available == 0)
  }
}
