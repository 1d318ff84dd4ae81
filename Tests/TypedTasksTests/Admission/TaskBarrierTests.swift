import Foundation
import Futures
import OperationBridge
import TestSupport
import Testing
import TypedTasks

@Suite("Barriers of task queues", .timeLimit(.minutes(5)), .oneAtATime)
struct TaskBarrierTests {
  enum End: CaseIterable { case success, cancellation, release }

  @Test("A member's handler runs in the group's queue, in which a barrier waits: all end in order")
  func handlerAndBarrier() async {
    let (queue, log, gate, end) = (TaskQueue(), Log<String>(), Event(), Event())
    let member = BlockProducerTask<Void, Never> { _ in _ = gate.wait() }
    member.receive(on: queue) { _ in log.append("handler") }
    let group = GroupProducerTask<Void, Never>(tasks: [member])
    queue.addTask(group)
    queue.addBarrierBlock {
      log.append("barrier")
      end.signal()
    }
    gate.signal()
    #expect(await group.outcome() == .success)
    #expect(await end.opened())
    #expect(log.entries == ["handler", "barrier"])
  }

  @Test("A handler waits in the slot, an operator was to follow there: it runs before the barrier")
  func operatorAndBarrier() async {
    // An operator follows in the slot only if its upstream has ended within a millisecond.
    for _ in 0..<20 {
      let (queue, log, end) = (TaskQueue(startSuspended: true), Log<String>(), Event())
      let (waits, gate) = (Event(), Promise<Int>())
      let task = BlockProducerTask<Int, Never> { _ in 1 }
      let follower = task.map { number in
        log.append("operator")
        return number + 1
      }
      task.onSuccess(on: .inline) { _ in
        waits.signal()
        _ = try? gate.wait(timeout: Event.patience)
      }
      queue.addTask(follower)
      queue.addBarrierBlock {
        log.append("barrier")
        end.signal()
      }
      queue.isSuspended = false
      #expect(await waits.opened())
      gate.succeed(with: 1)
      #expect(await follower.outcome() == .success)
      #expect(await end.opened())
      #expect(log.entries == ["operator", "barrier"])
    }
  }

  @Test("A barrier comes while a closure's last dependency finishes, 1,000 rounds: closure first")
  func barrierAndLastDependency() async {
    struct Subject: Sendable {
      let queue = TaskQueue()
      let dependency = Promise<Void>()
      let log = Log<String>()
      let front = EmptyTask()

      init() {
        let log = log
        let closure = queue.run(after: [dependency]) { () async in log.append("closure") }
        front.addDependency(closure)
        queue.addTask(front)
      }
    }
    let stuck = Counter()
    let isOver = await RaceHarness(threads: 2, rounds: 1_000).run { _ in
      Subject()
    } act: { subject, thread in
      if thread == 0 {
        subject.dependency.succeed()
      } else {
        let log = subject.log
        subject.queue.addBarrierBlock { log.append("barrier") }
      }
    } check: { subject, _ in
      if stuck.value == 0, !eventuallyBlocking({ subject.log.count == 2 }) { stuck.add() }
      #expect(stuck.value > 0 || subject.log.entries == ["closure", "barrier"])
      subject.queue.cancelAllTasks()
    }
    #expect(isOver && stuck.value == 0)
  }

  @Test(
    "A running task waits for a barrier, or for what is behind it: throws with any number of slots",
    arguments: [1, 3, OperationQueue.defaultMaxConcurrentOperationCount], [false, true])
  func behindBarrier(limit: Int, isInGroup: Bool) async throws {
    for waitsForBarrier in [false, true] {
      let queue = TaskQueue(maxConcurrentTaskCount: limit)
      let (begun, target) = (Event(), Promise<Future<Int>>())
      let task = BlockProducerTask<String, Never> { _ in
        begun.signal()
        do {
          return "\(try target.wait().wait())"
        } catch {
          return "\(error)"
        }
      }
      if isInGroup {
        queue.addTask(GroupProducerTask<Void, Never>(tasks: [task]))
      } else {
        queue.addTask(task)
      }
      #expect(await begun.opened())
      let barrier = queue.run(barrier: true) { () async in 2 }
      let behind = BlockProducerTask<Int, Never> { _ in 1 }
      queue.addTask(behind)
      target.succeed(with: waitsForBarrier ? barrier : behind)
      #expect(await task.outcome() == .success)
      #expect(try #require(task.success).contains("wouldDeadlock"))
      #expect(try await barrier.value == 2)
      #expect(await behind.outcome() == .success)
    }
  }

  @Test("An async task awaits what is behind a barrier of its queue: throws")
  func awaitsBehindBarrier() async throws {
    let (queue, target) = (TaskQueue(), Promise<Future<Int>>())
    let begun = Event()
    let task = AsyncBlockProducerTask<String, Never> { _ in
      begun.signal()
      do {
        return "\(try await target.value.value)"
      } catch {
        return "\(error)"
      }
    }
    queue.addTask(task)
    #expect(await begun.opened())
    let barrier = queue.run(barrier: true) { () async in 2 }
    target.succeed(with: barrier)
    #expect(await task.outcome() == .success)
    #expect(try #require(task.success).contains("wouldDeadlock"))
    #expect(try await barrier.value == 2)
  }

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

  @Test("Futures are cancelled behind a barrier that waits: the queue lets go of them")
  func cancelledFuturesBehindBarrier() async {
    let (queue, front) = (TaskQueue(), Manual<Int>())
    queue.addTask(front)
    queue.addBarrierBlock {}
    #expect(await front.started.opened())
    for _ in 0..<1_000 {
      let future = Promises.make(promising: Int.self)
      queue.addOperation(future)
      future.cancel()
    }
    #expect(await eventually { heldByBarriers(of: queue) < 500 })
    front.finish(with: .success(1))
    await queue.finished()
  }

  @Test("Tasks and closures wait behind a barrier: they run in the order in which they came")
  func orderBehindBarrier() async {
    let (queue, log) = (TaskQueue(maxConcurrentTaskCount: 1, startSuspended: true), Log<Int>())
    queue.addBarrierBlock {}
    for number in 0..<20 {
      if number.isMultiple(of: 2) {
        queue.addBlock { log.append(number) }
      } else {
        queue.addTask(
          Sample<Int> { _ in
            log.append(number); return number
          })
      }
    }
    queue.isSuspended = false
    await queue.finished()
    #expect(log.entries == Array(0..<20))
  }
}
