import Foundation
import Futures
import OperationBridge
import TestSupport
import Testing
import TypedTasks

@Suite("What a reading about slots and threads found", .timeLimit(.minutes(5)), .oneAtATime)
struct FindingsOfSlotReadingTests {
  // MARK: Races

  @Test("The only thread runs a task behind the loser of a race: the race ends with its winner")
  func loserBehindAnOperator() async {
    let serial = TaskQueue(underlyingQueue: DispatchQueue(label: "serial"))
    let (started, go) = (Event(), Event())
    let slow = Sample<Int> { _, finish in
      started.signal()
      go.wait()
      finish(.success(2))
    }
    let winner = Manual<Int>()
    TaskQueue().addTask(winner)
    let race = slow.map { $0 }.filter { _ in true }.firstOf(winner)
    serial.addTask(race)
    #expect(await started.opened())
    #expect(await winner.started.opened())
    winner.finish(with: .success(1))
    #expect(await eventually { race.isFinished })
    #expect(race.success == 1)
    go.signal()
    await serial.finished()
  }

  @Test("The winner of a race in a suspended queue is known: the race ends")
  func raceInASuspendedQueue() async {
    let queue = TaskQueue(startSuspended: true)
    let ready: ProducerTask<Int, TestError> = Tasks.just(1)
    let race = ready.firstOf(succeeding(2))
    queue.addTask(race)
    #expect(await eventually { race.isFinished })
    #expect(race.success == 1)
    queue.isSuspended = false
    await queue.finished()
  }

  // MARK: Conditions

  @Test("An async condition reports progress: the progress of its task stays as it was")
  func conditionReports() async {
    let (queue, reported) = (TaskQueue(), Event())
    let answer = Promises.make(promising: Bool.self)
    let task = BlockProducerTask<Int, Never> { _ in 1 }
    task.addCondition(
      BlockCondition { _ async throws -> Bool in
        Promises.report(completed: 1, of: 2)
        reported.signal()
        return try await answer.value
      })
    queue.addTask(task)
    #expect(await reported.opened())
    #expect(task.currentProgress.fractionCompleted == 0)
    answer.succeed(with: true)
    #expect(await task.outcome() == .success)
  }

  @Test("A queue has refused a task: the task keeps no condition that is added afterwards")
  func conditionAfterARefusal() async throws {
    let queue = TaskQueue()
    _ = try await queue.shutDown(within: .seconds(1)).value
    let task = BlockProducerTask<Int, Never> { _ in 1 }
    queue.addTask(task)
    #expect(await task.outcome() == .otherInternal)
    task.addCondition(Conditions.Empty())
    #expect(task.conditions.isEmpty)
  }

  // MARK: Groups

  @Test("1,000 groups need the only slot, and their members a task added last: all end at once")
  func groupsGiveTheSlotBack() async {
    let queue = TaskQueue(maxConcurrentTaskCount: 1)
    let late = EmptyTask()
    for _ in 0..<1_000 {
      queue.addTask(NonFailGroupTask(tasks: [EmptyTask().addDependency(late)]))
    }
    queue.addTask(late)
    #expect(await late.outcome() == .success)
    await queue.finished()
  }

  @Test("1,000 groups need the only slot, and a flatMap in each a task that waits: all end at once")
  func groupsOfOperatorsGiveTheSlotBack() async {
    // Suspended: a group that begins before the task is in the queue would take it inside.
    let queue = TaskQueue(maxConcurrentTaskCount: 1, startSuspended: true)
    let late = NonFailBlockProducerTask<Int> { _ in 1 }
    for _ in 0..<1_000 {
      queue.addTask(NonFailGroupTask(tasks: [succeeding(1).flatMap { _ in late }]))
    }
    queue.addTask(late)
    queue.isSuspended = false
    #expect(await late.outcome() == .success)
    await queue.finished()
  }

  // MARK: Barriers

  @Test("100 queues run async closures as barriers, which wait: no thread is blocked")
  func barriersBlockNoThread() async throws {
    let gate = Promises.make(promising: Int.self)
    let begun = (0..<100).map { _ in Event() }
    let futures = begun.map { begun in
      TaskQueue().run(barrier: true) {
        begun.signal()
        return try await gate.value
      }
    }
    for begun in begun { #expect(await begun.opened()) }
    gate.succeed(with: 1)
    for future in futures { #expect(try await future.value == 1) }
  }

  @Test("A barrier of an async closure: what is behind it waits until the closure has returned")
  func asyncBarrierHoldsBack() async throws {
    let (queue, log, begun) = (TaskQueue(), Log<String>(), Event())
    let gate = Promises.make(promising: Void.self)
    let barrier = queue.run(barrier: true) {
      log.append("begins")
      begun.signal()
      try await gate.value
      log.append("ends")
    }
    let behind = queue.run { log.append("behind") }
    #expect(await begun.opened())
    gate.succeed()
    try await barrier.value
    try await behind.value
    #expect(log.entries == ["begins", "ends", "behind"])
  }

  @Test("A group is cancelled before it begins: futures of barriers in it are cancelled")
  func barriersOfAGroupThatNeverBegins() async {
    let group = NonFailGroupTask(tasks: [EmptyTask()])
    let block = group.innerQueue.run(barrier: true) { 1 }
    let closure = group.innerQueue.run(barrier: true) { () async in 2 }
    group.cancel()
    _ = await (block.completion, closure.completion)
    #expect(block.isCancelled)
    #expect(closure.isCancelled)
  }

  @Test("A group is cancelled before it begins: no closure that waits in its queue runs")
  func closuresOfAGroupThatNeverBegins() async {
    for _ in 0..<200 {
      let group = NonFailGroupTask(tasks: [EmptyTask()])
      let closures = (0..<4).map { number in group.innerQueue.run { number } }
      group.cancel()
      for closure in closures {
        _ = await closure.completion
        #expect(closure.isCancelled)
      }
    }
  }

  @Test("Futures behind a barrier are cancelled: the queue keeps nothing of them")
  func cancelledBehindABarrier() async {
    let (queue, first) = (TaskQueue(), Manual<Int>())
    queue.addTask(first)
    queue.addBarrierBlock {}
    let block = queue.run { 1 }
    let closure = queue.run { () async in 2 }
    let promise = Promises.makeBlocking(in: queue, promising: Int.self, on: .inline) {
      _ in
    }
    let link = Promises.makeSucceeded(with: 1).mapToValue(on: queue) { $0 }
    #expect(queue.unfinishedOperations.count == 6)
    for future in [block, closure, promise, link] { future.cancel() }
    #expect(queue.unfinishedOperations.count == 2)
    first.finish(with: .success(1))
    await queue.finished()
  }

  enum End: CaseIterable { case success, cancellation, release }

  @Test(
    "A promise that belongs to the queue ends behind a barrier: the queue becomes idle",
    arguments: End.allCases, [1, 40])
  func memberEndsBehindABarrier(_ end: End, count: Int) async throws {
    let (queue, first) = (TaskQueue(), Manual<Int>())
    queue.addTask(first)
    queue.addBarrierBlock {}
    var promises = (0..<count).map { _ in Promise<Int>() }
    for promise in promises { try queue.addFuture(promise) }
    let after = queue.run(after: promises) { 1 }
    switch end {
    case .success: for promise in promises { promise.succeed(with: 1) }
    case .cancellation: for promise in promises { promise.cancel() }
    case .release: promises = []
    }
    first.finish(with: .success(1))
    await queue.finished()
    #expect(after.isSettled)
    _ = try? await queue.run(barrier: true) { 1 }.value
  }

  @Test("A handler of a cancelled barrier waits for a task of the queue: both end")
  func handlerOfACancelledBarrier() async throws {
    let (queue, first) = (TaskQueue(), Manual<Int>())
    queue.addTask(first)
    let barrier = queue.run(barrier: true) { 1 }
    let (task, hasWaited) = (Manual<Int>(), Event())
    queue.addTask(task)
    barrier.onCompletion(on: .inline) { _ in
      _ = try? task.wait(timeout: Event.patience)
      if task.isSettled { hasWaited.signal() }
    }
    queue.cancelAllTasks()
    #expect(await hasWaited.opened())
    // It has perhaps begun, and then does not end by its cancellation.
    first.finish(with: .success(1))
    await queue.finished()
  }

  @Test("A handler of a cancelled task waits for a barrier of the queue: both end")
  func handlerWaitsForABarrier() async throws {
    let (queue, first, gate) = (TaskQueue(), Manual<Int>(), Promise<Void>())
    queue.addTask(first.addDependency(gate))
    let (barrier, hasWaited) = (queue.run(barrier: true) { 1 }, Event())
    first.receive(on: .inline) { _ in
      _ = try? barrier.wait(timeout: Event.patience)
      if barrier.isSettled { hasWaited.signal() }
    }
    Thread { queue.cancelAllTasks() }.start()
    #expect(await hasWaited.opened())
    await queue.finished()
    withExtendedLifetime(gate) {}
  }

  @Test("Promises come and go behind a barrier: the queue keeps nothing of them")
  func promisesComeAndGo() async throws {
    let (queue, first) = (TaskQueue(), Manual<Int>())
    queue.addTask(first)
    queue.addBarrierBlock {}
    for number in 0..<100 {
      let promise = Promise<Int>()
      try queue.addFuture(promise)
      promise.succeed(with: number)
    }
    #expect(queue.unfinishedOperations.count == 2)
    first.finish(with: .success(1))
    await queue.finished()
  }

  @Test("A closure waits for a promise that belongs to its queue behind a barrier: it may come")
  func waitForAMemberBehindABarrier() async throws {
    let (queue, promise, added) = (TaskQueue(), Promise<Int>(), Event())
    let task = BlockProducerTask<String, TestError> { _, finish in
      added.wait()
      do {
        _ = try promise.wait(timeout: .milliseconds(20))
        finish(.success("came"))
      } catch ProperationsError.timedOut {
        finish(.success("may come"))
      } catch {
        finish(.success("\(error)"))
      }
    }
    queue.addTask(task)
    queue.addBarrierBlock {}
    try queue.addFuture(promise)
    added.signal()
    #expect(try await task.value == "may come")
    promise.succeed(with: 1)
    await queue.finished()
  }

  @Test("Futures are cancelled behind a barrier while it ends: the queue becomes idle")
  func cancelledWhileTheBarrierEnds() async {
    for _ in 0..<200 {
      let (queue, first) = (TaskQueue(), Manual<Int>())
      queue.addTask(first)
      queue.addBarrierBlock {}
      let futures = (0..<8).map { number in queue.run { number } }
      #expect(await first.started.opened())
      DispatchQueue.global().async { for future in futures { future.cancel() } }
      first.finish(with: .success(1))
      await queue.finished()
      for future in futures { #expect(future.isSettled) }
    }
  }

  // MARK: Waiting

  @Test("A task finishes and then waits for itself in its own closure: its handlers have run")
  func waitInTheOwnClosure() async {
    let (log, handlers) = (Log<Int>(), Counter())
    let task = BlockProducerTask<Int, TestError> { task, finish in
      finish(.success(1))
      _ = try? task.wait(timeout: Event.patience)
      log.append(handlers.value)
    }
    task.receive(on: .inline) { _ in handlers.add() }
    TaskQueue().addTask(task)
    #expect(await eventually { log.entries == [1] })
  }

  @Test("A handler of a future in a scope waits for a task of the scope: both are cancelled")
  func handlerInAScopeWaitsForATask() async throws {
    let (scope, promise, task) = (CancellationScope(), Promise<Int>(), Manual<Int>())
    let hasWaited = Event()
    promise.onCancel(on: .inline) {
      _ = try? task.wait(timeout: Event.patience)
      if task.isSettled { hasWaited.signal() }
    }
    promise.cancelled(by: scope)
    task.cancelled(by: scope)
    let gate = Promise<Void>()
    TaskQueue().addTask(task.addDependency(gate))
    Thread { scope.cancel() }.start()
    #expect(await hasWaited.opened())
    withExtendedLifetime(gate) {}
  }
}

/// Counts the threads of the process, so nothing else may run.
@Suite("Threads that take in tasks", .timeLimit(.minutes(5)), .alone)
struct ThreadsOfAdoptionTests {
  #if os(Linux)
    @Test("1,000 tasks are put in a plain queue: few threads take them in")
    func fewThreadsAdopt() async throws {
      let queue = OperationQueue()
      queue.maxConcurrentOperationCount = 1
      let before = try threadCount()
      let tasks = (0..<1_000).map { number in NonFailBlockProducerTask<Int> { _ in number } }
      for task in tasks { queue.addOperation(task) }
      let after = try threadCount()
      for task in tasks { #expect(await task.outcome() == .success) }
      #expect(after - before < 128)
    }

    private func threadCount() throws -> Int {
      try FileManager.default.contentsOfDirectory(atPath: "/proc/self/task").count
    }
  #endif
}
