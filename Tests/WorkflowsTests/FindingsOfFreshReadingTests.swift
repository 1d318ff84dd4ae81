import Foundation
import Futures
import FuturesTestSupport
import TestSupport
import Testing

@testable import Workflows

/// What a second, fresh reading of the module found, as programs.
@Suite("What a fresh reading found in workflows", .timeLimit(.minutes(5)), .oneAtATime)
struct FindingsOfFreshReadingTests {
  private func condition(_ name: String = "condition") -> ExternalConditionTask<Int> {
    ExternalConditionTask<Int>(name: name, waitsForFulfillment: true)
  }

  // MARK: Threads of Swift's pool

  /// What ends a task on a thread of Swift's pool.
  enum EndOnPool: CaseIterable {
    case asyncTask, future, finish, failure, cancellation, skip, release, timeout, timeoutOfRun
    case nextAttempt

    /// Whether the work itself makes the call that ends it.
    var isCall: Bool {
      switch self {
      case .finish, .failure, .cancellation, .skip, .release: true
      case .asyncTask, .future, .timeout, .timeoutOfRun, .nextAttempt: false
      }
    }
  }

  @Test(arguments: EndOnPool.allCases)
  func `work ends on a thread of Swift's pool: another thread calls the delegate`(
    _ end: EndOnPool
  ) async throws {
    let clock = ManualClock()
    let workflow =
      end.isCall
      ? Workflow(name: "w", clock: clock) : Workflow(name: "w", context: .inline, clock: clock)
    let delegate = PoolDelegate()
    workflow.delegate = delegate
    func block(_ body: @escaping @Sendable (TaskWork<Int>) -> Void) throws {
      try workflow.add(
        BlockWorkflowTask<Int>(name: "block") { run in
          Task {
            try? await clock.sleep(for: .seconds(1))
            body(run)
          }
        })
    }
    switch end {
    case .asyncTask:
      try workflow.add(
        AsyncWorkflowTask<Int>(name: "async") { _ in
          try await clock.sleep(for: .seconds(1))
          return 1
        })
    case .future:
      try workflow.add(
        FutureWorkflowTask<Int>(name: "future") { _ in
          Promises.async {
            try await clock.sleep(for: .seconds(1))
            return 1
          }
        })
    case .finish: try block { $0.finish(with: 1) }
    case .failure: try block { $0.fail(with: TestError.first) }
    case .cancellation: try block { $0.cancel() }
    case .skip: try block { $0.skip() }
    case .release: try block { _ in }
    case .timeout: try workflow.add(condition()).timeout = .seconds(1)
    case .timeoutOfRun:
      try workflow.add(condition())
      workflow.timeout = .seconds(1)
    case .nextAttempt:
      let task = try workflow.add(failing("fails", times: 1))
      task.retryPolicy = RetryPolicy(attempts: 2, delay: .constant(.seconds(1)), clock: clock)
    }
    let run = workflow.start()
    // What the call of the test itself has told does not count.
    _ = try await clock.nextSleep()
    let first = delegate.calls.count
    clock.advance(by: .seconds(1))
    _ = try await run.value
    #expect(delegate.calls.count > first)
    #expect(delegate.calls.entries[first...].allSatisfy { !$0 })
  }

  // MARK: Long chains

  /// Makes a workflow whose tasks fail, each with an error that names the task before.
  private static func chainOfErrors(_ length: Int) throws -> (Workflow, WorkflowTask<Int>) {
    let workflow = inlineWorkflow()
    var last = try workflow.add(failing("first") as WorkflowTask<Int>)
    for i in 1..<length {
      let before = last
      let task: WorkflowTask<Int> = BlockWorkflowTask<Int>(name: "\(i)") { run in
        run.end(with: Result { try run.result(of: before) + 1 })
      }
      last = try workflow.add(task, prerequisites: [before], when: .whenAllDone)
    }
    return (workflow, last)
  }

  @Test func `a long chain of tasks whose errors name the task before: its release is flat`()
    async throws
  {
    let count = try await SmallStackThread.running { () -> Int in
      var outcome: WorkflowOutcome? = try {
        try Self.chainOfErrors(5_000).0.start().wait()
      }()
      let count = outcome?.errors.count ?? 0
      outcome = nil
      return count
    }
    #expect(count == 5_000)
  }

  @Test func `the last task of a long chain of errors outlives its workflow: its release is flat`()
    async throws
  {
    let state = try await SmallStackThread.running { () -> WorkflowTaskState? in
      var last: WorkflowTask<Int>? = try {
        let (workflow, last) = try Self.chainOfErrors(5_000)
        _ = try workflow.start().wait()
        return last
      }()
      let state = last?.state
      last = nil
      return state
    }
    #expect(state == .failed)
  }

  @Test func `each closure that stops work cancels the next task of a long chain: no deep stack`()
    async throws
  {
    let count = try await SmallStackThread.running { () -> Int in
      let workflow = inlineWorkflow()
      let runs = Log<TaskWork<Int>>()
      var next: WorkflowTask<Int>?
      for i in 0..<5_000 {
        let task = BlockWorkflowTask<Int>(name: "\(i)") { [next] run in
          runs.append(run)
          run.onStop { next?.cancel() }
        }
        next = try workflow.add(task)
      }
      let run = workflow.start()
      next?.cancel()
      guard case .cancelled(let tasks) = try run.wait() else { return 0 }
      return tasks.count
    }
    #expect(count == 5_000)
  }

  // MARK: Named limits

  @Test func `a permit is given back while a task waits for it: a newcomer does not get it`()
    throws
  {
    let workflow = inlineWorkflow()
    workflow.limit("one", to: 1)
    let first = OpenTask(name: "first")
    let waiters = [OpenTask(name: "waiter 0"), OpenTask(name: "waiter 1")]
    let newcomer = OpenTask(name: "newcomer")
    for task in [first] + waiters + [newcomer] { task.limitName = "one" }
    try workflow.add(first)
    for waiter in waiters { try workflow.add(waiter) }
    try workflow.add(newcomer, prerequisites: first)
    workflow.start()
    #expect(first.isExecuting && waiters[0].isReady)
    first.finish(with: 1)
    #expect(waiters[0].isExecuting && waiters[1].isReady && newcomer.isReady)
    waiters[0].finish(with: 1)
    #expect(waiters[1].isExecuting && newcomer.isReady)
    waiters[1].finish(with: 1)
    #expect(newcomer.isExecuting)
  }

  @Test func `a task for which a permit was kept is cancelled: the next task in line gets it`()
    async throws
  {
    let queue = OperationQueue()
    let workflow = inlineWorkflow()
    workflow.limit("one", to: 1)
    let (first, kept, next) = (OpenTask(name: "first"), OpenTask(name: "kept"), condition("next"))
    for task in [first, kept, next] as [AnyWorkflowTask] { task.limitName = "one" }
    try workflow.add(first)
    try workflow.add(kept)
    try workflow.add(next)
    workflow.start()
    queue.isSuspended = true
    kept.setContext(queue)
    first.finish(with: 1)
    kept.cancel()
    #expect(next.isExecuting)
    queue.isSuspended = false
  }

  @Test func `the queue of a task for which a permit was kept is suspended: others go on`()
    async throws
  {
    let queue = OperationQueue()
    let workflow = inlineWorkflow()
    workflow.limit("one", to: 1)
    let (first, kept) = (OpenTask(name: "first"), OpenTask(name: "kept"))
    let others = (0..<3).map { counting("\($0)") }
    for task in [first, kept] + others as [AnyWorkflowTask] { task.limitName = "one" }
    try workflow.add(first)
    try workflow.add(kept)
    try workflow.add(others[0])
    for other in others[1...] { try workflow.add(other, prerequisites: first) }
    let run = workflow.start()
    queue.isSuspended = true
    kept.setContext(queue)
    first.finish(with: 1)
    #expect(await eventually { others.allSatisfy(\.isFinished) })
    queue.isSuspended = false
    #expect(await eventually { kept.isExecuting })
    kept.finish(with: 1)
    #expect(try await run.value == .finished)
  }

  @Test func `a task that waits for a permit is cancelled and retried many times: one place`()
    throws
  {
    let workflow = inlineWorkflow()
    workflow.limit("one", to: 1)
    let (first, waiter) = (OpenTask(name: "first"), OpenTask(name: "waiter"))
    for task in [first, waiter] { task.limitName = "one" }
    try workflow.add(first)
    try workflow.add(waiter)
    workflow.start()
    for _ in 0..<100 {
      waiter.cancel()
      waiter.retry()
    }
    #expect(workflow.core.read { $0.limits.byName["one"]?.line.count } == 1)
    first.finish(with: 1)
    #expect(waiter.isExecuting && waiter.runs.value == 1)
  }

  // MARK: Progress

  @Test func `a reset while the progress is made: no task counts as finished`() async {
    let bad = Counter()
    let isInTime = await RaceHarness(threads: 2, rounds: 200).run(
      prepare: { _ in
        let workflow = inlineWorkflow()
        for i in 0..<200 { _ = try? workflow.add(counting("\(i)")) }
        workflow.start()
        return workflow
      },
      act: { workflow, thread in
        if thread == 0 {
          _ = workflow.progress
        } else {
          // The other thread needs some time to read the first states.
          for _ in 0..<20 { sched_yield() }
          workflow.reset()
        }
      },
      check: { workflow, _ in
        // All news has been delivered: the calls of both threads have returned.
        if workflow.progress.completedUnitCount != 0 { bad.add() }
      })
    #expect(isInTime)
    #expect(bad.value == 0)
  }

  @Test func `a cancelled inner progress is replaced: the progress of the outer workflow goes on`()
    async throws
  {
    let (outer, inner) = (inlineWorkflow("outer"), inlineWorkflow("inner"))
    let conditions = [condition("0"), condition("1")]
    for condition in conditions { try inner.add(condition) }
    try outer.add(SubworkflowTask(subworkflow: inner))
    let progress = outer.progress
    let first = outer.start()
    inner.progress.cancel()
    _ = try await first.value
    let second = outer.retry()
    conditions[0].fulfill(with: 1)
    #expect(await eventually { progress.fractionCompleted == 0.5 })
    conditions[1].fulfill(with: 1)
    #expect(try await second.value == .finished)
    #expect(progress.fractionCompleted == 1)
  }

  // MARK: Closures that stop work

  @Test func `work deep inside has ended by itself: no workflow around it waits for its closures`()
    async throws
  {
    let (outer, inner) = (inlineWorkflow("outer"), inlineWorkflow("inner"))
    let held = Log<Int>()
    try inner.add(
      BlockWorkflowTask<Int>(name: "task") { run in
        run.onStop { held.append(outer.core.read { $0.stopping }) }
        run.finish(with: 1)
      })
    try outer.add(SubworkflowTask(subworkflow: inner))
    #expect(try await outer.run() == .finished)
    #expect(held.entries == [0])
  }

  @Test(arguments: [false, true])
  func `a task around a workflow ends while work inside is stopped: the run waits for that`(
    _ isReset: Bool
  ) async throws {
    let (outer, inner) = (inlineWorkflow("outer"), inlineWorkflow("inner"))
    let (stops, goesOn, isOver) = (Event(), Event(), Event())
    let runs = Log<TaskWork<Int>>()
    let task = BlockWorkflowTask<Int>(name: "task") { run in
      runs.append(run)
      run.onStop {
        stops.signal()
        goesOn.wait()
      }
    }
    try inner.add(task)
    let sub = try outer.add(SubworkflowTask(subworkflow: inner))
    let run = outer.start()
    Thread {
      if isReset { task.reset() } else { task.cancel() }
      isOver.signal()
    }.start()
    #expect(await stops.opened())
    sub.cancel()
    #expect(sub.isCancelled && !run.isFulfilled)
    goesOn.signal()
    #expect(await isOver.opened())
    #expect(try await run.value == .cancelled([sub]))
  }

  // MARK: Other

  @Test(arguments: [false, true])
  func `the clock's sleep throws CancellationError: that error ends what has the timeout`(
    _ isOfRun: Bool
  ) async throws {
    let end = Promise<Void>()
    let workflow = Workflow(name: "w", clock: BrokenClock(error: CancellationError(), end: end))
    let door = try workflow.add(condition("door"))
    if isOfRun { workflow.timeout = .seconds(60) } else { door.timeout = .seconds(60) }
    let run = workflow.start()
    // A timeout of the run cancels a task that has not begun yet.
    #expect(await eventually { door.isExecuting })
    end.succeed()
    #expect(await eventually { run.isFulfilled })
    #expect(door.isFailed)
    workflow.cancel()
  }

  @Test func `more attempts fail than are kept: the trace contains the time of all of them`()
    async throws
  {
    let workflow = inlineWorkflow()
    let task = BlockWorkflowTask<Int>(name: "task") { run in
      // Only the first attempt takes time.
      let end = ContinuousClock.now + .milliseconds(run.attempt == 1 ? 50 : 0)
      while ContinuousClock.now < end {}
      if run.attempt <= 150 { run.fail(with: TestError.first) } else { run.finish(with: 1) }
    }
    task.retryPolicy = RetryPolicy(attempts: 1_000)
    try workflow.add(task)
    #expect(try await workflow.run() == .finished)
    let summary = workflow.traceSummary
    #expect(summary.totalWork >= .milliseconds(50))
    #expect(summary.elapsed >= .milliseconds(50))
    #expect(summary.slowestTasks.first.map { $0.duration >= .milliseconds(50) } == true)
  }

  @Test func `a condition is fulfilled while another result is recorded: it refuses`()
    async throws
  {
    let storage = SlowStorage()
    let workflow = inlineWorkflow()
    let condition = condition()
    try workflow.add(condition.journaled(as: "condition"))
    try workflow.resume(from: storage)
    let run = workflow.start()
    condition.finish(with: 1)
    #expect(await storage.writes.opened())
    #expect(!condition.fulfill(with: 2))
    storage.goesOn.signal()
    #expect(try await run.value == .finished)
    #expect(condition.result == 1)
    workflow.closeJournal()
  }
}

/// Notes of each call whether a thread of Swift's pool makes it.
private final class PoolDelegate: WorkflowDelegate {
  let calls = Log<Bool>()

  private func note() { calls.append(withUnsafeCurrentTask { $0 != nil }) }

  func workflow(_ workflow: Workflow, taskDidStart task: AnyWorkflowTask) { note() }
  func workflow(_ workflow: Workflow, taskDidFinish task: AnyWorkflowTask) { note() }
  func workflow(_ workflow: Workflow, task: AnyWorkflowTask, didFailWith error: any Error) {
    note()
  }
  func workflow(_ workflow: Workflow, taskDidCancel task: AnyWorkflowTask) { note() }
  func workflow(_ workflow: Workflow, taskDidSkip task: AnyWorkflowTask) { note() }
  func workflow(_ workflow: Workflow, didEndRunWith outcome: WorkflowOutcome) { note() }
}

/// A storage that writes results only when it is told to.
private final class SlowStorage: WorkflowJournalStorage {
  let (writes, goesOn) = (Event(), Event())
  let name = "slow"

  func open() throws -> [WorkflowJournalRecord] { [] }
  func write(_ changes: [WorkflowJournalChange]) throws {
    writes.signal()
    goesOn.wait()
  }
  func close() {}
}

@Suite("Explanations of runs", .timeLimit(.minutes(5)), .oneAtATime)
struct ExplainedRunTests {
  @Test("a run names the tasks that execute and those that wait")
  func run() async throws {
    let workflow = inlineWorkflow("import")
    let first = try workflow.add(OpenTask(name: "first"))
    try workflow.add(counting("second"), prerequisites: first)
    let outcome = workflow.start()
    let text = outcome.explain().description
    #expect(text.contains("The workflow \"import\" runs."))
    #expect(text.contains("These tasks execute: \"first\" (executing)."))
    #expect(text.contains("These tasks wait: \"second\" (pending)."))
    first.finish(with: 1)
    #expect(try await outcome.value == .finished)
  }
}
