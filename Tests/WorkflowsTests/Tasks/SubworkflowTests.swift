import Foundation
import Futures
import TestSupport
import Testing
import Workflows

@Suite("Subworkflows", .timeLimit(.minutes(5)), .oneAtATime)
struct SubworkflowTests {
  /// An outer workflow with a task that runs an inner one with two open tasks.
  private struct Nest {
    let outer = inlineWorkflow("outer")
    let inner = inlineWorkflow("inner")
    let before: OpenTask
    let task: SubworkflowTask<Workflow>
    let a: OpenTask
    let b: OpenTask

    init() throws {
      before = try outer.add(OpenTask(name: "before"))
      task = try outer.add(SubworkflowTask(name: "sub", subworkflow: inner), prerequisites: before)
      a = try inner.add(OpenTask(name: "a"))
      b = try inner.add(OpenTask(name: "b"))
    }

    func start() {
      outer.start()
      before.finish(with: 1)
    }
  }

  @Test("52. it starts the inner workflow, and finishes with it as the result")
  func finishes() throws {
    let nest = try Nest()
    #expect(nest.task.state == .pending && nest.a.state == .ready)
    nest.start()
    #expect(nest.task.state == .executing && nest.a.state == .executing)
    nest.a.finish(with: 1)
    #expect(nest.task.state == .executing)
    nest.b.finish(with: 1)
    #expect(nest.task.state == .finished && nest.task.result === nest.inner)
    #expect(SubworkflowTask(subworkflow: nest.inner).name == "inner")
  }

  @Test("52. an inner failure fails it with that error, an inner cancellation cancels it")
  func ends() throws {
    let failed = try Nest()
    failed.start()
    failed.a.fail(with: TestError.first)
    #expect(failed.task.state == .failed && failed.task.error as? TestError == .first)
    #expect(failed.b.state == .executing)
    let cancelled = try Nest()
    cancelled.start()
    cancelled.a.cancel()
    #expect(cancelled.task.state == .cancelled && cancelled.b.state == .executing)
    // Also while it is still pending.
    let pending = try Nest()
    pending.a.cancel()
    #expect(pending.task.state == .cancelled && pending.b.state == .ready)
  }

  @Test("52. an inner workflow that has ended before ends it likewise at once")
  func endedBefore() throws {
    let finished = try Nest()
    finished.inner.start()
    finished.a.finish(with: 1)
    finished.b.finish(with: 1)
    #expect(finished.task.state == .pending)
    finished.start()
    #expect(finished.task.state == .finished)
    // The earliest error wins, and a failure over a cancellation.
    let failed = try Nest()
    let c = try failed.inner.add(OpenTask(name: "c"))
    failed.inner.start()
    failed.b.fail(with: TestError.second)
    usleep(2000)
    failed.a.fail(with: TestError.first)
    c.cancel()
    #expect(failed.task.state == .cancelled)
    failed.task.reset()
    #expect(failed.b.state == .ready)
    let again = try Nest()
    again.inner.start()
    again.b.fail(with: TestError.second)
    usleep(2000)
    again.a.fail(with: TestError.first)
    again.start()
    #expect(again.task.state == .failed && again.task.error as? TestError == .second)
  }

  @Test("52. failed wins over cancelled when it comes to its turn")
  func failedAndCancelled() throws {
    let inner = inlineWorkflow("inner")
    let (a, b) = (try inner.add(OpenTask(name: "a")), try inner.add(OpenTask(name: "b")))
    inner.start()
    a.cancel()
    b.fail(with: TestError.first)
    let outer = inlineWorkflow("outer")
    let task = try outer.add(SubworkflowTask(subworkflow: inner))
    outer.start()
    #expect(task.state == .failed && task.error as? TestError == .first)
    let other = inlineWorkflow("other")
    let c = try other.add(OpenTask(name: "c"))
    c.cancel()
    let cancelled = try outer.add(SubworkflowTask(subworkflow: other))
    outer.start()
    #expect(cancelled.state == .cancelled)
  }

  @Test("53. cancelling, resetting and retrying it does so to the inner workflow")
  func outerMessages() throws {
    let nest = try Nest()
    nest.start()
    nest.a.finish(with: 1)
    nest.task.cancel()
    #expect(
      nest.task.state == .cancelled && nest.b.state == .cancelled && nest.a.state == .finished)
    nest.task.retry()
    #expect(nest.task.state == .executing && nest.b.state == .executing)
    #expect(nest.a.runs.value == 1)
    nest.b.finish(with: 1)
    #expect(nest.task.state == .finished)
    nest.task.reset()
    #expect(nest.a.state == .ready && nest.b.state == .ready && nest.a.result == nil)
    nest.task.start()
    #expect(nest.a.runs.value == 2)
  }

  @Test("53. a retry after the whole was cancelled starts nothing inside too early")
  func retryOrder() throws {
    let nest = try Nest()
    nest.outer.start()
    nest.outer.cancel()
    #expect(nest.a.state == .cancelled && nest.b.state == .cancelled)
    nest.outer.retry()
    #expect(nest.before.state == .executing && nest.task.state == .pending)
    #expect(nest.a.state == .cancelled && nest.a.runs.value == 0)
    nest.before.finish(with: 1)
    #expect(nest.task.state == .executing)
    #expect(nest.a.state == .executing && nest.a.runs.value == 1)
    nest.a.fail(with: TestError.first)
    nest.b.finish(with: 1)
    nest.task.retry()
    #expect(nest.a.runs.value == 2 && nest.task.state == .executing)
    nest.a.finish(with: 1)
    #expect(nest.outer.hasUnfinishedTasks == false)
  }

  @Test("54. an inner workflow that completes later brings it to its end, too")
  func completesLater() throws {
    let nest = try Nest()
    nest.start()
    nest.a.fail(with: TestError.first)
    nest.b.finish(with: 1)
    #expect(nest.task.state == .failed)
    nest.a.retry()
    nest.a.finish(with: 1)
    #expect(nest.task.state == .finished)
    // By an external condition, and after a cancellation.
    let outer = inlineWorkflow("outer")
    let inner = inlineWorkflow("inner")
    let condition = try inner.add(ExternalConditionTask<Int>(name: "c"))
    let task = try outer.add(SubworkflowTask(subworkflow: inner))
    outer.start()
    #expect(task.state == .failed)
    condition.fulfill(with: 1)
    #expect(task.state == .finished)
    task.reset()
    condition.cancel()
    #expect(task.state == .cancelled)
    condition.fulfill(with: 2)
    #expect(task.state == .finished)
  }

  @Test("55. an empty inner workflow finishes it")
  func empty() throws {
    let outer = inlineWorkflow("outer")
    let task = try outer.add(SubworkflowTask(subworkflow: Workflow(name: "empty")))
    outer.start()
    #expect(task.state == .finished)
  }

  @Test("55. nesting works, on queues, with cancellation and retry through all levels")
  func nested() async throws {
    let (outer, middle, inner) = (
      Workflow(name: "outer"), Workflow(name: "middle"), Workflow(name: "inner")
    )
    let condition = try inner.add(
      ExternalConditionTask<Int>(name: "c", waitsForFulfillment: true))
    let last = try inner.add(counting("last"), prerequisites: condition)
    try middle.add(counting("m"))
    let innerTask = try middle.add(SubworkflowTask(subworkflow: inner))
    let middleTask = try outer.add(SubworkflowTask(subworkflow: middle))
    let end = try outer.add(counting("end"), prerequisites: middleTask)
    let cancelled = outer.start()
    #expect(await eventually { condition.isExecuting })
    outer.cancel()
    guard case .cancelled = try await cancelled.value else {
      Issue.record("not cancelled")
      return
    }
    #expect(condition.isCancelled && innerTask.isCancelled && middleTask.isCancelled)
    let future = outer.retry()
    #expect(await eventually { condition.isExecuting })
    condition.fulfill(with: 1)
    #expect(try await future.value.isFinished)
    #expect(last.isFinished && innerTask.isFinished && end.isFinished)
  }

  @Test("55. thousands of workflows in one another need no stack")
  func deeplyNested() async throws {
    let depth = 2000
    let done = try await SmallStackThread.running { () -> Bool in
      var workflow = inlineWorkflow("innermost")
      let condition = ExternalConditionTask<Int>(name: "c", waitsForFulfillment: true)
      try workflow.add(condition)
      for i in 0..<depth {
        let outer = inlineWorkflow("\(i)")
        try outer.add(SubworkflowTask(subworkflow: workflow))
        workflow = outer
      }
      workflow.start()
      guard condition.isExecuting else { return false }
      workflow.cancel()
      guard condition.isCancelled else { return false }
      workflow.retry()
      workflow.reset()
      workflow.start()
      guard condition.isExecuting else { return false }
      condition.fulfill(with: 1)
      let isDone = !workflow.hasUnfinishedTasks
      _ = workflow.dot
      return isDone
    }
    #expect(done)
  }

  @Test("55. typed results go in and come out")
  func inputAndOutput() async throws {
    let (outer, inner) = (Workflow(name: "outer"), Workflow(name: "inner"))
    let input = try inner.add(ExternalConditionTask<Int>(name: "input"))
    let double = try inner.add(
      AsyncWorkflowTask<Int>(name: "double") { try $0.result(of: input) * 2 },
      prerequisites: input)
    let source = try outer.add(counting("source", result: 21))
    let task = try outer.add(
      SubworkflowTask<Int>(name: "sub", subworkflow: inner) { task in
        input.fulfill(with: try task.result(of: source))
      } output: { _ in
        double.result ?? 0
      }, prerequisites: source)
    #expect(try await outer.run().isFinished)
    #expect(task.result == 42)
    let bad = SubworkflowTask<Int>(subworkflow: Workflow()) { _ in
      throw TestError.first
    } output: {
      _ in
      1
    }
    try outer.add(bad)
    #expect(try await outer.run().errors[bad] as? TestError == .first)
    let worse = SubworkflowTask<Int>(subworkflow: Workflow()) { _ in throw TestError.second }
    let other = Workflow()
    try other.add(worse)
    #expect(try await other.run().errors[worse] as? TestError == .second)
  }

  @Test("55. a workflow inside itself is refused, however deep")
  func recursive() throws {
    let (outer, middle) = (Workflow(name: "outer"), Workflow(name: "middle"))
    let direct = SubworkflowTask(name: "direct", subworkflow: outer)
    #expect(throws: WorkflowError.self) { try outer.add(direct) }
    try outer.add(SubworkflowTask(subworkflow: middle))
    let indirect = SubworkflowTask(name: "indirect", subworkflow: outer)
    do {
      try middle.add(indirect)
      Issue.record("not refused")
    } catch let error as WorkflowError {
      guard case .recursiveSubworkflow(indirect) = error else {
        Issue.record("\(error)")
        return
      }
      #expect(error.errorDescription?.contains("\"indirect\"") == true)
    }
    #expect(middle.allTasks.isEmpty && indirect.workflow == nil)
  }

  /// Does something when a workflow has finished, before anybody else is told.
  private final class Early: WorkflowDelegate, Sendable {
    private let act: @Sendable () -> Void
    init(_ act: @escaping @Sendable () -> Void) { self.act = act }
    func workflowDidFinish(_ workflow: Workflow) { act() }
  }

  @Test("53. cancelled when all is done inside, but not told yet: it stays cancelled")
  func cancelledAtTheEnd() throws {
    let (outer, inner) = (inlineWorkflow("outer"), inlineWorkflow("inner"))
    let task = try outer.add(SubworkflowTask(name: "sub", subworkflow: inner))
    let after = try outer.add(counting("after"), prerequisites: task)
    let last = try inner.add(OpenTask(name: "last"))
    let early = Early { outer.cancel() }
    inner.delegate = early
    outer.start()
    last.finish(with: 1)
    #expect(last.isFinished && task.isCancelled && after.isCancelled)
    withExtendedLifetime(early) {}
    // Retried, it finds all done.
    outer.retry()
    #expect(task.isFinished && after.isFinished && last.runs.value == 1)
  }

  @Test("53. cancelling and resetting reach an inner workflow at work where it was started")
  func stoppingInline() async throws {
    for isReset in [false, true] {
      let (outer, inner) = (Workflow(name: "outer"), inlineWorkflow("inner"))
      let (begun, mayEnd) = (Event(), Event())
      let runs = Counter()
      let first = try inner.add(
        BlockWorkflowTask<Int>(name: "first") { work in
          if runs.add() == 1 {
            begun.signal()
            mayEnd.wait()
          }
          work.finish(with: 1)
        })
      let second = try inner.add(counting("second"), prerequisites: first)
      let task = try outer.add(SubworkflowTask(name: "sub", subworkflow: inner))
      outer.start()
      #expect(await begun.opened())
      if isReset { outer.reset() } else { outer.cancel() }
      #expect(first.state == (isReset ? .ready : .cancelled))
      #expect(second.state == (isReset ? .pending : .cancelled))
      if isReset { outer.start() }
      mayEnd.signal()
      #expect(await eventually { runs.value == (isReset ? 2 : 1) })
      #expect(await eventually { task.state == (isReset ? .finished : .cancelled) })
      #expect(second.state == (isReset ? .finished : .cancelled))
      #expect(try await outer.retry().value.isFinished)
    }
  }

  /// A row of workflows, each in the one before.
  private func nest(_ depth: Int) throws -> [Workflow] {
    let all = (0..<depth).map { Workflow(name: "\($0)") }
    for (outer, inner) in zip(all, all.dropFirst()) {
      try outer.add(SubworkflowTask(subworkflow: inner))
    }
    return all
  }

  @Test("53. start, cancel and reset reach every workflow inside before they return")
  func atOnce() async throws {
    for depth in [2, 3, 5, 20] {
      let all = try nest(depth)
      let outer = all[0]
      try all[depth - 1].add(OpenTask(name: "open"))
      let quick = try all[depth - 1].add(counting("quick"))
      for _ in 0..<30 {
        outer.start()
        #expect(await eventually { quick.isFinished })
        outer.cancel()
        #expect(all.allSatisfy { $0.allTasks.allSatisfy { $0.isCancelled || $0.isFinished } })
        outer.reset()
        #expect(all.allSatisfy { $0.allTasks.allSatisfy { $0.state == .ready } })
      }
    }
  }

  @Test("53. a retry after a cancel is no retry lost, however deep the nest")
  func retriedDeep() async throws {
    for depth in [2, 3, 5, 10, 30] {
      let all = try nest(depth)
      try all[depth - 1].add(counting("leaf"))
      for round in 0..<60 {
        if round % 2 == 0 { _ = try await all[0].run() } else { all[0].start() }
        if round % 3 == 0 { all[0].reset() }
        all[0].cancel()
        let outcome = try await all[0].retry().value
        #expect(outcome.isFinished, "depth \(depth), round \(round): \(outcome)")
        all[0].reset()
      }
    }
  }

  @Test(
    "a subworkflow task that takes too long stops what goes on inside; the next attempt begins it anew"
  )
  func timeouts() async throws {
    let clock = ManualClock()
    let (outer, inner) = (Workflow(name: "outer", clock: clock), Workflow(name: "inner"))
    let runs = Counter()
    let stopped = Event()
    let slow = try inner.add(
      BlockWorkflowTask<Int>(name: "slow") { work in
        if runs.add() % 2 == 0 {
          work.finish(with: 1)
        } else {
          // (Kept by its own handler: it could still be ended.)
          work.onStop { if !work.isExecuting { stopped.signal() } }
        }
      })
    let task = try outer.add(SubworkflowTask(subworkflow: inner))
    task.timeout = .milliseconds(20)
    let run = outer.start()
    #expect(await eventually { runs.value == 1 && clock.sleeping == 1 })
    clock.advance(by: .milliseconds(20))
    let outcome = try await run.value
    #expect(task.isFailed && !outcome.isFinished)
    #expect(await stopped.opened())
    #expect(slow.isCancelled && inner.hasUnfinishedTasks)
    #expect(try await outer.retry().value.isFinished)
    #expect(await eventually { clock.sleeping == 0 })
    outer.reset()
    task.retryPolicy = TaskRetryPolicy(attempts: 2)
    let last = outer.start()
    #expect(await eventually { runs.value == 3 && clock.sleeping == 1 })
    clock.advance(by: .milliseconds(20))
    #expect(try await last.value.isFinished)
    #expect(runs.value == 4)
  }

  @Test("53. a run that begins while the input of the one before is made waits for that")
  func inputsInTurn() async throws {
    let (outer, inner) = (inlineWorkflow("outer"), inlineWorkflow("inner"))
    let (begun, mayEnd, done) = (Event(), Event(), Event())
    let (inputs, atWork) = (Counter(), Counter())
    try inner.add(counting("inside"))
    let task = try outer.add(
      SubworkflowTask<Int>(name: "sub", subworkflow: inner) { _ in
        atWork.add()
        if inputs.add() == 1 {
          begun.signal()
          mayEnd.wait()
        }
        atWork.add(-1)
      } output: {
        _ in
        1
      })
    Thread {
      outer.start()
      done.signal()
    }.start()
    #expect(await begun.opened())
    outer.reset()
    outer.start()
    #expect(task.state == .executing && inputs.value == 1)
    mayEnd.signal()
    #expect(await done.opened())
    #expect(await eventually { task.isFinished })
    #expect(inputs.value == 2 && atWork.highest == 1)
  }

  @Test("52. a result that cannot be made fails the task once")
  func outputOnce() throws {
    let (outer, inner) = (inlineWorkflow("outer"), inlineWorkflow("inner"))
    let outputs = Counter()
    let task = try outer.add(
      SubworkflowTask<Int>(name: "sub", subworkflow: inner) { _ in
        outputs.add()
        throw TestError.first
      })
    let last = try inner.add(OpenTask(name: "last"))
    let early = Early { outer.start() }
    inner.delegate = early
    inner.start()
    last.finish(with: 1)
    #expect(task.isFailed && outputs.value == 1)
    withExtendedLifetime(early) {}
  }

  @Test("55. two workflows put into each other by two threads at once: one of them is refused")
  func mutual() async throws {
    for round in 0..<300 {
      let (a, b) = (Workflow(name: "a"), Workflow(name: "b"))
      let gate = Event()
      let refusals = await withTaskGroup(of: Int.self) { group in
        for (outer, inner) in [(a, b), (b, a)] {
          group.addTask {
            let task = SubworkflowTask(subworkflow: inner)
            _ = await gate.opened()
            do { try outer.add(task) } catch { return 1 }
            return 0
          }
        }
        gate.signal()
        return await group.reduce(0, +)
      }
      #expect(refusals == 1 && a.allTasks.count + b.allTasks.count == 1, "round \(round)")
      let outcome = try await (a.allTasks.isEmpty ? b : a).run()
      #expect(outcome.isFinished)
    }
  }

  @Test("a refused task leaves no trace: the other way round is possible afterwards")
  func refusedNesting() throws {
    let (a, b) = (Workflow(name: "a"), Workflow(name: "b"))
    let stranger = OpenTask(name: "stranger")
    let task = SubworkflowTask(subworkflow: b)
    #expect(throws: WorkflowError.self) { try a.add(task, prerequisites: stranger) }
    try b.add(SubworkflowTask(subworkflow: a))
    #expect(throws: WorkflowError.self) { try a.add(task) }
    #expect(a.allTasks.isEmpty)
  }

  @Test("a workflow may be nested in one after the other has gone")
  func nestingEnds() throws {
    let a = Workflow(name: "a")
    do {
      let b = Workflow(name: "b")
      try b.add(SubworkflowTask(subworkflow: a))
      #expect(throws: WorkflowError.self) { try a.add(SubworkflowTask(subworkflow: b)) }
    }
    // (Memory is often used again at once: the new ones may look like the old.)
    for _ in 0..<100 { try a.add(SubworkflowTask(subworkflow: Workflow())) }
    #expect(a.allTasks.count == 100)
  }

  @Test("an inner workflow that is stuck: so is the outer one, until somebody ends the inner task")
  func stuckInside() async throws {
    let (outer, inner) = (Workflow(name: "outer"), Workflow(name: "inner"))
    let lost = try inner.add(BlockWorkflowTask<Int>(name: "lost") { _ in })
    let task = try outer.add(SubworkflowTask(name: "sub", subworkflow: inner))
    let after = try outer.add(counting("after"), prerequisites: task)
    let outcome = try await outer.run()
    guard case .stuck(let waiting) = outcome else {
      Issue.record("\(outcome)")
      return
    }
    #expect(Set(waiting.keys) == [task, after])
    #expect(task.state == .executing && lost.state == .executing)
    lost.finish(with: 1)
    #expect(await eventually { task.isFinished })
    #expect(try await outer.run().isFinished)
    #expect(after.isFinished)
  }

  @Test(
    "a subworkflow task that is cancelled, reset and retried from many threads can be brought to its end"
  )
  func restlessSubworkflow() async throws {
    for round in 0..<200 {
      let wrong = try await RestlessSubworkflow.play(round)
      #expect(wrong == nil)
    }
  }

  @Test(
    "53. what is done inside after a reset or a cancellation has returned is not undone",
    arguments: [false, true])
  func stopsAreDeliveredOnce(isReset: Bool) async throws {
    let center = NotificationCenter()
    let inner = Workflow(name: "inner", context: .inline, notificationCenter: center)
    let condition = try inner.add(
      ExternalConditionTask<Int>(name: "condition", waitsForFulfillment: true))
    let other = try inner.add(OpenTask(name: "other"))
    let outer = inlineWorkflow("outer")
    let task = try outer.add(SubworkflowTask(name: "sub", subworkflow: inner))
    let (entered, mayGoOn, isDone) = (Event(), Event(), Event())
    let observer = center.addObserver(forName: .workflowWillStart, object: inner, queue: nil) { _ in
      entered.signal()
      mayGoOn.wait()
    }
    defer { center.removeObserver(observer) }
    Thread {
      outer.start()
      isDone.signal()
    }.start()
    #expect(await entered.opened())
    if isReset {
      task.reset()
      condition.fulfill(with: 7)
      #expect(condition.isFinished)
    } else {
      task.cancel()
      #expect(condition.isCancelled && other.isCancelled)
      other.retry()
      #expect(other.isExecuting)
    }
    mayGoOn.signal()
    #expect(await isDone.opened())
    #expect(task.state == (isReset ? .ready : .cancelled))
    #expect(condition.state == (isReset ? .finished : .cancelled))
    #expect(other.state == (isReset ? .ready : .executing))
    outer.retry()
    outer.start()
    if !isReset { condition.fulfill(with: 7) }
    other.finish(with: 1)
    #expect(await eventually { task.isFinished })
  }

  @Test("53. a retry of the task while it starts the inner workflow is not lost")
  func retriedWhileStarting() async throws {
    let center = NotificationCenter()
    let inner = Workflow(name: "inner", context: .inline, notificationCenter: center)
    let only = try inner.add(OpenTask(name: "only"))
    let outer = inlineWorkflow("outer")
    let task = try outer.add(SubworkflowTask(name: "sub", subworkflow: inner))
    let (entered, mayGoOn) = (Event(), Event())
    let starts = Counter()
    let observer = center.addObserver(forName: .workflowWillStart, object: inner, queue: nil) { _ in
      guard starts.add() == 1 else { return }
      entered.signal()
      mayGoOn.wait()
    }
    defer { center.removeObserver(observer) }
    Thread { outer.start() }.start()
    #expect(await entered.opened())
    task.cancel()
    task.retry()
    #expect(task.isExecuting && !only.isExecuting)
    mayGoOn.signal()
    // A task that ends between its start and its work runs no work.
    #expect(await eventually { only.isExecuting && only.runs.value == 1 })
    only.finish(with: 1)
    #expect(await eventually { task.isFinished })
    #expect(only.runs.value == 1)
  }

  @Test("55. an empty inner workflow tells its delegate that it has finished")
  func emptyIsTold() throws {
    let (outer, inner) = (inlineWorkflow("outer"), inlineWorkflow("inner"))
    let listener = Listener()
    inner.delegate = listener
    let task = try outer.add(SubworkflowTask(subworkflow: inner))
    outer.start()
    #expect(task.isFinished && listener.log.entries == ["inner finished"])
    outer.reset()
    outer.start()
    #expect(task.isFinished && listener.log.count == 2)
  }

  @Test("an outcome names the inner tasks through which a failure came")
  func failurePath() async throws {
    let innermost = inlineWorkflow("innermost")
    let blur = try innermost.add(failing("blur image"))
    let middle = inlineWorkflow("middle")
    let nested = try middle.add(SubworkflowTask(name: "nested", subworkflow: innermost))
    let outer = inlineWorkflow("outer")
    let task = try outer.add(SubworkflowTask(name: "filter", subworkflow: middle))
    let outcome = try await outer.run()
    #expect(outcome.errors[task] as? TestError == .first)
    #expect("\(outcome)" == "failed: filter > nested > \"blur image\" (first)")
    #expect(task.failurePath == [task, nested, blur] && blur.failurePath == [blur])
    outer.reset()
    #expect(task.failurePath.isEmpty)
  }
}
