import Foundation
import Futures
import TestSupport
import Testing
import TypedTasks

@Suite("Task queues", .timeLimit(.minutes(5)), .oneAtATime)
struct TaskQueueTests {
  @Test("40. What a queue is made with can be read afterwards")
  func properties() {
    let underlying = DispatchQueue(label: "underlying", attributes: .concurrent)
    let queue = TaskQueue(
      name: "name", qos: .utility, maxConcurrentTaskCount: 3, underlyingQueue: underlying,
      startSuspended: true)
    #expect(queue.name == "name")
    #expect(queue.qualityOfService == .utility)
    #expect(queue.maxConcurrentTaskCount == 3)
    #expect(queue.underlyingQueue === underlying)
    #expect(queue.isSuspended)
    let plain = TaskQueue()
    #expect(plain.maxConcurrentTaskCount == OperationQueue.defaultMaxConcurrentOperationCount)
    #expect(!plain.isSuspended)
    plain.maxConcurrentTaskCount = -7
    #expect(plain.maxConcurrentTaskCount == 1)
  }

  @Test("40. Tasks run on the underlying queue")
  func underlyingQueue() async throws {
    let key = DispatchSpecificKey<Int>()
    let underlying = DispatchQueue(label: "underlying", attributes: .concurrent)
    underlying.setSpecific(key: key, value: 3)
    let queue = TaskQueue(underlyingQueue: underlying)
    let task = BlockProducerTask<Int, Never> { _, finish in
      finish(.success(DispatchQueue.getSpecific(key: key) ?? 0))
    }
    queue.addTask(task)
    #expect(try await task.value == 3)
  }

  @Test("41. A limit bounds how many execute at a time, async ones too, and can be changed")
  func limits() async {
    let queue = TaskQueue(maxConcurrentTaskCount: 1)
    let tasks = (0..<6).map { _ in Manual<Int>() }
    queue.addAll(tasks)
    await tasks[0].started.opened()
    #expect(tasks.map(\.executions.value) == [1, 0, 0, 0, 0, 0])
    queue.maxConcurrentTaskCount = 3
    tasks[0].finish(with: .success(0))
    for task in tasks[1...3] { await task.started.opened() }
    #expect(await eventually { tasks.map(\.executions.value) == [1, 1, 1, 1, 0, 0] })
    for task in tasks[1...3] { task.finish(with: .success(0)) }
    for task in tasks[4...] {
      await task.started.opened()
      task.finish(with: .success(0))
    }
    await queue.finished()

    let (serial, running) = (TaskQueue(maxConcurrentTaskCount: 1), Counter())
    let many = (0..<100).map { _ in
      BlockTask<TestError> { _, finish in
        running.add()
        DispatchQueue.global().async {
          running.add(-1)
          finish(.success)
        }
      }
    }
    serial.addAll(many)
    await serial.finished()
    #expect(running.highest == 1)
    #expect(many.allSatisfy { $0.kind == .success })
  }

  @Test("42. A suspended queue starts nothing before it is resumed")
  func suspension() async {
    let queue = TaskQueue(startSuspended: true)
    let task = succeeding(1)
    let chain = succeeding(1).map { $0 }
    queue.addAll([task, chain])
    #expect(queue.taskCount == 3)
    #expect(queue.operationCount == 2)
    #expect(task.produced == nil)
    queue.isSuspended = false
    #expect(await task.outcome() == .success)
    #expect(await chain.outcome() == .success)
  }

  @Test("43. A task that is added for later does not run before")
  func later() async {
    let queue = TaskQueue()
    let begin = DispatchTime.now()
    let task = BlockProducerTask<UInt64, Never> { _, finish in
      finish(.success(DispatchTime.now().uptimeNanoseconds))
    }
    queue.addTaskAfter(task, deadline: begin + .milliseconds(30))
    #expect(await task.outcome() == .success)
    #expect(task.success! >= begin.uptimeNanoseconds + 30_000_000)
  }

  @Test("43. A block runs; a barrier runs alone between what came before and what comes after")
  func barrier() async {
    let queue = TaskQueue()
    let log = Log<String>()
    let gate = Manual<Int>()
    let running = Counter()
    let before = (0..<4).map { index in
      BlockTask<TestError> { _, finish in
        running.add()
        log.append("before")
        running.add(-1)
        finish(.success)
      }.addDependency(gate)
    }
    queue.addAll(before)
    queue.addBlock { log.append("before") }
    queue.addBarrierBlock { log.append("barrier \(running.value)") }
    let after = (0..<4).map { _ in
      BlockTask<TestError> { _, finish in
        log.append("after")
        finish(.success)
      }
    }
    queue.addAll(after)
    queue.addBlock { log.append("after") }
    queue.addBarrierBlock { log.append("second barrier") }
    let last = succeeding(1)
    queue.addTask(last)
    #expect(await eventually { log.count == 1 })
    #expect(last.produced == nil)
    // (In another queue: this one would hold it back behind its barrier.)
    TaskQueue().addTask(gate)
    await gate.started.opened()
    gate.finish(with: .success(1))
    await queue.finished()
    #expect(
      log.entries
        == Array(repeating: "before", count: 5) + ["barrier 0"]
        + Array(repeating: "after", count: 5) + ["second barrier"])
    #expect(last.success == 1)
  }

  @Test("43. A cancelled barrier that has begun does not run, and what is behind it goes on")
  func cancelledBarrierInSlot() async {
    let ran = Counter()
    // (Held back in a suspended queue, the barrier has its slot and no thread.)
    let suspended = TaskQueue(startSuspended: true)
    suspended.addBarrierBlock { ran.add() }
    let (behind, next) = (succeeding(1), succeeding(2))
    suspended.addTask(behind)
    suspended.cancelAllTasks()
    suspended.addTask(next)
    #expect(behind.kind == .cancelled)
    suspended.isSuspended = false
    #expect(await next.outcome() == .success)
    #expect(ran.value == 0)
    // Wherever the barrier is when the cancellation comes.
    let queue = TaskQueue()
    for number in 0..<300 {
      queue.addTask(succeeding(number))
      queue.addBarrierBlock {}
      queue.cancelAllTasks()
      let next = succeeding(number)
      queue.addTask(next)
      #expect(await next.outcome() == .success, "\(number)")
    }
    await queue.finished()
  }

  @Test("43. A cancelled barrier that waits does not run, and what is behind it goes on")
  func cancelledBarrierInLine() async {
    let (queue, ran) = (TaskQueue(), Log<String>())
    let running = Manual<Int>()
    queue.addTask(running)
    await running.started.opened()
    queue.addBarrierBlock { ran.append("barrier") }
    queue.addBlock { ran.append("block") }
    queue.addBarrierBlock { ran.append("barrier") }
    queue.cancelAllTasks()
    let next = succeeding(1)
    queue.addTask(next)
    queue.addBarrierBlock { ran.append("last") }
    #expect(running.isCancelled && next.produced == nil)
    #expect(await eventually { next.description.contains("(held back by a barrier)") })
    running.finish(with: .success(1))
    await queue.finished()
    #expect(next.success == 1)
    #expect(ran.entries == ["last"])
    // One that is not suspended for the sake of a barrier that never comes.
    let suspended = TaskQueue(startSuspended: true)
    suspended.addTask(succeeding(1))
    suspended.addBarrierBlock { ran.append("barrier") }
    suspended.cancelAllTasks()
    await suspended.finished()
    suspended.isSuspended = false
    #expect(ran.count == 1)
  }

  #if os(Linux) || os(macOS)
    @Test("43. Futures that finish behind a barrier: the queue goes on without a crash")
    func finishedBehindBarrier() async {
      await #expect(processExitsWith: .success) {
        let queue = TaskQueue(maxConcurrentTaskCount: 1)
        let running = Manual<Int>()
        queue.addTask(running)
        await running.started.opened()
        queue.addBarrierBlock {}
        let (settled, cancelled) = (Promise<Int>(), Promise<Int>())
        queue.addOperation(settled)
        queue.addOperation(cancelled)
        settled.succeed(with: 1)
        cancelled.cancel()
        running.finish(with: .success(1))
        let next = succeeding(1)
        queue.addTask(next)
        let hasRun = await next.outcome() == .success
        await queue.finished()
        // Foundation removes the operation of a slot a moment after the slot's last task.
        let isEmpty = await eventually { queue.operationCount == 0 }
        if !hasRun || !isEmpty { exit(EXIT_FAILURE) }
      }
    }
  #endif

  @Test("A closure pauses its queue with a limit of zero: the operator behind it waits")
  func pauseByLimit() async {
    let (queue, ran) = (TaskQueue(), Counter())
    let task = BlockProducerTask<Int, Never> { _ in
      queue.maxConcurrentOperationCount = 0
      return 1
    }
    let follower = task.map { number in
      ran.add()
      return number
    }
    queue.addTask(follower)
    #expect(await task.outcome() == .success)
    // (In the slot it would follow within microseconds.)
    #expect(!(await eventually(within: .milliseconds(50)) { ran.value > 0 }))
    queue.maxConcurrentOperationCount = 1
    #expect(await follower.outcome() == .success)
  }

  @Test("A queue is cancelled when the time of a task has come, 300 rounds: it does not run later")
  func cancelledAtItsTime() async {
    let escaped = Counter()
    let isOver = await RaceHarness(threads: 1, rounds: 300).run {
      $0
    } act: { round, _ in
      let (queue, isCancelled) = (TaskQueue(), Box(false))
      let task = BlockProducerTask<Void, Never> { task in
        if isCancelled.value, !task.isCancelled { escaped.add() }
      }
      queue.addTaskAfter(task, deadline: .now() + .microseconds(100))
      usleep(UInt32(60 + round % 120))
      queue.cancelAllTasks()
      isCancelled.value = true
      _ = eventuallyBlocking { task.isFinished }
    }
    #expect(isOver && escaped.value == 0)
  }

  @Test("43. Thousands of cancelled barriers in a row need no stack")
  func cancelledBarriersInARow() async throws {
    let queue = TaskQueue()
    let running = Manual<Int>()
    queue.addTask(running)
    await running.started.opened()
    for _ in 0..<5_000 { queue.addBarrierBlock {} }
    queue.cancelAllTasks()
    try await SmallStackThread.running { running.finish(with: .success(1)) }
    await queue.finished()
    #expect(queue.taskCount == 0)
  }

  @Test(
    "43. A barrier waits for what a task in front of it goes on with",
    arguments: ["flatMap", "catch", "retry", "late retry", "produce", "consumer"])
  func barrierBehindChain(_ kind: String) async {
    let (queue, log) = (TaskQueue(startSuspended: true), Log<String>())
    let noting: @Sendable () -> Sample<Int> = {
      Sample { _, finish in
        log.append("inner")
        finish(.success(2))
      }
    }
    let task: ProducerTask<Int, TestError> =
      switch kind {
      case "flatMap": succeeding(1).flatMap { _ in noting().map { $0 } }
      case "catch": failing().catch { _ in noting() }
      case "retry": failing().retry(2) { _ in noting() }
      case "late retry": failing().retry(2, delay: .milliseconds(1)) { _ in noting() }
      case "produce":
        Sample { task, finish in
          let inner = noting()
          task.produce(new: inner)
          inner.receive { _ in finish(.success(2)) }
        }
      default:
        succeeding(1).flatMap { _ in
          BlockConsumerProducerTask<Int, Int, TestError>(producing: noting()) {
            _, consumed, finish in finish(consumed)
          }
        }
      }
    task.receive { _ in log.append("task") }
    queue.addTask(task)
    queue.addBarrierBlock { log.append("barrier") }
    let behind = succeeding(3).flatMap { _ in succeeding(4) }
    behind.receive { _ in log.append("behind") }
    queue.addTask(behind)
    queue.addBarrierBlock { log.append("second barrier") }
    queue.isSuspended = false
    #expect(await task.outcome() == .success)
    await queue.finished()
    // (The end of an inner task is told before its parent is.)
    #expect(
      log.entries.filter { $0 != "task" } == ["inner", "barrier", "behind", "second barrier"])
    #expect(log.entries.firstIndex(of: "task") == 1)
    #expect(behind.success == 4)
  }

  @Test("43. What a task brings in while the barrier waits for others is in front of it")
  func barrierWaitsForProducedTask() async {
    let (queue, log) = (TaskQueue(), Log<String>())
    let (parent, inner) = (Manual<Int>(), Manual<Int>())
    queue.addTask(parent)
    await parent.started.opened()
    queue.addBarrierBlock { log.append("barrier") }
    parent.produce(new: inner)
    parent.finish(with: .success(1))
    await inner.started.opened()
    #expect(log.count == 0)
    inner.finish(with: .success(2))
    await queue.finished()
    #expect(log.entries == ["barrier"])
  }

  @Test("44. Cancelling all reaches every task; waiting returns when the queue is empty")
  func cancelAll() async {
    let queue = TaskQueue(maxConcurrentTaskCount: 1)
    let running = Manual<Int>()
    let waiting = Manual<Int>().addDependency(running)
    let ready = Manual<Int>()
    let checking = Manual<Int>().addCondition(ManualCondition())
    queue.addAll([running, waiting, ready, checking])
    await running.started.opened()
    #expect(queue.taskCount == 4)
    #expect(queue.tasks.count == 4)
    queue.cancelAllTasks()
    #expect(running.isCancelled)
    #expect([waiting, ready, checking].allSatisfy { $0.kind == .cancelled })
    #expect(queue.taskCount == 1)
    running.finish(with: .success(1))
    await queue.finished()
    #expect(queue.taskCount == 0)
    #expect(await eventually { queue.operationCount == 0 })
    #expect(ready.executions.value == 0)
    let next = succeeding(1)
    queue.addTask(next)
    #expect(await next.outcome() == .success)
  }

  @Test("44. Waiting returns in a suspended queue whose tasks were cancelled")
  func waitWhileSuspended() async {
    let queue = TaskQueue(startSuspended: true)
    let task = Manual<Int>()
    queue.addTask(task)
    queue.cancelAllTasks()
    await queue.finished()
    #expect(task.kind == .cancelled)
    queue.isSuspended = false
  }

  @Test("45. Of the tasks that are ready, those of higher priority start first")
  func priority() async {
    let queue = TaskQueue(maxConcurrentTaskCount: 1, startSuspended: true)
    let log = Log<Int>()
    let priorities: [Operation.QueuePriority] = [.low, .normal, .veryHigh, .veryLow, .high]
    for priority in priorities {
      queue.addTask(
        BlockTask<TestError>(priority: priority) { _, finish in
          log.append(priority.rawValue)
          finish(.success)
        })
    }
    queue.isSuspended = false
    await queue.finished()
    #expect(log.entries == log.entries.sorted(by: >))
    #expect(log.count == 5)
  }

  final class Delegate: TaskQueueDelegate {
    let log = Log<String>()
    func taskQueue<T: ProducerTaskProtocol>(_ queue: TaskQueue, willAdd task: T) {
      log.append("+\(task.name ?? "")\(task.isExecuting ? " too late" : "")")
    }
    func taskQueue<T: ProducerTaskProtocol>(_ queue: TaskQueue, didFinish task: T) {
      log.append("-\(task.name ?? "")\(task.isFinished ? "" : " too early")")
    }
  }

  @Test("46. The delegate hears of each task once before it starts, and once when it has finished")
  func delegate() async {
    let queue = TaskQueue()
    let delegate = Delegate()
    queue.delegate = delegate
    let task = Sample<Int>(name: "a") { _, finish in finish(.success(1)) }
    queue.addTask(task)
    await queue.finished()
    #expect(delegate.log.entries == ["+a", "-a"])
    let tracker = LifetimeTracker()
    final class Short: TaskQueueDelegate {
      let tracked: Tracked
      init(_ tracked: Tracked) { self.tracked = tracked }
    }
    do {
      let short = Short(tracker.make())
      queue.delegate = short
      #expect(queue.delegate === short)
    }
    #expect(queue.delegate == nil)
    #expect(tracker.alive == 0)
  }

  struct Needing: TaskCondition {
    let task: NonFailTask
    func dependency<T: ProducerTaskProtocol>(for other: T) -> NonFailTask? { task }
    func evaluate<T: ProducerTaskProtocol>(
      for other: T, completion: @escaping @Sendable (Result<Void, Never>) -> Void
    ) { completion(.success) }
  }

  @Test("47. The delegate also hears of produced tasks, and of what conditions depend on")
  func delegateOfOthers() async {
    let queue = TaskQueue(maxConcurrentTaskCount: 1)
    let delegate = Delegate()
    queue.delegate = delegate
    let needed = NonFailBlockTask(name: "needed") { _, finish in finish(.success) }
    let task = Sample<Int>(name: "task") { task, finish in
      task.produce(new: Sample<Int>(name: "new") { _, finish in finish(.success(2)) })
      finish(.success(1))
    }.addCondition(Needing(task: needed))
    queue.addTask(task)
    await queue.finished()
    #expect(delegate.log.entries == ["+task", "+needed", "-needed", "+new", "-task", "-new"])
  }

  @Test("48. A queue that nobody holds does its work")
  func release() async {
    let tracker = LifetimeTracker()
    let tasks = (0..<10).map { _ in Manual<Int>() }
    weak var weak: TaskQueue?
    do {
      let queue = TaskQueue(maxConcurrentTaskCount: 2)
      weak = queue
      queue.addAll(tasks)
      let tracked = tracker.make()
      queue.addBlock { tracked.touch() }
    }
    for task in tasks {
      #expect(await task.started.opened())
      task.finish(with: .success(1))
    }
    #expect(await eventually { weak == nil && tracker.alive == 0 })
  }

  @Test("49. Added as an operation, by whatever way, a task runs like any task")
  func rawAPI() async {
    let queue = TaskQueue()
    let asOperationQueue: OperationQueue = queue
    let (a, b, c, d) = (succeeding(1), succeeding(2), succeeding(3), succeeding(4))
    a.addCondition(Conditions.Empty())
    queue.addOperation(a)
    asOperationQueue.addOperation(b)
    asOperationQueue.addBoth(c, d)
    for task in [a, b, c, d] { #expect(await task.outcome() == .success) }
    let operation = BlockOperation {}
    asOperationQueue.addOperation(operation)
    let count = Counter()
    asOperationQueue.addOperation { count.add() }
    await queue.finished()
    #expect(operation.isFinished)
    #expect(count.value == 1)
  }

  @Test("49. In a plain operation queue a task waits for what it has to, and runs")
  func plainQueue() async {
    let plain = OperationQueue()
    let gate = Manual<Int>()
    let condition = ManualCondition()
    let task = Manual<Int>().addDependency(gate).addCondition(condition)
    plain.addOperation(task)
    plain.addOperation(gate)
    #expect(await gate.started.opened())
    gate.finish(with: .success(1))
    #expect(await condition.asked.opened())
    condition.answer(.success)
    #expect(await task.started.opened())
    task.finish(with: .success(2))
    #expect(await task.outcome() == .success)
    let stage = succeeding(1).map { $0 + 1 }.map { $0 + 1 }
    plain.addOperation(stage)
    #expect(await stage.outcome() == .success)
    let cancelled = Manual<Int>().addDependency(Manual<Int>())
    plain.addOperation(cancelled)
    cancelled.cancel()
    #expect(await cancelled.outcome() == .cancelled)
    // Cancelled while the queue is just taking it, too: nothing is printed
    // (CI looks), and nothing stays behind.
    let pending = Manual<Int>()
    for _ in 0..<300 {
      let task = Manual<Int>().addDependency(pending)
      plain.addOperation(task)
      task.cancel()
    }
    #expect(await eventually { plain.operationCount == 0 })
  }

  @Test("Tasks that wait are counted, and cost the operation queue nothing")
  func waitingOperations() async {
    let queue = TaskQueue()
    let gate = Manual<Int>()
    let tasks = (0..<20).map { _ in succeeding(1).addDependency(gate) }
    queue.addAll(tasks)
    #expect(queue.taskCount == 20)
    #expect(queue.operationCount == 0)
    let few = TaskQueue()
    let waiting = (0..<3).map { _ in succeeding(1).addDependency(gate) }
    few.addAll(waiting)
    #expect(few.taskCount == 3)
    few.addTask(gate)
    await gate.started.opened()
    gate.finish(with: .success(1))
    await queue.finished()
    await few.finished()
    #expect((tasks + waiting).allSatisfy { $0.success == 1 })
    #expect(await eventually { few.operationCount == 0 && queue.operationCount == 0 })
  }

  @Test("Waiting in a task for another one of the same serial queue is refused")
  func wouldDeadlock() async throws {
    let queue = TaskQueue(name: "serial", maxConcurrentTaskCount: 1)
    let behind = succeeding(1)
    let task = BlockProducerTask<String, TestError> { _, finish in
      queue.addTask(behind)
      do {
        _ = try behind.waitAnywhere()
        finish(.success("waited"))
      } catch {
        finish(.success("\(error)"))
      }
    }
    queue.addTask(task)
    #expect(try await task.value.hasPrefix("wouldDeadlock"))
    #expect(await behind.outcome() == .success)
  }
}

extension OperationQueue {
  /// For async code, where Foundation's own is refused.
  func addBoth(_ first: Operation, _ second: Operation) {
    addOperations([first, second], waitUntilFinished: false)
  }
}

extension Future {
  /// For closures that may block.
  func waitAnywhere() throws -> Success { try wait(timeout: Event.patience) }
}

@Suite("Producing tasks", .timeLimit(.minutes(5)), .oneAtATime)
struct ProducingTests {
  @Test("50. A produced task runs in the queue of its producer; in a group the group waits for it")
  func produce() async {
    let queue = TaskQueue(name: "mine")
    let place = Box<String?>(nil)
    let new = Sample<Int> { _, finish in
      place.value = OperationQueue.current?.name
      finish(.success(2))
    }
    let task = Sample<Int> { task, finish in
      task.produce(new: new)
      finish(.success(1))
    }
    queue.addTask(task)
    #expect(await new.outcome() == .success)
    #expect(place.value == "mine")

    let inner = Manual<Int>()
    let producer = Sample<Int> { task, finish in
      task.produce(new: inner)
      finish(.success(1))
    }
    let group = GroupTask<TestError>(tasks: [producer])
    queue.addTask(group)
    #expect(await inner.started.opened())
    #expect(await eventually { producer.isFinished })
    #expect(!group.isFinished)
    inner.finish(with: .success(3))
    #expect(await group.outcome() == .success)
  }

  @Test("51. What is produced by a task in no queue, or into a group that has ended, says so")
  func produceNowhere() async {
    let lonely = Manual<Int>()
    let new = Manual<Int>()
    lonely.produce(new: new)
    #expect(new.kind == .notEnqueued)

    let queue = TaskQueue()
    let task = succeeding(1)
    let group = GroupTask<TestError>(tasks: [task])
    queue.addTask(group)
    #expect(await group.outcome() == .success)
    let late = Manual<Int>()
    group.addTask(late)
    #expect(late.kind == .groupFinished)
    let later = Manual<Int>()
    group.innerQueue.addTask(later)
    #expect(later.kind == .groupFinished)
    let after = Manual<Int>()
    task.produce(new: after)
    #expect(after.kind == .notEnqueued)
    await queue.finished()
  }

  @Test("A limit of zero is a pause; a negative limit leaves the number to the system")
  func limitBelowOne() async {
    let (queue, task) = (TaskQueue(), succeeding(1))
    queue.maxConcurrentOperationCount = 0
    #expect(queue.maxConcurrentOperationCount == 0)
    queue.addTask(task)
    #expect(await eventually(within: .milliseconds(100)) { task.isFinished } == false)
    queue.maxConcurrentOperationCount = -7
    #expect(
      queue.maxConcurrentOperationCount == OperationQueue.defaultMaxConcurrentOperationCount)
    #expect(await task.outcome() == .success)
  }
}
