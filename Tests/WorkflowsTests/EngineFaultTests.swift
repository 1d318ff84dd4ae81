import Foundation
import Futures
import FuturesTestSupport
import TestSupport
import Testing
import Workflows

/// A context that drops what it is given.
private final class DroppingContext: ExecutionContext {
  func execute(_ operation: Operation) {}
}

/// A context without an identity that starts what it is given on the spot.
private struct OnTheSpot: ExecutionContext {
  var tracked: Tracked?
  func execute(_ operation: Operation) { operation.start() }
}

/// The same with an identity.
private final class OnTheSpotObject: ExecutionContext {
  private let tracked: Tracked
  init(_ tracked: Tracked) { self.tracked = tracked }
  func execute(_ operation: Operation) { operation.start() }
}

private final class Kept: Sendable {
  let works = Box<[TaskWork<Int>]>([])
  /// A task whose run is kept, and goes on until the test ends it.
  func task(_ name: String) -> BlockWorkflowTask<Int> {
    BlockWorkflowTask<Int>(name: name) { [works] run in works.value.append(run) }
  }
  func end(_ name: String) {
    let work = works.value.first { $0.name == name }
    works.value.removeAll { $0.name == name }
    work?.finish(with: 1)
  }
}

/// Tells of the tasks of a workflow by closures.
private final class Ears: WorkflowDelegate {
  let finished: @Sendable (AnyWorkflowTask) -> Void
  let cancelled: @Sendable (AnyWorkflowTask) -> Void
  init(
    finished: @escaping @Sendable (AnyWorkflowTask) -> Void = { _ in },
    cancelled: @escaping @Sendable (AnyWorkflowTask) -> Void = { _ in }
  ) {
    self.finished = finished
    self.cancelled = cancelled
  }
  func workflow(_ workflow: Workflow, taskDidFinish task: AnyWorkflowTask) { finished(task) }
  func workflow(_ workflow: Workflow, taskDidCancel task: AnyWorkflowTask) { cancelled(task) }
}

@Suite("Faults that were found in the engine of workflows", .timeLimit(.minutes(5)), .oneAtATime)
struct WorkflowEngineFaultTests {
  // MARK: Resets inside

  @Test("a task inside that is reset after the end: the task around it runs again, and others")
  func resetInsideIsPassedOn() async throws {
    let (inner, outer) = (inlineWorkflow("inner"), inlineWorkflow())
    let runs = Counter()
    let x = try inner.add("x") { runs.add(1) }
    let sub = try outer.add(
      SubworkflowTask(name: "sub", subworkflow: inner) { _ in (x.result ?? 0) * 10 })
    let behind = try outer.add("behind", after: sub) { $0 + 1 }
    #expect(try await outer.run().isFinished)
    #expect(behind.result == 11)
    x.reset()
    #expect(x.state == .ready && sub.state == .ready && behind.state == .pending)
    #expect(outer.hasUnfinishedTasks)
    #expect(try await outer.run().isFinished)
    #expect(sub.result == 20 && behind.result == 21)
  }

  @Test("a run that is stuck because a task inside was reset alone goes on when started")
  func startReachesWhatIsStuckInside() async throws {
    let (inner, outer) = (inlineWorkflow("inner"), inlineWorkflow())
    let condition = try inner.add(
      ExternalConditionTask<Int>(name: "condition", waitsForFulfillment: true))
    let sub = try outer.add(SubworkflowTask(name: "sub", subworkflow: inner))
    let first = outer.start()
    #expect(condition.isExecuting)
    condition.reset()
    guard case .stuck = try await first.value else { Issue.record("not stuck"); return }
    let second = outer.start()
    #expect(condition.isExecuting)
    condition.fulfill(with: 1)
    #expect(try await second.value.isFinished)
    #expect(sub.isFinished)
  }

  @Test("an inner workflow that is stuck and is started from outside announces that it starts")
  func startOfStuckIsAnnounced() throws {
    let center = NotificationCenter()
    let inner = Workflow(name: "inner", context: .inline, notificationCenter: center)
    let outer = inlineWorkflow()
    let condition = try inner.add(
      ExternalConditionTask<Int>(name: "condition", waitsForFulfillment: true))
    try outer.add(SubworkflowTask(name: "sub", subworkflow: inner))
    let postings = Postings(center, of: inner)
    outer.start()
    condition.reset()
    outer.start()
    condition.fulfill(with: 1)
    #expect(postings.log.entries == ["willStart inner", "willStart inner", "didFinish inner"])
  }

  @Test("a failure inside is retried before the task around has heard, others stay cancelled")
  func failureRetriedBeforeItIsHeard() async throws {
    let (inner, outer) = (inlineWorkflow("inner"), inlineWorkflow())
    inner.failFast = true
    let bad = try inner.add(OpenTask(name: "bad"))
    let other = try inner.add(OpenTask(name: "other"))
    let sub = try outer.add(SubworkflowTask(name: "sub", subworkflow: inner))
    // The policy is asked before the failure is passed on.
    sub.retryPolicy = RetryPolicy(attempts: 3) { _ in
      bad.retry()
      return true
    }
    let run = outer.start()
    bad.fail(with: TestError.first)
    #expect(bad.isExecuting && other.isCancelled)
    bad.finish(with: 1)
    let outcome = try await run.value
    #expect(outcome == .cancelled([sub]))
    #expect(outer.retry().isSettled == false && other.isExecuting)
    other.finish(with: 1)
    #expect(sub.isFinished)
  }

  // MARK: News

  /// What a reader of a stream gets who leaves at the end of the run.
  private func upToEndOfRun(_ events: AsyncStream<WorkflowEvent>) async -> [WorkflowEvent] {
    var all: [WorkflowEvent] = []
    for await event in events {
      if case .runDidEnd = event { break }
      all.append(event)
    }
    return all
  }

  @Test("a cancelled run ends for readers when the cancellations inside have been told")
  func cancellationsInsideComeFirst() async throws {
    let (inner, middle, outer) = (Workflow(name: "in"), Workflow(name: "mid"), Workflow())
    let open = try inner.add(OpenTask(name: "open"))
    try middle.add(SubworkflowTask(name: "inner", subworkflow: inner))
    let middleTask = try outer.add(SubworkflowTask(name: "middle", subworkflow: middle))
    let events = outer.events
    let run = outer.start()
    #expect(await eventually { open.isExecuting })
    outer.cancel()
    let outcome = try await run.value
    #expect(outcome == .cancelled([middleTask]))
    #expect(await upToEndOfRun(events).contains(.taskDidCancel(open)))
  }

  @Test("a run ends for readers when all that has finished inside has been told, 300 times")
  func endsInsideComeFirst() async throws {
    for _ in 0..<300 {
      let (inner, middle, outer) = (Workflow(name: "in"), Workflow(name: "mid"), Workflow())
      for number in 0..<4 { try inner.add("\(number)", on: .global()) { number } }
      try middle.add(SubworkflowTask(name: "inner", subworkflow: inner))
      try outer.add(SubworkflowTask(name: "middle", subworkflow: middle))
      let events = outer.events
      #expect(try await outer.run().isFinished)
      let finished = await upToEndOfRun(events).filter {
        if case .taskDidFinish = $0 { true } else { false }
      }
      #expect(finished.count == 6)
      if finished.count != 6 { break }
    }
  }

  // MARK: Room

  @Test("a run that its block has given up takes no room: the next task begins")
  func abandonedRunTakesNoRoom() async throws {
    let workflow = Workflow(name: "test")
    workflow.maxConcurrentTaskCount = 1
    let given = try workflow.add(BlockWorkflowTask<Int>(name: "given up") { _ in })
    let next = try workflow.add(counting("next"))
    guard case .stuck(let waiting) = try await workflow.run() else {
      Issue.record("not stuck")
      return
    }
    #expect(next.isFinished && Array(waiting.keys) == [given])
  }

  @Test("room that was offered to a worker that its context drops goes to the next pool")
  func droppedWorkerPassesRoomOn() async throws {
    let (workflow, kept) = (Workflow(name: "test"), Kept())
    workflow.maxConcurrentTaskCount = 1
    let a = try workflow.add(kept.task("a"))
    let dropped = try workflow.add(counting("dropped"))
    dropped.setContext(DroppingContext())
    let b = try workflow.add(counting("b"))
    b.operationQueue = OperationQueue()
    a.start()
    #expect(await eventually { a.isExecuting && !kept.works.value.isEmpty })
    dropped.start()
    let outcome = workflow.start()
    kept.end("a")
    #expect(try await outcome.value == .cancelled([dropped]))
    #expect(b.isFinished)
  }

  @Test("room that a suspended queue does not take is offered to other queues")
  func suspendedQueueHoldsNoRoom() async throws {
    let (workflow, kept) = (Workflow(name: "test"), Kept())
    workflow.maxConcurrentTaskCount = 1
    let (suspended, free) = (OperationQueue(), OperationQueue())
    suspended.isSuspended = true
    let tasks = [
      try workflow.add(kept.task("a")), try workflow.add(counting("b")),
      try workflow.add(counting("c")),
    ]
    tasks[1].operationQueue = suspended
    tasks[2].operationQueue = free
    tasks[0].start()
    #expect(await eventually { !kept.works.value.isEmpty })
    tasks[1].start()
    tasks[2].start()
    kept.end("a")
    #expect(await eventually { tasks[2].isFinished })
    suspended.isSuspended = false
    #expect(await eventually { tasks[1].isFinished })
  }

  @Test("a permit that a suspended queue does not take is offered to other tasks of the group")
  func suspendedQueueHoldsNoPermit() async throws {
    let (workflow, kept) = (Workflow(name: "test"), Kept())
    workflow.limit("one", to: 1)
    let suspended = OperationQueue()
    let tasks = [
      try workflow.add(kept.task("a")), try workflow.add(counting("b")),
      try workflow.add(counting("c")), try workflow.add(counting("d")),
    ]
    for task in tasks { task.limitName = "one" }
    for task in tasks[1...2] { task.operationQueue = suspended }
    tasks[0].start()
    #expect(await eventually { !kept.works.value.isEmpty })
    for task in tasks[1...] { task.start() }
    // (They come to the limit, and get in its line.)
    #expect(await eventually { suspended.operationCount == 0 })
    suspended.isSuspended = true
    kept.end("a")
    #expect(await eventually { tasks[3].isFinished })
    tasks[1].cancel()
    suspended.isSuspended = false
    #expect(await eventually { tasks[2].isFinished })
    #expect(tasks[1].isCancelled)
  }

  // MARK: Places to run

  @Test("a task that was reset and given another queue runs there, whatever became of the first")
  func movedToAnotherQueue() async throws {
    let workflow = Workflow(name: "test")
    let (first, second) = (OperationQueue(), OperationQueue())
    first.isSuspended = true
    let place = Box<OperationQueue?>(nil)
    let task = try workflow.add(
      BlockWorkflowTask<Int>(name: "task") { run in
        place.value = OperationQueue.current
        run.finish(with: 1)
      })
    task.operationQueue = first
    task.start()
    task.reset()
    task.operationQueue = second
    task.start()
    #expect(await eventually { task.isFinished })
    #expect(place.value === second)
    first.isSuspended = false
  }

  @Test("tasks in a row whose contexts are values and start them on the spot need no stack")
  func valuesOnTheSpot() async throws {
    let isFinished = try await SmallStackThread.running { () -> Bool in
      let workflow = inlineWorkflow()
      var last = try workflow.add("0") { 0 }
      for number in 1..<10_000 {
        last = try workflow.add("\(number)", after: last, on: OnTheSpot()) { $0 + 1 }
      }
      workflow.start()
      return last.result == 9_999
    }
    #expect(isFinished)
  }

  @Test("a context that holds a lock while it starts a worker in the call is not asked again there")
  func contextWithLock() async throws {
    let context = LockingContext()
    let (first, second) = (
      Workflow(name: "first", context: context), Workflow(name: "second", context: context)
    )
    for name in ["x", "y"] { try second.add(counting(name)) }
    let a = try first.add(
      BlockWorkflowTask<Int>(name: "a") { run in
        second.start()
        run.finish(with: 1)
      })
    try first.add(counting("b"))
    for name in ["c", "d"] { try first.add(counting(name), prerequisites: a) }
    #expect(try await first.run().isFinished)
    #expect(await eventually { !second.hasUnfinishedTasks })
    #expect(context.refused.value == 0)
  }

  @Test("a task waits for another workflow, and one context starts both in the call: both finish")
  func waitingForTheSameContext() async throws {
    let (first, second) = (
      Workflow(name: "first", context: OnTheSpot()), Workflow(name: "second", context: OnTheSpot())
    )
    for name in ["x", "y"] { try second.add(counting(name)) }
    let task = try first.add(
      BlockWorkflowTask<Bool>(name: "waits") { run in
        run.end(with: Result { try second.start().wait().isFinished })
      })
    try first.add(counting("beside"))
    let done = Event()
    Thread {
      first.start()
      done.signal()
    }.start()
    #expect(await done.opened())
    #expect(task.result == true && !first.hasUnfinishedTasks)
  }

  @Test("a context starts in the call, in a closure: what becomes ready elsewhere does not wait")
  func readyOnAnotherThread() async throws {
    let workflow = Workflow(context: OnTheSpot())
    for name in ["a", "b"] { try workflow.add(counting(name)) }
    let condition = ExternalConditionTask<Int>(name: "condition")
    try workflow.add(condition)
    let (started, ran) = (Event(), Event())
    try workflow.add("last", after: condition) { _ in ran.signal() }
    let closure = Promises.run(on: .global()) {
      workflow.start()
      started.signal()
      return ran.wait()
    }
    #expect(await started.opened())
    Thread { condition.fulfill(with: 1) }.start()
    #expect(try await closure.value)
  }

  /// Starts a workflow on a thread of its own; returns whether the call has returned.
  private func starts(_ workflow: Workflow) async -> Bool {
    let done = Event()
    Thread {
      workflow.start()
      done.signal()
    }.start()
    return await done.opened()
  }

  @Test("a task that its context starts in the call waits for one in a queue: that one runs")
  func waitingForTaskInQueue() async throws {
    let workflow = Workflow(name: "test")
    let ran = Event()
    let waiting = try workflow.add("waiting", on: OnTheSpot()) { ran.wait() }
    try workflow.add("in the queue") { ran.signal() }
    #expect(await starts(workflow))
    #expect(waiting.result == true)
  }

  @Test("a task that its context starts in the call waits for the future of another: it settles")
  func waitingForFutureOfPrerequisite() async throws {
    let workflow = Workflow(name: "test")
    let first = try workflow.add(OpenTask(name: "first"))
    let settled = Event()
    first.future.onSuccess(on: .inline) { _ in settled.signal() }
    let second = try workflow.add("second", after: first, on: OnTheSpot()) { _ in settled.wait() }
    workflow.start()
    #expect(await eventually { first.isExecuting })
    let done = Event()
    Thread {
      first.finish(with: 1)
      done.signal()
    }.start()
    #expect(await done.opened())
    #expect(second.result == true)
  }

  @Test("a task that its context starts in the call takes too long for the run: the run ends")
  func timeoutOfTaskOnTheSpot() async throws {
    let clock = ManualClock()
    let workflow = Workflow(name: "test", clock: clock)
    workflow.timeout = .seconds(60)
    let hasStopped = Box(false)
    let task = try workflow.add(
      BlockWorkflowTask<Int>(name: "slow") { run in
        let stopped = Event()
        run.onStop { stopped.signal() }
        guard eventuallyBlocking({ clock.sleeping == 1 }) else { return }
        clock.advance(by: .seconds(60))
        hasStopped.value = stopped.wait()
      })
    task.setContext(OnTheSpot())
    #expect(await starts(workflow))
    #expect(hasStopped.value && task.isFailed)
  }

  @Test("a context that drops its workers, and a row of clean-up, need no stack")
  func droppedCleanUp() async throws {
    let isCancelled = try await SmallStackThread.running { () -> Bool in
      let workflow = Workflow(name: "test", context: DroppingContext())
      var last: WorkflowTask<Int> = try workflow.add(counting("0"))
      for number in 1..<10_000 {
        last = try workflow.add(
          counting("\(number)"), prerequisites: [last], when: .whenAllDone)
      }
      workflow.start()
      return last.isCancelled
    }
    #expect(isCancelled)
  }

  @Test("inline workflows that wait in the line of one named limit need no stack")
  func inlineWorkflowsInLine() async throws {
    let outcome = try await SmallStackThread.running {
      let (outer, kept) = (inlineWorkflow(), Kept())
      outer.limit("one", to: 1)
      try outer.add(kept.task("first")).limitName = "one"
      for number in 0..<10_000 {
        let inner = inlineWorkflow("\(number)")
        try inner.add(counting("in \(number)")).limitName = "one"
        try outer.add(SubworkflowTask(subworkflow: inner))
      }
      let outcome = outer.start()
      kept.end("first")
      return outcome
    }
    #expect(try await outcome.value == .finished)
  }

  @Test("contexts that a task has left are released, whether or not it has run there")
  func leftContextsAreReleased() throws {
    let (workflow, tracker) = (inlineWorkflow(), LifetimeTracker())
    let (task, runs) = (try workflow.add(OpenTask(name: "task")), Counter())
    for number in 0..<100 {
      if number.isMultiple(of: 2) {
        task.setContext(OnTheSpotObject(tracker.make()))
      } else {
        task.setContext(OnTheSpot(tracked: tracker.make()))
      }
      if number % 4 < 2 { continue }
      workflow.start()
      task.finish(with: runs.add())
      task.reset()
    }
    #expect(tracker.alive == 1 && task.runs.value == 50)
    task.operationQueue = nil
    #expect(tracker.alive == 0)
  }

  @Test("a context that a task has left is released when it lets go of its last worker")
  func leftContextWithWorker() throws {
    let (workflow, context) = (inlineWorkflow(), ManualContext())
    let (task, other) = (
      try workflow.add(counting("task")), try workflow.add(counting("other"))
    )
    task.setContext(context)
    workflow.start()
    task.reset()
    // (Another task in the place of the context would be cancelled with the worker.)
    task.setContext(OnTheSpot())
    other.reset()
    context.runAll()
    workflow.start()
    #expect(task.isFinished && other.isFinished)
  }

  @Test("a block inside waits for another workflow with one inside that it has started itself")
  func waitingInside() async throws {
    let (outer, inner) = (inlineWorkflow("outer"), inlineWorkflow("inner"))
    let (outer2, inner2) = (inlineWorkflow("outer 2"), inlineWorkflow("inner 2"))
    try inner2.add(counting("block"))
    try outer2.add(SubworkflowTask(name: "sub 2", subworkflow: inner2))
    try inner.add(
      BlockWorkflowTask<Bool>(name: "waits") { run in
        run.end(with: Result { try outer2.start().wait().isFinished })
      })
    try outer.add(SubworkflowTask(name: "sub", subworkflow: inner))
    let done = Event()
    Thread {
      outer.start()
      done.signal()
    }.start()
    #expect(await done.opened())
    #expect(!outer.hasUnfinishedTasks && !outer2.hasUnfinishedTasks)
  }

  @Test("an input may wait for another workflow that contains one")
  func waitingInput() async throws {
    let (outer, inner) = (Workflow(name: "outer"), Workflow(name: "inner"))
    let (outer2, inner2) = (inlineWorkflow("outer 2"), inlineWorkflow("inner 2"))
    try inner2.add(counting("block"))
    try outer2.add(SubworkflowTask(name: "sub 2", subworkflow: inner2))
    try inner.add(counting("inside"))
    try outer.add(
      SubworkflowTask(
        name: "sub", subworkflow: inner, input: { _ in _ = try outer2.start().wait() }
      ))
    #expect(try await outer.run().isFinished)
  }

  @Test("a delegate of an inner workflow that takes its time holds up no news of the outer one")
  func tellingSideBySide() async throws {
    let (outer, inner) = (Workflow(name: "outer"), Workflow(name: "inner"))
    let condition = try inner.add(
      ExternalConditionTask<Int>(name: "condition", waitsForFulfillment: true))
    try outer.add(SubworkflowTask(name: "sub", subworkflow: inner))
    let (kept, mayGoOn, entered) = (Kept(), Event(), Event())
    let other = try outer.add(kept.task("other"))
    let events = outer.events
    let ears = Ears(cancelled: { _ in
      entered.signal()
      mayGoOn.wait()
    })
    inner.delegate = ears
    let outcome = outer.start()
    #expect(await eventually { condition.isExecuting && !kept.works.value.isEmpty })
    Thread { condition.cancel() }.start()
    #expect(await entered.opened())
    let future = other.future
    kept.end("other")
    #expect(try await future.value == 1)
    mayGoOn.signal()
    _ = try await outcome.value
    withExtendedLifetime((events, ears)) {}
  }

  // MARK: Ends

  @Test("a task that was cancelled before it came into a running inner workflow ends the outer run")
  func cancelledBeforeAdded() async throws {
    let (outer, inner, kept) = (Workflow(name: "outer"), Workflow(name: "inner"), Kept())
    try inner.add(kept.task("a"))
    let sub = try outer.add(SubworkflowTask(name: "sub", subworkflow: inner))
    let outcome = outer.start()
    #expect(await eventually { !kept.works.value.isEmpty })
    let late = counting("late")
    late.cancel()
    try inner.add(late)
    kept.end("a")
    #expect(try await outcome.value == .cancelled([sub]))
  }

  @Test("an output that resets the inner workflow does not make the outer one stuck")
  func outputThatResets() async throws {
    let (outer, inner) = (Workflow(name: "outer"), Workflow(name: "inner"))
    try inner.add(counting("a"))
    let sub = try outer.add(
      SubworkflowTask<Int>(name: "sub", subworkflow: inner) { workflow in
        workflow.reset()
        return 1
      })
    let after = try outer.add(counting("after"), prerequisites: sub)
    #expect(try await outer.run().isFinished)
    #expect(sub.result == 1 && after.isFinished)
  }

  @Test("a stuck inner workflow whose task has a time limit makes that fail, and not the run stuck")
  func stuckWithAlarm() async throws {
    let (outer, inner) = (Workflow(name: "outer"), Workflow(name: "inner"))
    try inner.add(BlockWorkflowTask<Int>(name: "given up") { _ in })
    let sub = try outer.add(SubworkflowTask(name: "sub", subworkflow: inner))
    sub.timeout = .milliseconds(20)
    #expect(try await outer.run().errors.keys.map(\.name) == ["sub"])
  }

  @Test("the future of a task that is asked for in a delegate is that of the run that goes on")
  func futureOfTheNextRun() throws {
    let workflow = inlineWorkflow()
    let task = try workflow.add(OpenTask(name: "task"))
    let futures = Box<[Future<Int>]>([])
    let ears = Ears(
      finished: { _ in
        task.reset()
        futures.value.append(task.future)
      },
      cancelled: { _ in
        workflow.retry()
        futures.value.append(task.future)
      })
    workflow.delegate = ears
    workflow.start()
    task.cancel()
    #expect(task.isExecuting && !futures.value[0].isSettled)
    task.finish(with: 1)
    #expect(futures.value[0].result?.successValue == 1)
    #expect(task.state == .ready && !futures.value[1].isSettled)
    task.start()
    task.finish(with: 2)
    #expect(futures.value[1].result?.successValue == 2)
    withExtendedLifetime(ears) {}
  }

  @Test("in the input of a later run the task is in that run")
  func inputOfALaterRun() async throws {
    let (outer, inner) = (Workflow(name: "outer"), Workflow(name: "inner"))
    try inner.add(counting("inside"))
    let (begun, mayEnd, inputs, isRight) = (Event(), Event(), Counter(), Box(false))
    let sub = SubworkflowTask(
      name: "sub", subworkflow: inner,
      input: { run in
        if inputs.add() == 1 {
          begun.signal()
          mayEnd.wait()
        } else {
          isRight.value = run.isExecuting && run.task.isExecuting
        }
      })
    try outer.add(sub)
    outer.start()
    #expect(await begun.opened())
    sub.cancel()
    let outcome = outer.retry()
    mayEnd.signal()
    #expect(try await outcome.value.isFinished && isRight.value)
  }

  @Test("a progress that two threads ask for first is complete for both")
  func progressIsComplete() throws {
    for _ in 0..<50 {
      let workflow = inlineWorkflow()
      for i in 0..<200 { try workflow.add(counting("\(i)")) }
      let wrong = Counter()
      DispatchQueue.concurrentPerform(iterations: 2) { _ in
        if workflow.progress.totalUnitCount != 200 { wrong.add() }
      }
      #expect(wrong.value == 0)
    }
  }

  // MARK: Lifetime

  @Test("a workflow that is gone with a run that was given up keeps nothing of what stops it")
  func stopsAreReleased() async throws {
    let stops = Counter()
    func play() async throws -> WeakReference<AnyWorkflowTask> {
      let workflow = Workflow(name: "test")
      let task = try workflow.add(
        BlockWorkflowTask<Int>(name: "given up") { run in
          let task = run.task
          run.onStop {
            _ = task.name
            stops.add()
          }
        })
      _ = try await workflow.run()
      return WeakReference(task)
    }
    let task = try await play()
    #expect(await eventually { task.value == nil })
    #expect(stops.value == 1)
  }

  @Test("a subworkflow task whose input captures the task itself is released with its workflow")
  func capturedByItsInput() throws {
    func play() throws -> WeakReference<AnyWorkflowTask> {
      let (outer, inner) = (inlineWorkflow("outer"), inlineWorkflow("inner"))
      let own = Box<AnyWorkflowTask?>(nil)
      let task = SubworkflowTask(name: "sub", subworkflow: inner, input: { _ in _ = own.value })
      own.value = task
      try outer.add(task)
      outer.start()
      return WeakReference(task)
    }
    #expect(try play().value == nil)
  }
}

private final class WeakReference<Object: AnyObject>: @unchecked Sendable {
  // Sendable: never changes, except that it becomes nil, which is atomic.
  private(set) weak var value: Object?
  init(_ value: Object) { self.value = value }
}
