import Foundation
import Futures
import TestSupport
import Testing
import Workflows

@Suite("States of tasks", .timeLimit(.minutes(5)), .oneAtATime)
struct StateTests {
  @Test("7. starting a task several times before it runs runs it once")
  func startTwice() throws {
    let context = ManualContext()
    let workflow = Workflow(name: "test", context: context)
    let task = try workflow.add(OpenTask(name: "task"))
    for _ in 0..<5 { task.start() }
    workflow.start()
    context.runAll()
    #expect(task.runs.value == 1)
    task.finish(with: 1)
    task.start()
    context.runAll()
    #expect(task.runs.value == 1)
  }

  @Test("7. a start that waits for its queue runs nothing after a cancel or a reset")
  func queuedStart() throws {
    let context = ManualContext()
    let workflow = Workflow(name: "test", context: context)
    let cancelled = try workflow.add(OpenTask(name: "cancelled"))
    let reset = try workflow.add(OpenTask(name: "reset"))
    let again = try workflow.add(OpenTask(name: "again"))
    workflow.start()
    cancelled.cancel()
    reset.reset()
    again.reset()
    again.start()
    context.runAll()
    #expect(cancelled.runs.value == 0 && cancelled.state == .cancelled)
    #expect(reset.runs.value == 0 && reset.state == .ready)
    #expect(again.runs.value == 1 && again.state == .executing)
    again.cancel()
  }

  @Test("8. only the first end of a run counts, and only while the task executes")
  func firstWins() throws {
    let workflow = inlineWorkflow()
    let listener = Listener()
    let task = OpenTask(name: "task")
    task.delegate = listener
    try workflow.add(task)
    #expect(!task.finish(with: 0))
    task.start()
    #expect(task.finish(with: 1))
    #expect(!task.finish(with: 2) && !task.fail(with: TestError.first))
    #expect(task.result == 1 && task.error == nil)
    #expect(listener.log.entries == ["task task finished 1"])
  }

  @Test("9. an end after cancel, reset, failure or another end changes nothing")
  func lateEnds() throws {
    for end in 0..<4 {
      let workflow = inlineWorkflow()
      let task = try workflow.add(OpenTask(name: "task"))
      task.start()
      switch end {
      case 0: task.cancel()
      case 1: task.reset()
      case 2: task.fail(with: TestError.first)
      default: task.finish(with: 1)
      }
      let (state, date) = (task.state, task.finishDate)
      #expect(!task.finish(with: 9))
      #expect(!task.fail(with: TestError.second))
      #expect(task.state == state && task.finishDate == date)
      #expect(task.result == (end == 3 ? 1 : nil))
      #expect(task.error as? TestError == (end == 2 ? .first : nil))
    }
  }

  @Test("10. a block's end of an earlier run never ends a later one", arguments: [true, false])
  func staleBlock(byRetry: Bool) throws {
    let workflow = inlineWorkflow()
    let works = Box<[TaskWork<Int>]>([])
    let task = BlockWorkflowTask<Int>(name: "task") { works.value.append($0) }
    try workflow.add(task)
    workflow.start()
    if byRetry {
      task.cancel()
      task.retry()
    } else {
      task.reset()
      task.start()
    }
    #expect(works.value.count == 2 && task.state == .executing)
    #expect(!works.value[0].isExecuting && works.value[1].isExecuting)
    #expect(!works.value[0].finish(with: 1))
    #expect(!works.value[0].fail(with: TestError.first))
    works.value[0].cancel()
    #expect(task.state == .executing)
    #expect(works.value[1].finish(with: 2))
    #expect(task.result == 2)
  }

  @Test("10. main() of an earlier run neither executes nor ends a later one")
  func staleMain() async throws {
    final class Slow: WorkflowTask<Int>, @unchecked Sendable {
      let entered = [Event(), Event()]
      let leave = Event()
      let seen = Log<String>()
      let runs = Counter()
      override func main() {
        let run = runs.add()
        entered[run - 1].signal()
        if run == 1 {
          leave.wait()
          seen.append("executing \(isExecuting)")
          seen.append("finished \(finish(with: 1))")
          seen.append("failed \(fail(with: TestError.first))")
        }
      }
    }
    let workflow = Workflow(name: "test")
    let task = try workflow.add(Slow(name: "slow"))
    workflow.start()
    #expect(await task.entered[0].opened())
    task.cancel()
    task.retry()
    #expect(await task.entered[1].opened())
    #expect(task.isExecuting)
    task.leave.signal()
    #expect(await eventually { task.seen.count == 3 })
    #expect(task.seen.entries == ["executing false", "finished false", "failed false"])
    #expect(task.state == .executing)
    #expect(task.finish(with: 2))
    #expect(task.result == 2)
  }

  @Test("10. a callback that has taken the current run along cannot end a later one")
  func currentWork() throws {
    final class Callback: WorkflowTask<Int>, @unchecked Sendable {
      let works = Box<[TaskWork<Int>]>([])
      override func main() { works.value.append(currentWork) }
    }
    let workflow = inlineWorkflow()
    let task = try workflow.add(Callback(name: "task"))
    workflow.start()
    task.cancel()
    task.retry()
    #expect(!task.works.value[0].finish(with: 1))
    #expect(task.works.value[1].finish(with: 2))
    #expect(task.result == 2)
    task.works.value = []
  }

  @Test("11. cancelling a task that has ended changes nothing")
  func cancelEnded() throws {
    let workflow = inlineWorkflow()
    let (a, b) = (OpenTask(name: "a"), OpenTask(name: "b"))
    try bring(a, to: .finished, in: workflow)
    try bring(b, to: .failed, in: workflow)
    workflow.cancel()
    #expect(a.state == .finished && a.result == 7)
    #expect(b.state == .failed && b.error as? TestError == .first)
  }

  @Test("12. a reset clears everything, ends ready or pending, and starts nothing")
  func reset() throws {
    let workflow = inlineWorkflow()
    let a = try workflow.add(OpenTask(name: "a"))
    let b = try workflow.add(OpenTask(name: "b"), prerequisites: a)
    workflow.start()
    a.finish(with: 1)
    b.fail(with: TestError.first)
    b.reset()
    #expect(b.state == .ready && b.error == nil && b.finishDate == nil && b.runs.value == 1)
    b.start()
    b.finish(with: 2)
    a.reset()
    #expect(a.state == .ready && a.result == nil && a.finishDate == nil)
    #expect(b.state == .pending && b.result == nil && b.finishDate == nil)
    #expect(a.runs.value == 1 && b.runs.value == 2)
  }

  @Test("13. a retry runs at once if the prerequisites have finished, else when they have")
  func retry() throws {
    let workflow = inlineWorkflow()
    let a = try workflow.add(OpenTask(name: "a"))
    let b = try workflow.add(OpenTask(name: "b"), prerequisites: a)
    b.cancel()
    b.retry()
    #expect(b.state == .pending)
    workflow.start()
    a.fail(with: TestError.first)
    b.cancel()
    a.retry()
    #expect(a.state == .executing && a.error == nil && a.finishDate == nil)
    #expect(b.state == .pending)
    a.finish(with: 1)
    #expect(b.state == .executing)
    b.fail(with: TestError.second)
    b.retry()
    #expect(b.state == .executing && b.runs.value == 2)
  }

  @Test("14. messages reach all dependents, also through tasks that do not change")
  func propagation() throws {
    let workflow = inlineWorkflow()
    let a = try workflow.add(OpenTask(name: "a"))
    let b = try workflow.add(OpenTask(name: "b"), prerequisites: a)
    let c = try workflow.add(OpenTask(name: "c"), prerequisites: b)
    let other = try workflow.add(OpenTask(name: "other"))
    workflow.start()
    a.finish(with: 1)
    b.finish(with: 2)
    // a and b have finished: they do not change, c does.
    a.cancel()
    #expect(a.state == .finished && b.state == .finished && c.state == .cancelled)
    a.retry()
    #expect(c.state == .executing)
    c.finish(with: 3)
    a.reset()
    #expect(a.state == .ready && b.state == .pending && c.state == .pending)
    #expect(other.state == .executing)
    // A pending task is not changed by a reset, what is behind it is.
    c.cancel()
    b.reset()
    #expect(b.state == .pending && c.state == .pending)
  }

  @Test("14. each task is told once per message, prerequisites first")
  func once() throws {
    let workflow = Workflow(
      name: "test", context: .inline, notificationCenter: NotificationCenter())
    let postings = Postings(workflow.notificationCenter)
    let a = try workflow.add(OpenTask(name: "a"))
    let b = try workflow.add(OpenTask(name: "b"), prerequisites: a)
    let c = try workflow.add(OpenTask(name: "c"), prerequisites: a)
    let d = try workflow.add(OpenTask(name: "d"), prerequisites: b, c)
    // An edge that was added late, against the order of the numbers.
    let e = try workflow.add(OpenTask(name: "e"), prerequisites: a)
    try workflow.addPrerequisite(e, to: b)
    a.cancel()
    #expect(
      postings.log.entries.filter { $0.hasPrefix("cancel") } == [
        "cancel a", "cancel c", "cancel e", "cancel b", "cancel d",
      ])
    workflow.reset()
    #expect(postings.log.entries.filter { $0.hasPrefix("reset") }.count == 5)
    #expect(d.state == .pending)
  }

  @Test("14. 30 layers of two fully connected tasks are walked in no time")
  func layers() throws {
    let workflow = inlineWorkflow()
    var last: [AnyWorkflowTask] = []
    for layer in 0..<30 {
      let next = (0..<2).map { OpenTask(name: "\(layer).\($0)") }
      for task in next { try workflow.add(task, prerequisites: last) }
      last = next
    }
    let clock = ContinuousClock.now
    workflow.cancel()
    #expect(workflow.allTasks.allSatisfy { $0.isCancelled })
    workflow.reset()
    workflow.cancel()
    workflow.retry()
    #expect(workflow.allTasks.filter(\.isExecuting).count == 2)
    #expect(ContinuousClock.now - clock < Event.patience)
  }

  @Test("15. a failure leaves dependents pending, and other branches go on")
  func failure() async throws {
    let workflow = Workflow(name: "test")
    let bad = try workflow.add(failing("bad"))
    let behind = try workflow.add(counting("behind"), prerequisites: bad)
    let good = try workflow.add(counting("good"))
    let further = try workflow.add(counting("further"), prerequisites: good)
    let outcome = try await workflow.run()
    #expect(outcome.errors.count == 1 && outcome.errors[bad] as? TestError == .first)
    #expect(behind.state == .pending)
    #expect(good.state == .finished && further.state == .finished)
  }

  @Test("16. a ready task becomes pending when its prerequisite is reset")
  func readyBecomesPending() throws {
    let workflow = inlineWorkflow()
    let a = try workflow.add(OpenTask(name: "a"))
    let b = try workflow.add(OpenTask(name: "b"), prerequisites: a)
    workflow.start()
    a.finish(with: 1)
    b.finish(with: 1)
    b.reset()
    #expect(a.state == .finished && b.state == .ready)
    a.reset()
    #expect(a.state == .ready && b.state == .pending)
    b.start()
    #expect(b.state == .pending)
    a.start()
    a.finish(with: 2)
    #expect(b.state == .executing)
  }

  @Test("17. cancelling an executing task marks it, and its work can see that")
  func cancelExecuting() async throws {
    let workflow = Workflow(name: "test")
    let (entered, left) = (Event(), Event())
    let polling = BlockWorkflowTask<Int>(name: "polling") { task in
      entered.signal()
      while task.isExecuting { usleep(200) }
      left.signal()
    }
    let stopped = Counter()
    let callback = BlockWorkflowTask<Int>(name: "callback") { task in
      task.onStop { stopped.add() }
    }
    let cancelledInside = Event()
    let async = AsyncWorkflowTask<Int>(name: "async") { _ in
      do {
        try await Task.sleep(for: .seconds(100))
      } catch {
        cancelledInside.signal()
        throw error
      }
      return 1
    }
    try workflow.add(polling)
    try workflow.add(callback)
    try workflow.add(async)
    workflow.start()
    #expect(await entered.opened())
    #expect(await eventually { callback.isExecuting && async.isExecuting })
    workflow.cancel()
    #expect(workflow.allTasks.allSatisfy { $0.isCancelled })
    #expect(await left.opened())
    #expect(await cancelledInside.opened())
    #expect(await eventually { stopped.value == 1 })
    #expect(workflow.allTasks.allSatisfy { $0.isCancelled && $0.error == nil })
  }

  @Test("18. everything may be called from inside work, hooks, delegates and observers")
  func reentrant() async throws {
    final class Meddler: WorkflowTask<Int>, WorkflowDelegate, WorkflowTaskDelegate,
      @unchecked Sendable
    {
      let target = Box<Workflow?>(nil)
      let calls = Counter()
      let inside = Counter()

      private func meddle() {
        inside.add()
        defer { inside.add(-1) }
        guard calls.add() < 50, let workflow = target.value else { return }
        workflow.cancel()
        workflow.retry()
        workflow.reset()
        workflow.start()
        for task in workflow.allTasks {
          task.cancel()
          task.reset()
          task.start()
          _ = (task.state, task.result(), task.description)
        }
      }

      override func main() {
        meddle()
        finish(with: 1)
      }
      override func didStart() { meddle() }
      override func didCancel() { meddle() }
      override func didReset() { meddle() }
      override func didRetry() { meddle() }
      override func didFinish(with result: Int) { meddle() }
      override func didFail(with error: any Error) { meddle() }
      func workflowDidFinish(_ workflow: Workflow) { meddle() }
      func workflow(_ workflow: Workflow, task: AnyWorkflowTask, didFailWith error: any Error) {
        meddle()
      }
      func workflow(_ workflow: Workflow, taskDidCancel task: AnyWorkflowTask) { meddle() }
      func task(_ task: AnyWorkflowTask, didFinishWith result: any Sendable) { meddle() }
      func task(_ task: AnyWorkflowTask, didFailWith error: any Error) { meddle() }
      func taskDidCancel(_ task: AnyWorkflowTask) { meddle() }
    }
    let workflow = Workflow(name: "test")
    let a = Meddler(name: "a")
    let condition = ExternalConditionTask<Int>(name: "condition")
    try workflow.add(a)
    try workflow.add(condition)
    let b = try workflow.add(Meddler(name: "b"), prerequisites: a, condition)
    a.target.value = workflow
    b.target.value = workflow
    a.delegate = b
    workflow.delegate = a
    workflow.start()
    condition.fulfill(with: 1)
    #expect(await eventually { a.calls.value >= 50 })
    a.target.value = nil
    b.target.value = nil
    #expect(await eventually { a.inside.value == 0 && b.inside.value == 0 })
    // It still works afterwards.
    workflow.delegate = nil
    workflow.reset()
    condition.fulfill(with: 2)
    #expect(try await workflow.run().isFinished)
    #expect(b.result == 1)
  }

  @Test("18. a delegate that blocks until a dependent has run does not hold it up")
  func blockingDelegate() async throws {
    final class Blocking: WorkflowTaskDelegate {
      let ran = Event()
      let outcome = Box<Bool?>(nil)
      func task(_ task: AnyWorkflowTask, didFinishWith result: any Sendable) {
        outcome.value = ran.wait()
      }
    }
    let workflow = Workflow(name: "test")
    let delegate = Blocking()
    let a = counting("a")
    a.delegate = delegate
    try workflow.add(a)
    try workflow.add(
      BlockWorkflowTask<Int>(name: "b") { task in
        delegate.ran.signal()
        task.finish(with: 1)
      }, prerequisites: a)
    #expect(try await workflow.run().isFinished)
    #expect(delegate.outcome.value == true)
  }

  @Test("19. whoever sees a task ended sees its result, error and date")
  func published() async throws {
    let raced = await RaceHarness(threads: 3, rounds: 300).run { _ in
      let workflow = inlineWorkflow()
      let (a, b) = (OpenTask(name: "a"), OpenTask(name: "b"))
      do {
        try workflow.add(a)
        try workflow.add(b)
      } catch {
        Issue.record(error)
      }
      workflow.start()
      return (workflow, a, b)
    } act: { subject, thread in
      let (_, a, b) = subject
      switch thread {
      case 0: a.finish(with: 1)
      case 1: b.fail(with: TestError.first)
      default:
        while !a.isFinished { sched_yield() }
        if a.result != 1 || a.finishDate == nil { Issue.record("finished without a result") }
        while !b.isFailed { sched_yield() }
        if b.error == nil || b.finishDate == nil { Issue.record("failed without an error") }
      }
    }
    #expect(raced)
  }

  @Test("22. a task runs again only when its hooks have heard that it was reset or is retried")
  func hooksBeforeRuns() async throws {
    final class Hooked: WorkflowTask<Int>, @unchecked Sendable {
      let log = Log<String>()
      override func main() {
        log.append("main")
        if log.count % 4 == 1 { fail(with: TestError.first) } else { finish(with: 1) }
      }
      override func didReset() { log.append("reset") }
      override func didRetry() { log.append("retry") }
    }
    let workflow = Workflow(name: "w")
    let before = try workflow.add(counting("before"))
    let task = try workflow.add(Hooked(), prerequisites: before)
    for round in 0..<300 {
      _ = try await workflow.run()
      _ = try await workflow.retry().value
      #expect(task.isFinished)
      // From its start or from that of its prerequisite.
      if round % 2 == 0 { task.reset() } else { workflow.reset() }
    }
    // (Another thread may just be telling the last one.)
    #expect(await eventually { task.log.count == 1_200 })
    // (Its own expression: twelve hundred words are too much of a report.)
    let isInOrder =
      task.log.entries
      == Array(repeating: ["main", "retry", "main", "reset"], count: 300).flatMap { $0 }
    #expect(isInOrder)
  }

  @Test("20. callbacks come in the documented order, each exactly once")
  func callbackOrder() throws {
    final class Hooked: WorkflowTask<Int>, @unchecked Sendable {
      let log: Log<String>
      init(_ name: String, _ log: Log<String>) {
        self.log = log
        super.init(name: name)
      }
      override func main() { log.append("main") }
      override func didStart() { log.append("didStart \(state)") }
      override func didFinish(with result: Int) { log.append("didFinish \(result)") }
      override func didFail(with error: any Error) { log.append("didFail") }
      override func didCancel() { log.append("didCancel") }
      override func didReset() { log.append("didReset \(state)") }
      override func didRetry() { log.append("didRetry") }
    }
    final class Order: WorkflowTaskDelegate, WorkflowDelegate {
      let log: Log<String>
      init(_ log: Log<String>) { self.log = log }
      func task(_ task: AnyWorkflowTask, didFinishWith result: any Sendable) {
        log.append("delegate finish")
      }
      func task(_ task: AnyWorkflowTask, didFailWith error: any Error) {
        log.append("delegate fail")
      }
      func taskDidCancel(_ task: AnyWorkflowTask) { log.append("delegate cancel") }
      func workflowDidFinish(_ workflow: Workflow) { log.append("workflow finish") }
      func workflow(_ workflow: Workflow, task: AnyWorkflowTask, didFailWith error: any Error) {
        log.append("workflow fail")
      }
      func workflow(_ workflow: Workflow, taskDidCancel task: AnyWorkflowTask) {
        log.append("workflow cancel")
      }
    }
    let log = Log<String>()
    let center = NotificationCenter()
    let workflow = Workflow(name: "w", context: .inline, notificationCenter: center)
    let task = Hooked("t", log)
    let order = Order(log)
    task.delegate = order
    workflow.delegate = order
    var observers: [any NSObjectProtocol] = []
    for name: Notification.Name in [
      .taskDidStart, .taskDidFinish, .taskDidFail, .taskDidCancel, .taskDidReset, .taskDidRetry,
      .workflowWillStart, .workflowDidFinish, .workflowTaskDidFail, .workflowTaskDidCancel,
    ] {
      observers.append(
        center.addObserver(forName: name, object: nil, queue: nil) { log.append($0.name.rawValue) })
    }
    defer { for observer in observers { center.removeObserver(observer) } }
    try workflow.add(task)
    workflow.start()
    task.fail(with: TestError.first)
    task.fail(with: TestError.first)
    task.retry()
    task.cancel()
    task.cancel()
    task.reset()
    task.start()
    task.finish(with: 5)
    task.finish(with: 6)
    #expect(
      log.entries == [
        "WorkflowWillStart", "didStart Executing", "WorkflowTaskDidStart", "main",
        "didFail", "delegate fail", "WorkflowTaskDidFail", "workflow fail",
        "WorkflowOneTaskDidFail",
        "didRetry", "WorkflowTaskDidRetry", "didStart Executing", "WorkflowTaskDidStart", "main",
        "didCancel", "delegate cancel", "WorkflowTaskDidCancel", "workflow cancel",
        "WorkflowOneTaskDidCancel",
        "didReset Ready", "WorkflowTaskDidReset",
        "didStart Executing", "WorkflowTaskDidStart", "main",
        "didFinish 5", "delegate finish", "WorkflowTaskDidFinish",
        "workflow finish", "WorkflowDidFinish",
      ])
  }

  @Test("20. callbacks of racing transitions come in the order of the transitions")
  func racingOrder() async {
    final class Ordered: WorkflowTask<Int>, @unchecked Sendable {
      let log = Log<String>()
      override func main() {}
      override func didStart() { log.append("start") }
      override func didCancel() { log.append("cancel") }
      override func didReset() { log.append("reset") }
      override func didRetry() { log.append("retry") }
      override func didFinish(with result: Int) { log.append("finish") }
    }
    let raced = await RaceHarness(threads: 4, rounds: 300).run { _ -> (Workflow, Ordered) in
      let workflow = inlineWorkflow()
      let task = Ordered(name: "t")
      do { try workflow.add(task) } catch { Issue.record(error) }
      return (workflow, task)
    } act: { subject, thread in
      let (workflow, task) = subject
      for _ in 0..<5 {
        switch thread {
        case 0: workflow.start()
        case 1: task.cancel()
        case 2: task.retry()
        default:
          task.finish(with: 1)
          task.reset()
        }
      }
    } check: { subject, _ in
      // Replaying the callbacks through the table must be possible.
      var state = WorkflowTaskState.ready
      for entry in subject.1.log.entries {
        let message: TaskMessage =
          switch entry {
          case "start": .begin
          case "cancel": .cancel
          case "reset": .reset
          case "retry": .retry
          default: .finish
          }
        guard let next = state.transition(on: message, isUnblocked: true) else {
          Issue.record("\(entry) in \(state): \(subject.1.log.entries)")
          return
        }
        state = next.state
      }
      #expect(state == subject.1.state)
    }
    #expect(raced)
  }

  @Test("a run was given up, and its workflow is released: a closure that stops work is called")
  func stoppingAfterRelease() throws {
    let task = BlockWorkflowTask<Int>(name: "given up") { _ in }
    weak var released: Workflow?
    do {
      let workflow = inlineWorkflow()
      released = workflow
      try workflow.add(task)
      workflow.start()
    }
    #expect(released == nil && task.state == .executing)
    let stopped = Counter()
    task.currentWork.onStop { stopped.add() }
    #expect(stopped.value == 1)
  }

  @Test("21. the finish date is now for finish and fail, and nothing otherwise")
  func finishDate() throws {
    let workflow = inlineWorkflow()
    let task = try workflow.add(OpenTask(name: "task"))
    task.start()
    #expect(task.finishDate == nil)
    task.finish(with: 1)
    #expect(abs(try #require(task.finishDate).timeIntervalSinceNow) < 60)
    task.reset()
    #expect(task.finishDate == nil)
    task.start()
    task.fail(with: TestError.first)
    #expect(abs(try #require(task.finishDate).timeIntervalSinceNow) < 60)
    task.retry()
    #expect(task.finishDate == nil)
    task.cancel()
    #expect(task.finishDate == nil)
  }
}

extension AnyWorkflowTask {
  /// Reads whatever there is to read.
  func result() -> String { "\(String(describing: anyResult)) \(String(describing: error))" }
}
