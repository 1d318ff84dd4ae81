import Foundation
import Futures
import TestSupport
import Testing
@testable import Workflows

@Suite("Retry policies, timeouts, limits and priorities", .timeLimit(.minutes(5)), .oneAtATime)
struct RetryAndTimeoutTests {
  @Test("a task with a retry policy tries again, and nobody hears of a failure")
  func retries() async throws {
    let workflow = Workflow(name: "w")
    let listener = Listener()
    workflow.delegate = listener
    let runs = Counter()
    let task = BlockWorkflowTask<Int>(name: "t") { task in
      if runs.add() < 3 { task.fail(with: TestError.first) } else { task.finish(with: 1) }
    }
    task.retryPolicy = TaskRetryPolicy(attempts: 3, delay: .constant(.milliseconds(1)))
    try workflow.add(task)
    #expect(try await workflow.run().isFinished)
    #expect(runs.value == 3 && listener.log.entries == ["w finished"])
  }

  @Test("each attempt of a subworkflow task retries what has failed inside")
  func subworkflowAttempts() async throws {
    let inner = Workflow(name: "inner")
    let (steady, runs) = (Counter(), Counter())
    let before = try inner.add(counting("before", steady))
    try inner.add(
      BlockWorkflowTask<Int>(name: "shaky") { task in
        if runs.add() < 3 { task.fail(with: TestError.first) } else { task.finish(with: 1) }
      }, prerequisites: before)
    let workflow = Workflow(name: "w")
    let task = try workflow.add(SubworkflowTask(name: "sub", subworkflow: inner))
    task.retryPolicy = TaskRetryPolicy(attempts: 3, delay: .constant(.milliseconds(1)))
    #expect(try await workflow.run().isFinished)
    #expect(runs.value == 3 && steady.value == 1)
    task.retryPolicy = TaskRetryPolicy(attempts: 2)
    runs.add(-runs.value)
    workflow.reset()
    #expect(try await workflow.run().errors[task] as? TestError == .first)
    #expect(runs.value == 2)
  }

  @Test("a block that lets go of its run, and has a timeout, fails when the time is up")
  func forgottenRunWithTimeout() async throws {
    let workflow = Workflow(name: "w")
    let task = try workflow.add(BlockWorkflowTask<Int>(name: "forgetful") { _ in })
    task.timeout = .milliseconds(5)
    guard case .timedOut? = try await workflow.run().errors[task] as? WorkflowError else {
      Issue.record("\(task)")
      return
    }
  }

  @Test("it fails with the last error when the attempts are used up, and counts anew")
  func exhausted() async throws {
    let workflow = Workflow(name: "w")
    let runs = Counter()
    let task = BlockWorkflowTask<Int>(name: "t") { task in
      task.fail(with: TestError.numbered(runs.add()))
    }
    task.retryPolicy = TaskRetryPolicy(attempts: 3)
    try workflow.add(task)
    #expect(try await workflow.run().errors[task] as? TestError == .numbered(3))
    #expect(try await workflow.retry().value.errors[task] as? TestError == .numbered(6))
    task.retryPolicy = TaskRetryPolicy(attempts: 9) { $0 as? TestError != .numbered(8) }
    #expect(try await workflow.retry().value.errors[task] as? TestError == .numbered(8))
    task.retryPolicy = TaskRetryPolicy(attempts: -5)
    #expect(try await workflow.retry().value.errors[task] as? TestError == .numbered(9))
  }

  @Test("attempts are counted anew after a success and after a reset")
  func attemptsAnew() throws {
    let workflow = inlineWorkflow()
    let task = try workflow.add(OpenTask(name: "task"))
    task.retryPolicy = TaskRetryPolicy(attempts: 2)
    workflow.start()
    // One failure is forgiven, and once more after each new beginning.
    task.fail(with: TestError.first)
    #expect(task.isExecuting)
    task.finish(with: 1)
    task.reset()
    task.start()
    task.fail(with: TestError.first)
    #expect(task.isExecuting)
    task.reset()
    task.start()
    task.fail(with: TestError.first)
    #expect(task.isExecuting)
    task.fail(with: TestError.second)
    #expect(task.isFailed)
    #expect(task.runs.value == 6)
  }

  @Test("a cancel or a reset between two attempts ends the waiting")
  func cancelledBetween() throws {
    let workflow = inlineWorkflow()
    let runs = Counter()
    let task = BlockWorkflowTask<Int>(name: "t") { task in
      runs.add()
      task.fail(with: TestError.first)
    }
    task.retryPolicy = TaskRetryPolicy(attempts: 3, delay: .constant(.seconds(1000)))
    try workflow.add(task)
    let future = workflow.start()
    #expect(task.state == .ready && runs.value == 1 && !future.isFulfilled)
    workflow.start()
    #expect(runs.value == 1)
    task.cancel()
    #expect(task.state == .cancelled && future.isFulfilled)
    task.retry()
    #expect(runs.value == 2 && task.state == .ready)
    task.reset()
    task.start()
    #expect(runs.value == 3)
    // Nothing stays behind that waits for the next attempt.
    task.cancel()
  }

  @Test("delays grow as described, and never beyond their cap")
  func delays() async throws {
    // The delays themselves are measured by the order of the attempts: the
    // first of two tasks waits longer each time.
    let workflow = Workflow(name: "w")
    let (log, slowClock) = (Log<String>(), ManualClock())
    func task(
      _ name: String, _ delay: TaskRetryPolicy.Delay,
      clock: any Clock<Duration> = ContinuousClock()
    ) throws {
      let task = BlockWorkflowTask<Int>(name: name) { task in
        log.append(name)
        task.fail(with: TestError.first)
      }
      task.retryPolicy = TaskRetryPolicy(attempts: 2, delay: delay, clock: clock)
      try workflow.add(task)
    }
    try task(
      "slow", .exponential(.milliseconds(300), factor: 10, maximum: .seconds(1)),
      clock: slowClock)
    try task("fast", .linear(.milliseconds(1)))
    try task("at once", .none)
    let run = workflow.start()
    #expect(await eventually { log.count == 5 && slowClock.sleeping == 1 })
    slowClock.advance(by: .milliseconds(300))
    #expect(try await run.value.errors.count == 3)
    #expect(log.entries.last == "slow" && log.count == 6)
  }

  @Test(
    "a delay that is out of all measure is its cap, and one without sense is the first one",
    arguments: [Double.infinity, 1e300, .nan, -2, 0])
  func extremeDelays(factor: Double) async throws {
    let workflow = Workflow(name: "w")
    let runs = Counter()
    let task = BlockWorkflowTask<Int>(name: "t") { task in
      runs.add()
      task.fail(with: TestError.first)
    }
    task.retryPolicy = TaskRetryPolicy(
      attempts: 4,
      delay: .exponential(.microseconds(10), factor: factor, maximum: .milliseconds(2)))
    try workflow.add(task)
    #expect(try await workflow.run().errors.count == 1)
    #expect(runs.value == 4)
  }

  @Test("a timeout fails the task and stops its work; a late end is ignored")
  func timeout() async throws {
    let clock = ManualClock()
    let workflow = Workflow(name: "w", clock: clock)
    let stopped = Event()
    let works = Box<[TaskWork<Int>]>([])
    let task = BlockWorkflowTask<Int>(name: "t") { task in
      works.value.append(task)
      task.onStop { stopped.signal() }
    }
    task.timeout = .milliseconds(20)
    try workflow.add(task)
    let run = workflow.start()
    #expect(await eventually { !works.value.isEmpty && clock.sleeping == 1 })
    clock.advance(by: .milliseconds(20))
    let outcome = try await run.value
    guard case .timedOut(task, .milliseconds(20))? = outcome.errors[task] as? WorkflowError else {
      Issue.record("\(outcome)")
      return
    }
    #expect(await stopped.opened())
    #expect(!works.value[0].finish(with: 1) && task.isFailed)
    works.value = []
  }

  @Test("a timeout that is not reached changes nothing, and a retry policy applies to it")
  func timeouts() async throws {
    let clock = ManualClock()
    let workflow = Workflow(name: "w", clock: clock)
    let quick = counting("quick")
    quick.timeout = .seconds(1000)
    try workflow.add(quick)
    let runs = Counter()
    let works = Box<[TaskWork<Int>]>([])
    let slow = BlockWorkflowTask<Int>(name: "slow") { task in
      works.value.append(task)
      if runs.add() == 2 { task.finish(with: 2) }
    }
    slow.timeout = .milliseconds(10)
    slow.retryPolicy = TaskRetryPolicy(attempts: 2)
    try workflow.add(slow)
    let run = workflow.start()
    while try await clock.nextSleep().duration != .milliseconds(10) {}
    #expect(await eventually { runs.value == 1 })
    clock.advance(by: .milliseconds(10))
    #expect(try await run.value.isFinished)
    #expect(slow.result == 2)
  }

  @Test(
    "a clock that is off holds nothing any more, however the run has ended",
    arguments: ["finish", "fail", "cancel", "reset", "wait and cancel"])
  func clockLetsGo(_ end: String) async throws {
    // A clock that goes on holds the workflow's inside, and that its center.
    weak var center: NotificationCenter?
    do {
      let given = NotificationCenter()
      center = given
      let workflow = Workflow(name: "w", context: .inline, notificationCenter: given)
      let task = try workflow.add(OpenTask(name: "task"))
      task.timeout = .seconds(1000)
      if end == "wait and cancel" {
        task.retryPolicy = TaskRetryPolicy(attempts: 2, delay: .constant(.seconds(1000)))
      }
      workflow.start()
      switch end {
      case "finish": task.finish(with: 1)
      case "fail": task.fail(with: TestError.first)
      case "reset": task.reset()
      case "wait and cancel":
        task.fail(with: TestError.first)
        #expect(task.isReady)
        task.cancel()
      default: task.cancel()
      }
      #expect(!task.isExecuting)
    }
    #expect(await eventually { center == nil })
  }

  @Test("no more tasks execute at a time than the limit allows, async ones included")
  func limit() async throws {
    let workflow = Workflow(name: "w")
    workflow.maxConcurrentTaskCount = 3
    let running = Counter()
    for i in 0..<40 {
      try workflow.add(
        AsyncWorkflowTask<Int>(name: "\(i)") { _ in
          running.add()
          await Task.yield()
          running.add(-1)
          return i
        })
    }
    #expect(try await workflow.run().isFinished)
    #expect(running.highest <= 3 && running.highest > 0)
    #expect(workflow.maxConcurrentTaskCount == 3)
    workflow.maxConcurrentTaskCount = 0
    #expect(workflow.maxConcurrentTaskCount == 1)
  }

  @Test("raising the limit lets waiting tasks begin")
  func raising() throws {
    let workflow = inlineWorkflow()
    workflow.maxConcurrentTaskCount = 1
    let tasks = try (0..<4).map { try workflow.add(OpenTask(name: "\($0)")) }
    workflow.start()
    #expect(tasks.filter(\.isExecuting).count == 1)
    workflow.maxConcurrentTaskCount = 3
    #expect(tasks.filter(\.isExecuting).count == 3)
    tasks[0].finish(with: 1)
    #expect(tasks.filter(\.isExecuting).count == 3)
    tasks[1].cancel()
    #expect(tasks[3].isExecuting)
  }

  @Test("a queue's own limit holds, its suspension too, and OperationQueue.current is right")
  func queueLimit() async throws {
    let queue = OperationQueue()
    queue.maxConcurrentOperationCount = 2
    let workflow = Workflow(name: "w", operationQueue: queue)
    let running = Counter()
    let wrong = Counter()
    let paused = Event()
    for i in 0..<200 {
      try workflow.add(
        BlockWorkflowTask<Int>(name: "\(i)") { task in
          if i > 20 { paused.wait() }
          running.add()
          if OperationQueue.current !== queue { wrong.add() }
          usleep(100)
          running.add(-1)
          if i == 20 {
            queue.isSuspended = true
            paused.signal()
          }
          task.finish(with: i)
        })
    }
    let future = workflow.start()
    #expect(await paused.opened())
    // At most the tasks that had begun come to their end.
    #expect(await eventually { running.value == 0 })
    let done = workflow.allTasks.filter { $0.isFinished }.count
    #expect(done < 30)
    #expect(!future.isFulfilled)
    queue.isSuspended = false
    #expect(try await future.value.isFinished)
    #expect(running.highest <= 2 && wrong.value == 0)
  }

  @Test("cancelling the queue cancels the tasks that wait for it; nothing hangs")
  func cancelledQueue() async throws {
    let queue = OperationQueue()
    queue.isSuspended = true
    let workflow = Workflow(name: "w", operationQueue: queue)
    let a = try workflow.add(counting("a"))
    let b = try workflow.add(counting("b"), prerequisites: a)
    let future = workflow.start()
    queue.cancelAllOperations()
    guard case .cancelled(let tasks) = try await future.value else {
      Issue.record("not cancelled")
      return
    }
    #expect(tasks == [a, b])
    queue.isSuspended = false
    #expect(try await workflow.retry().value.isFinished)
  }

  @Test("a context that drops what it is given cancels the tasks that wait for it")
  func droppingContext() async throws {
    let context = ManualContext()
    let workflow = Workflow(name: "w", context: context)
    try workflow.add(counting("a"))
    let future = workflow.start()
    context.dropAll()
    guard case .cancelled = try await future.value else {
      Issue.record("not cancelled")
      return
    }
  }

  @Test("ready tasks run by priority, then in order")
  func priorities() throws {
    let context = ManualContext()
    let workflow = Workflow(name: "w", context: context)
    let log = Log<String>()
    for (name, priority): (String, Operation.QueuePriority) in [
      ("n1", .normal), ("low", .low), ("high", .high), ("n2", .normal), ("top", .veryHigh),
      ("bottom", .veryLow), ("high2", .high),
    ] {
      let task = BlockWorkflowTask<Int>(name: name) { task in
        log.append(name)
        task.finish(with: 1)
      }
      task.priority = priority
      #expect(task.priority == priority)
      try workflow.add(task)
    }
    workflow.start()
    context.runAll()
    #expect(log.entries == ["top", "high", "high2", "n1", "n2", "low", "bottom"])
  }

  private struct Immediate: ExecutionContext {
    func execute(_ operation: Operation) { operation.start() }
  }

  @Test(
    "a context that starts operations on the spot needs no stack, and keeps the order",
    arguments: [true, false])
  func synchronousContext(isInline: Bool) async throws {
    let order = try await SmallStackThread.running { () -> [Int] in
      let workflow =
        isInline
        ? Workflow(name: "w", context: .inline) : Workflow(name: "w", context: Immediate())
      let log = Log<Int>()
      var last: AnyWorkflowTask?
      for i in 0..<30000 {
        let task = BlockWorkflowTask<Int>(name: "\(i)") { task in
          log.append(i)
          task.finish(with: i)
        }
        // Half of it in a row, half of it in pairs.
        if i < 15000 || i.isMultiple(of: 2), let last {
          try workflow.add(task, prerequisites: last)
        } else {
          try workflow.add(task)
        }
        last = task
      }
      workflow.start()
      return log.entries
    }
    #expect(order.count == 30000 && Set(order).count == 30000)
    #expect(order.filter { $0 < 15000 } == Array(0..<15000))
  }

  @Test("a prerequisite added between two attempts ends the delay, and the next time limit counts")
  func prerequisiteBetweenAttempts() async throws {
    let workflow = inlineWorkflow()
    let runs = Counter()
    let task = BlockWorkflowTask<Int>(name: "t") { task in
      // The second attempt lets go of its run: only its time limit can end it.
      if runs.add() == 1 { task.fail(with: TestError.first) }
    }
    task.retryPolicy = TaskRetryPolicy(attempts: 2, delay: .constant(.seconds(1000)))
    task.timeout = .milliseconds(5)
    try workflow.add(task)
    let before = try workflow.add(OpenTask(name: "before"))
    let outcome = workflow.start()
    #expect(task.isReady && runs.value == 1)
    try workflow.addPrerequisite(before, to: task)
    #expect(task.state == .pending)
    before.finish(with: 1)
    #expect(runs.value == 2)
    guard case .timedOut(task, _)? = try await outcome.value.errors[task] as? WorkflowError else {
      Issue.record("\(try await outcome.value)")
      return
    }
  }

  @Test(
    "a linear delay beyond all bounds is no trap: a negative one is none, a long one has no end",
    arguments: [(Duration.seconds(Int64.min), 40), (.seconds(Int64.max), 1)])
  func linearDelayWithoutBounds(step: Duration, runs expected: Int) async throws {
    let workflow = inlineWorkflow()
    let runs = Counter()
    let task = BlockWorkflowTask<Int>(name: "t") { task in
      runs.add()
      task.fail(with: TestError.first)
    }
    task.retryPolicy = TaskRetryPolicy(attempts: 40, delay: .linear(step))
    try workflow.add(task)
    let outcome = workflow.start()
    #expect(runs.value == expected && outcome.isFulfilled == (expected == 40))
    workflow.cancel()
  }

  @Test("a policy decides by error and attempt, waits by its own clock, and has a deadline")
  func sharedPolicy() async throws {
    let workflow = Workflow(name: "w")
    let (runs, asked) = (Counter(), Log<Int>())
    let decided = BlockWorkflowTask<Int>(name: "decided") { task in
      runs.add()
      task.fail(with: TestError.numbered(runs.value))
    }
    decided.retryPolicy = RetryPolicy(attempts: 9, delay: .constant(.seconds(1000))) {
      error, attempt in
      asked.append(attempt)
      return error as? TestError == .numbered(3) ? .stop : .retry(after: .milliseconds(1))
    }
    try workflow.add(decided)
    let late = try workflow.add(failing("late"))
    late.retryPolicy = RetryPolicy(
      attempts: 9, delay: .constant(.seconds(1000)), deadline: .seconds(10))
    let outcome = try await workflow.run()
    #expect(outcome.errors[decided] as? TestError == .numbered(3))
    #expect(asked.entries == [1, 2, 3] && runs.value == 3)
    #expect(late.isFailed && late.failedAttempts.isEmpty)
  }

  @Test("the number and the error of an attempt that is tried again reach the work and the events")
  func attemptsAreTold() async throws {
    let workflow = inlineWorkflow()
    let seen = Log<String>()
    let task = BlockWorkflowTask<Int>(name: "t") { task in
      seen.append("\(task.attempt) \(task.previousError.map { "\($0)" } ?? "-")")
      if task.attempt < 3 {
        task.fail(with: TestError.numbered(task.attempt))
      } else {
        task.finish(with: 1)
      }
    }
    task.retryPolicy = TaskRetryPolicy(attempts: 3)
    try workflow.add(task)
    let events = workflow.events
    workflow.start()
    #expect(seen.entries == ["1 -", "2 numbered(1)", "3 numbered(2)"])
    #expect(task.failedAttempts.map(\.number) == [1, 2])
    var told: [String] = []
    for await event in events {
      if case .taskAttemptDidFail(task, let attempt) = event {
        told.append("\(attempt.number) \(attempt.error)")
      }
      if case .taskDidRetry = event { told.append("retry") }
      if case .runDidEnd = event { break }
    }
    #expect(told == ["1 numbered(1)", "retry", "2 numbered(2)", "retry"])
    // They count anew after a reset, and only the latest are kept.
    task.reset()
    #expect(task.failedAttempts.isEmpty)
    let many = BlockWorkflowTask<Int>(name: "many") { $0.fail(with: TestError.first) }
    many.retryPolicy = TaskRetryPolicy(attempts: 500)
    try workflow.add(many)
    many.start()
    #expect(many.isFailed && many.failedAttempts.map(\.number) == Array(400...499))
  }

  @Test("an operation of a higher priority waits for one task of a workflow in its queue, not more")
  func otherOperations() async throws {
    let queue = OperationQueue()
    queue.maxConcurrentOperationCount = 1
    let workflow = Workflow(name: "w", operationQueue: queue)
    let (runs, before) = (Counter(), Box(0))
    for number in 0..<20 {
      try workflow.add(
        BlockWorkflowTask<Int>(name: "\(number)") { task in
          if runs.add() == 1 {
            let urgent = BlockOperation { before.value = runs.value }
            urgent.queuePriority = .veryHigh
            queue.addOperation(urgent)
          }
          // Longer than a worker begins new tasks for.
          usleep(2_000)
          task.finish(with: 1)
        })
    }
    #expect(try await workflow.run().isFinished)
    #expect(before.value == 1)
  }
}
