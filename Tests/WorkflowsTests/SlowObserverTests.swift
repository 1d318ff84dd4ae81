import Foundation
import Futures
import TestSupport
import Testing
import Workflows

@Suite(
  "Observers that take their time, and such as wait for work", .timeLimit(.minutes(5)), .oneAtATime)
struct SlowObserverTests {
  /// Waits, when it is told of something, for something else.
  private final class Waiting: WorkflowDelegate, WorkflowTaskDelegate {
    let log = Log<String>()
    private let awaited: [String: @Sendable () -> Bool]
    let misses = Counter()

    /// - Parameter awaited: What to wait for at which news; `false` if it does not come.
    init(_ awaited: [String: @Sendable () -> Bool]) { self.awaited = awaited }

    private func note(_ text: String) {
      log.append(text)
      if let wait = awaited[text], !wait() { misses.add() }
    }
    func workflow(_ workflow: Workflow, taskDidStart task: AnyWorkflowTask) {
      note("\(task.name) started")
    }
    func workflow(_ workflow: Workflow, taskDidFinish task: AnyWorkflowTask) {
      note("\(task.name) finished")
    }
    func workflow(_ workflow: Workflow, task: AnyWorkflowTask, didFailWith error: any Error) {
      note("\(task.name) failed")
    }
    func workflow(_ workflow: Workflow, taskDidCancel task: AnyWorkflowTask) {
      note("\(task.name) cancelled")
    }
    func task(_ task: AnyWorkflowTask, didFinishWith result: any Sendable) {
      note("\(task.name) finished itself")
    }
  }

  /// A workflow that runs one task at a time, on one thread.
  private func serialWorkflow() -> Workflow {
    let queue = OperationQueue()
    queue.maxConcurrentOperationCount = 1
    return Workflow(name: "w", operationQueue: queue)
  }

  /// Whether a future settles in time.
  private func settles<Value>(_ future: Future<Value>) -> Bool {
    do { _ = try future.wait(timeout: Event.patience) } catch {
      return future.isFulfilled
    }
    return true
  }

  private func isCancelled(_ outcome: WorkflowOutcome) -> Bool {
    if case .cancelled = outcome { true } else { false }
  }

  @Test("a delegate that waits for the task it is told of, on a queue with one thread: it runs")
  func waitsForStarted() async throws {
    let workflow = serialWorkflow()
    let task = try workflow.add("task") { 1 }
    let end = task.future
    let delegate = Waiting(["task started": { self.settles(end) }])
    workflow.delegate = delegate
    #expect(try await workflow.run().isFinished)
    #expect(delegate.misses.value == 0)
    #expect(delegate.log.entries == ["task started", "task finished"])
  }

  @Test("a delegate that waits for the next task when one has finished: that runs")
  func waitsForNext() async throws {
    let workflow = serialWorkflow()
    let first = try workflow.add("first") { 1 }
    let second = try workflow.add("second", after: first) { $0 + 1 }
    let end = second.future
    let delegate = Waiting(["first finished": { self.settles(end) }])
    workflow.delegate = delegate
    #expect(try await workflow.run().isFinished)
    #expect(delegate.misses.value == 0)
    #expect(
      delegate.log.entries == [
        "first started", "first finished", "second started", "second finished",
      ])
  }

  @Test("a task's own delegate that waits for the next task: that runs")
  func taskDelegateWaits() async throws {
    let workflow = serialWorkflow()
    let first = try workflow.add("first") { 1 }
    let second = try workflow.add("second", after: first) { $0 + 1 }
    let end = second.future
    let delegate = Waiting(["first finished itself": { self.settles(end) }])
    first.delegate = delegate
    #expect(try await workflow.run().isFinished)
    #expect(delegate.misses.value == 0 && delegate.log.count == 1)
  }

  @Test("a delegate that waits for what it retries when a task has failed: that runs again")
  func waitsForRetry() async throws {
    let workflow = serialWorkflow()
    let task = failing("task", times: 1)
    try workflow.add(task)
    let delegate = Waiting([
      "task failed": {
        let next = task.future
        task.retry()
        // (The future of an attempt that has failed, if the retry came second.)
        return self.settles(next) && self.settles(task.future)
      }
    ])
    workflow.delegate = delegate
    #expect(try await workflow.run().isFinished)
    #expect(delegate.misses.value == 0)
    #expect(
      delegate.log.entries == ["task started", "task failed", "task started", "task finished"])
  }

  @Test("while a delegate takes its time, tasks that have begun, and those after them, run")
  func slowDelegate() async throws {
    let workflow = serialWorkflow()
    let count = 200
    let ran = Counter()
    let last = Event()
    let first = try workflow.add("first") { 0 }
    var tasks: [WorkflowTask<Int>] = []
    for number in 0..<count {
      tasks.append(
        try workflow.add("\(number)", after: tasks.last ?? first) { before in
          if ran.add() == count { last.signal() }
          return before + 1
        })
    }
    let delegate = Waiting(["first started": { last.wait() }])
    workflow.delegate = delegate
    #expect(try await workflow.run().isFinished)
    #expect(delegate.misses.value == 0 && delegate.log.count == 2 * count + 2)
    #expect(tasks.last?.result == count)
  }

  @Test("while a reader of the events takes its time, tasks run, and it gets all events in order")
  func slowReader() async throws {
    let workflow = serialWorkflow()
    let first = try workflow.add("first") { 0 }
    var last = first
    for number in 0..<200 { last = try workflow.add("\(number)", after: last) { $0 + 1 } }
    let end = last.future
    let (hasRead, isOver) = (Event(), Event())
    let reader = Task { [events = workflow.events] in
      var finished: [String] = []
      for await event in events {
        if !hasRead.isOpen {
          hasRead.signal()
          #expect(await isOver.opened())
        }
        if case .taskDidFinish(let task) = event { finished.append(task.name) }
        if case .runDidEnd = event { break }
      }
      return finished
    }
    workflow.start()
    #expect(await hasRead.opened())
    #expect(try await end.value == 200)
    isOver.signal()
    #expect(await reader.value == ["first"] + (0..<200).map(String.init))
  }

  @Test("a call that ends a task tells of that, and leaves what comes meanwhile to other threads")
  func callReturns() async throws {
    let workflow = Workflow(name: "w")
    let returned = Event()
    let approval = try workflow.add(
      ExternalConditionTask<Int>(name: "approval", waitsForFulfillment: true))
    let next = try workflow.add("next", after: approval) { $0 + 1 }
    let end = next.future
    let delegate = Waiting([
      "approval finished": { self.settles(end) }, "next finished": { returned.wait() },
    ])
    workflow.delegate = delegate
    let run = workflow.start()
    #expect(await eventually { delegate.log.entries == ["approval started"] })
    Thread {
      approval.fulfill(with: 1)
      returned.signal()
    }.start()
    #expect(try await run.value.isFinished)
    #expect(delegate.misses.value == 0)
    #expect(
      delegate.log.entries == [
        "approval started", "approval finished", "next started", "next finished",
      ])
  }

  @Test("a delegate is told of what happens inside a subworkflow, and may wait for that")
  func inside() async throws {
    let inner = Workflow(name: "inner")
    let deep = try inner.add("deep") { 7 }
    let outer = serialWorkflow()
    try outer.add(SubworkflowTask(name: "sub", subworkflow: inner) { _ in deep.result ?? 0 })
    let end = deep.future
    let delegate = Waiting([
      "sub started": { self.settles(end) }, "deep started": { self.settles(end) },
    ])
    outer.delegate = delegate
    inner.delegate = delegate
    #expect(try await outer.run().isFinished)
    #expect(delegate.misses.value == 0)
    #expect(Set(delegate.log.entries).isSuperset(of: ["sub started", "sub finished"]))
  }

  @Test("a released workflow whose delegate is slow has told it everything")
  func released() async throws {
    let (gate, told) = (Event(), Event())
    let delegate = Waiting([
      "task started": { gate.wait() },
      "task finished": {
        told.signal()
        return true
      },
    ])
    weak var released: Workflow?
    do {
      let workflow = serialWorkflow()
      released = workflow
      workflow.delegate = delegate
      let end = try workflow.add("task") { 1 }.future
      workflow.start()
      #expect(try await end.value == 1)
    }
    gate.signal()
    #expect(await told.opened())
    #expect(await eventually { released == nil })
    #expect(delegate.misses.value == 0)
  }

  @Test("a workflow that is let go of while its delegate is told runs and tells to its end")
  func letGo() async throws {
    let gate = Event()
    let delegate = Waiting(["first started": { gate.wait() }])
    let events: AsyncStream<WorkflowEvent>
    let run: Future<WorkflowOutcome>
    do {
      let workflow = Workflow(name: "w")
      workflow.delegate = delegate
      let first = try workflow.add("first") { () async in 1 }
      let second = try workflow.add("second", after: first) { first async in first + 1 }
      let end = second.future
      events = workflow.events
      run = workflow.start()
      #expect(try await end.value == 2)
    }
    gate.signal()
    #expect(try await run.value.isFinished)
    var ends = 0
    for await event in events { if case .runDidEnd = event { ends += 1 } }
    #expect(ends == 1 && delegate.misses.value == 0)
    #expect(
      delegate.log.entries == [
        "first started", "first finished", "second started", "second finished",
      ])
  }

  @Test("delegates of many workflows that each wait for an async task: all tasks end")
  func asyncTasks() async throws {
    let count = 50
    var delegates: [Waiting] = []
    var runs: [Future<WorkflowOutcome>] = []
    for _ in 0..<count {
      let workflow = Workflow(name: "w")
      let first = try workflow.add("first") { () async in 1 }
      let second = try workflow.add("second", after: first) { first async in first + 1 }
      let end = second.future
      let delegate = Waiting(["first finished": { self.settles(end) }])
      workflow.delegate = delegate
      delegates.append(delegate)
      runs.append(workflow.start())
    }
    for run in runs { #expect(try await run.value.isFinished) }
    #expect(delegates.allSatisfy { $0.misses.value == 0 && $0.log.count == 4 })
  }

  @Test("an inline workflow inside one on a queue: the delegate of the outer one holds up nothing")
  func inlineInside() async throws {
    let inner = Workflow(name: "inner", context: .inline)
    let first = try inner.add("first") { 1 }
    let second = try inner.add("second", after: first) { $0 + 1 }
    let outer = serialWorkflow()
    try outer.add(SubworkflowTask(name: "sub", subworkflow: inner))
    let end = second.future
    let delegate = Waiting(["sub started": { self.settles(end) }])
    outer.delegate = delegate
    #expect(try await outer.run().isFinished)
    #expect(delegate.misses.value == 0)
  }

  @Test("the clock of a next attempt runs while a hook takes its time")
  func clockDuringHook() async throws {
    final class Slow: WorkflowTask<Int>, @unchecked Sendable {
      // Sendable: nothing changes but what has locks.
      private let clock: ManualClock
      private let runs = Counter()
      let saw = Event()
      init(_ clock: ManualClock) {
        self.clock = clock
        super.init(name: "slow")
      }
      override func main(_ run: TaskWork<Int>) {
        if runs.add() == 1 { run.fail(with: TestError.first) } else { run.finish(with: 2) }
      }
      override func didRetry() {
        // Asleep: a thread that spins counts as one that works, and the pool does not grow.
        if eventuallyBlocking({ clock.sleeping == 1 }) { saw.signal() }
      }
    }
    let clock = ManualClock()
    let task = Slow(clock)
    task.retryPolicy = RetryPolicy(attempts: 2, delay: .constant(.seconds(5)), clock: clock)
    let workflow = Workflow(name: "w")
    try workflow.add(task)
    let run = workflow.start()
    #expect(await task.saw.opened())
    clock.advance(by: .seconds(5))
    #expect(try await run.value.isFinished && task.result == 2)
  }

  // MARK: Hooks

  private final class Hooked: WorkflowTask<Int>, @unchecked Sendable {
    // Sendable: nothing changes but what has locks.
    let log: Log<String>
    private let whenStarted: @Sendable () -> Void
    init(_ name: String, _ log: Log<String>, whenStarted: @escaping @Sendable () -> Void = {}) {
      self.log = log
      self.whenStarted = whenStarted
      super.init(name: name)
    }
    override func main(_ run: TaskWork<Int>) {
      log.append("\(name) main")
      run.finish(with: 1)
    }
    override func didStart() {
      whenStarted()
      log.append("\(name) didStart")
    }
    override func didFinish(with result: Int) { log.append("\(name) didFinish") }
    override func didCancel() { log.append("\(name) didCancel") }
  }

  @Test("while a delegate takes its time, the hook of a start comes before the work all the same")
  func hookBeforeWork() async throws {
    let log = Log<String>()
    let workflow = serialWorkflow()
    var tasks: [Hooked] = []
    for number in 0..<20 {
      let task = Hooked("\(number)", log)
      try workflow.add(task, prerequisites: tasks.suffix(1))
      tasks.append(task)
    }
    let end = try #require(tasks.last).future
    let delegate = Waiting(["0 started": { self.settles(end) }])
    workflow.delegate = delegate
    #expect(try await workflow.run().isFinished)
    #expect(delegate.misses.value == 0)
    for number in 0..<20 {
      let own = log.entries.filter { $0.hasPrefix("\(number) ") }
      #expect(own == ["\(number) didStart", "\(number) main", "\(number) didFinish"])
    }
    #expect(
      delegate.log.entries == (0..<20).flatMap { ["\($0) started", "\($0) finished"] })
  }

  @Test("while the hook of a start takes its time, other tasks run, and its own news wait for it")
  func slowHook() async throws {
    let log = Log<String>()
    let (isInHook, gate) = (Event(), Event())
    let workflow = Workflow(name: "w")
    let slow = Hooked("slow", log) {
      isInHook.signal()
      if !gate.wait() { log.append("missed") }
    }
    let delegate = Waiting([:])
    // (While another thread is telling, so that the start is left to it.)
    let blocker = Waiting(["first started": { isInHook.wait() }])
    let first = try workflow.add("first") { 1 }
    first.delegate = blocker
    workflow.delegate = blocker
    try workflow.add(slow, prerequisites: first)
    let after = try workflow.add("after", after: first) { _ in 2 }
    let run = workflow.start()
    #expect(await isInHook.opened())
    #expect(try await after.future.value == 2)
    slow.cancel()
    workflow.delegate = delegate
    #expect(!log.entries.contains("slow didCancel"))
    gate.signal()
    #expect(isCancelled(try await run.value))
    #expect(log.entries.filter { $0 != "slow main" } == ["slow didStart", "slow didCancel"])
    let ends = delegate.log.entries.filter { $0.hasPrefix("slow") }
    #expect(ends == ["slow started", "slow cancelled"] || ends == ["slow cancelled"])
    #expect(blocker.misses.value == 0)
  }

  @Test("the hook of a start that cancels its own task: the work does not begin, in order")
  func hookCancels() async throws {
    let log = Log<String>()
    let workflow = serialWorkflow()
    final class Selfish: WorkflowTask<Int>, @unchecked Sendable {
      let log: Log<String>
      init(_ log: Log<String>) {
        self.log = log
        super.init(name: "selfish")
      }
      override func main(_ run: TaskWork<Int>) { log.append("main") }
      override func didStart() {
        cancel()
        log.append("didStart")
      }
      override func didCancel() { log.append("didCancel") }
    }
    let delegate = Waiting([:])
    workflow.delegate = delegate
    let task = Selfish(log)
    try workflow.add(task)
    #expect(isCancelled(try await workflow.run()))
    #expect(log.entries == ["didStart", "didCancel"])
    #expect(delegate.log.entries == ["selfish started", "selfish cancelled"])
  }

  // MARK: The end of a run, and the closures that stop work

  /// Cancels a workflow while a delegate holds up the thread that delivers its news, and
  /// returns whether a run has ended while a closure that stops work was running.
  ///
  /// - Parameters:
  ///   - workflow: The workflow to start and to cancel.
  ///   - inner: The workflow that the task is added to.
  private func endsDuringStop(_ workflow: Workflow, in inner: Workflow) async throws -> Bool {
    let (mayBeStopped, isStopping, hasEnded) = (Event(), Event(), Event())
    let delegate = Waiting([
      "a started": { isStopping.wait() }, "m started": { isStopping.wait() },
    ])
    (workflow.delegate, inner.delegate) = (delegate, delegate)
    let hasEndedEarly = Box<Bool?>(nil)
    try inner.add(
      BlockWorkflowTask<Int>(name: "a") { run in
        // The closure keeps the run, which would otherwise be given up.
        run.onStop {
          if !run.isExecuting { isStopping.signal() }
          hasEndedEarly.value = hasEnded.wait(.milliseconds(100))
        }
        mayBeStopped.signal()
      })
    let outcome = workflow.start()
    outcome.onCompletion(on: .inline) { _ in hasEnded.signal() }
    #expect(await eventually { delegate.log.entries.contains("a started") })
    #expect(await mayBeStopped.opened())
    workflow.cancel()
    #expect(isCancelled(try await outcome.value))
    #expect(delegate.misses.value == 0)
    return hasEndedEarly.value != false
  }

  @Test("a cancelled run, while another thread delivers news: it ends after the stop closures")
  func endsAfterStops() async throws {
    let workflow = Workflow(name: "w")
    #expect(try await !endsDuringStop(workflow, in: workflow))
  }

  @Test("a cancelled run with a workflow inside: it ends after the stop closures inside")
  func endsAfterStopsInside() async throws {
    let (outer, middle, inner) = (Workflow(name: "o"), Workflow(name: "m"), Workflow(name: "i"))
    try outer.add(SubworkflowTask(name: "m", subworkflow: middle))
    try middle.add(SubworkflowTask(name: "i", subworkflow: inner))
    #expect(try await !endsDuringStop(outer, in: inner))
  }

  @Test("a workflow that is nested while a closure stops its work: the run outside waits for it")
  func nestedWhileStopping() async throws {
    let (outer, inner) = (Workflow(name: "o"), Workflow(name: "i"))
    let (mayBeStopped, isStopping, mayReturn) = (Event(), Event(), Event())
    try inner.add(
      BlockWorkflowTask<Int>(name: "a") { run in
        run.onStop {
          if !run.isExecuting { isStopping.signal() }
          _ = mayReturn.wait()
        }
        mayBeStopped.signal()
      })
    let ending = inner.start()
    #expect(await mayBeStopped.opened())
    DispatchQueue.global().async { inner.cancel() }
    #expect(await isStopping.opened())
    try outer.add(SubworkflowTask(name: "i", subworkflow: inner))
    let outcome = outer.start()
    #expect(await eventually { outer.allTasks.allSatisfy(\.isCancelled) })
    let early = Event()
    outcome.onCompletion(on: .inline) { _ in early.signal() }
    #expect(await !early.opened(within: .milliseconds(50)))
    #expect(!ending.isFulfilled)
    mayReturn.signal()
    #expect(isCancelled(try await outcome.value))
    #expect(isCancelled(try await ending.value))
  }

  @Test("a stop closure that starts the workflow again: the run goes on, and ends once")
  func restartsWhileStopping() async throws {
    let workflow = Workflow(name: "w")
    let runs = Counter()
    let mayBeStopped = Event()
    try workflow.add(
      BlockWorkflowTask<Int>(name: "a") { run in
        if runs.add() == 2 {
          run.finish(with: 1)
          return
        }
        run.onStop { if !run.isExecuting { workflow.retry() } }
        mayBeStopped.signal()
      })
    let outcome = workflow.start()
    #expect(await mayBeStopped.opened())
    workflow.cancel()
    #expect(try await outcome.value.isFinished)
    #expect(runs.value == 2)
  }
}
