import Foundation
import Futures
import TestSupport
import Testing
import TypedTasks

@Suite("Life cycle and cancellation", .timeLimit(.minutes(5)), .oneAtATime)
struct LifeCycleTests {
  private let queue = TaskQueue()

  private func flags<O, F>(_ task: ProducerTask<O, F>) -> [Bool] {
    [task.isReady, task.isExecuting, task.isFinished, task.isCancelled]
  }

  @Test("18. Ready, executing, finished and cancelled agree with the task's life")
  func states() async {
    let gate = Manual<Int>()
    let task = Manual<Int>().addDependency(gate)
    #expect(flags(task) == [false, false, false, false])
    queue.addTask(task)
    #expect(flags(task) == [false, false, false, false])
    let condition = ManualCondition()
    let checked = Manual<Int>().addCondition(condition)
    queue.addTask(checked)
    await condition.asked.opened()
    #expect(flags(checked) == [false, false, false, false])
    condition.answer(.success)
    await checked.started.opened()
    #expect(flags(checked) == [true, true, false, false])
    checked.finish(with: .success(1))
    #expect(flags(checked) == [true, false, true, false])
    let suspended = TaskQueue(startSuspended: true)
    let ready = Manual<Int>()
    suspended.addTask(ready)
    #expect(flags(ready) == [true, false, false, false])
    ready.cancel()
    #expect(flags(ready) == [true, false, true, true])
    suspended.isSuspended = false
    gate.finish(with: .success(1))
    await task.started.opened()
    task.cancel()
    #expect(flags(task) == [true, true, false, true])
    task.finish(with: .success(2))
    #expect(flags(task) == [true, false, true, true])
    #expect(task.kind == .success)
  }

  @Test("19. Asking for isReady changes nothing, from eight threads at once")
  func readyIsPure() async {
    let ended = await RaceHarness(threads: 8, rounds: 200).run { _ in
      let task = succeeding(1).addCondition(Conditions.Empty())
      return (task, TaskQueue())
    } act: { pair, thread in
      _ = pair.0.isReady
      if thread == 0 { pair.1.addTask(pair.0) }
      _ = pair.0.isReady
    } check: { pair, round in
      pair.0.waitUntilFinished()
      if pair.0.kind != .success { Issue.record("round \(round): \(pair.0)") }
    }
    #expect(ended)
    let untouched = Manual<Int>()
    for _ in 0..<10 { _ = untouched.isReady }
    #expect(untouched.executions.value == 0)
    // On Apple's platforms a task without dependencies is ready before it is in a queue.
    #if !(canImport(Darwin) || PROPERATIONS_AS_ON_DARWIN)
      #expect(!untouched.isReady)
    #endif
  }

  @Test("20. A task may be cancelled before it is enqueued, and then never executes")
  func cancelBeforeEnqueue() async {
    let task = Manual<Int>()
    task.cancel()
    task.cancel()
    #expect(task.isCancelled)
    queue.addTask(task)
    #expect(await task.outcome() == .cancelled)
    await queue.finished()
    #expect(task.executions.value == 0)
  }

  @Test("21. Cancelled while it waits, a task finishes, also if a condition never answers")
  func cancelWhileWaiting() async {
    let never = Manual<Int>()
    let waiting = Manual<Int>().addDependency(never)
    let condition = ManualCondition()
    let checking = Manual<Int>().addCondition(condition)
    let holder = Manual<Int>().addCondition(Conditions.MutuallyExclusive<LifeCycleTests>())
    let queueing = Manual<Int>().addCondition(Conditions.MutuallyExclusive<LifeCycleTests>())
    queue.addAll([waiting, checking, holder])
    await holder.started.opened()
    queue.addTask(queueing)
    await condition.asked.opened()
    for task in [waiting, checking, queueing] {
      task.cancel()
      #expect(task.kind == .cancelled)
      #expect(task.isFinished)
      #expect(task.executions.value == 0)
    }
    condition.answer(.success)
    holder.finish(with: .success(1))
    await queue.finished()
    #expect(checking.executions.value == 0)
    #expect(queueing.executions.value == 0)
  }

  @Test("22. Cancelled while it executes, a task may still finish with anything")
  func cancelWhileExecuting() async {
    let task = Manual<Int>()
    queue.addTask(task)
    await task.started.opened()
    task.cancel()
    #expect(task.isCancelled)
    #expect(!task.isFinished)
    #expect(task.produced == nil)
    task.finish(with: .success(4))
    #expect(task.success == 4)
  }

  @Test("22. An execute() that returns unfinished after a cancellation is finished as cancelled")
  func cancelledWorkReturns() async {
    let returning = BlockProducerTask<Int, TestError> { task, _ in task.cancel() }
    let finishing = BlockProducerTask<Int, TestError> { task, finish in
      task.cancel()
      finish(.failure(.provided(.second)))
    }
    queue.addAll([returning, finishing])
    #expect(await returning.outcome() == .cancelled)
    #expect(await finishing.outcome() == .provided)
  }

  @Test("23. Cancellation and a missing value are different errors, both internal")
  func cancellationIsDistinct() async {
    let cancelled = succeeding(1)
    cancelled.cancel()
    let nothing = succeeding(1).compactMap { _ in Int?.none }
    queue.addTask(nothing)
    #expect(await cancelled.outcome() == .cancelled)
    #expect(await nothing.outcome() == .nilOutput)
    #expect(cancelled.isCancelled)
    #expect(!nothing.isCancelled)
    #expect(ProducerTaskError.cancelled.errorDescription?.contains("cancelled") == true)
    let below = cancelled.mapToValue(on: .inline) { $0 }
    _ = await below.completion
    #expect(below.isCancelled)
  }

  @Test("24. Observers and handlers hear of a cancellation once, and never after the end")
  func cancellationIsToldOnce() async {
    let log = Log<String>()
    let task = Manual<Int>().addObserver(Recorder(log)).onCancellationRequest {
      log.append("handler")
    }
    queue.addTask(task)
    await task.started.opened()
    task.cancel()
    task.cancel()
    #expect(log.entries == ["start", "cancel", "handler"])
    task.onCancellationRequest { log.append("late") }
    task.finish(with: .success(1))
    task.cancel()
    #expect(log.entries == ["start", "cancel", "handler", "late", "finish"])

    let other = Log<String>()
    let waiting = Manual<Int>().addObserver(Recorder(other)).onCancellationRequest {
      other.append("handler")
    }
    waiting.cancel()
    waiting.cancel()
    #expect(other.entries == ["cancel", "handler", "finish"])

    let quiet = Log<String>()
    let done = succeeding(1).addObserver(Recorder(quiet)).onCancellationRequest {
      quiet.append("handler")
    }
    queue.addTask(done)
    _ = await done.completion
    done.cancel()
    #expect(quiet.entries == ["start", "finish"])
  }

  @Test("24. Eight threads cancel and one finishes: told at most once, never after the end")
  func cancellationRace() async {
    let ended = await RaceHarness(threads: 8, rounds: 300).run { _ in
      let log = Log<String>()
      let task = Manual<Int>().addObserver(Recorder(log))
      TaskQueue().addTask(task)
      task.started.waitBlocking()
      return (task, log)
    } act: { pair, thread in
      if thread == 0 { pair.0.finish(with: .success(1)) } else { pair.0.cancel() }
    } check: { pair, round in
      pair.0.waitUntilFinished()
      _ = eventuallyBlocking { pair.1.entries.contains("finish") }
      let entries = pair.1.entries
      if entries != ["start", "finish"], entries != ["start", "cancel", "finish"] {
        Issue.record("round \(round): \(entries)")
      }
    }
    #expect(ended)
  }

  @Test("25. Cancelling a finished task changes nothing")
  func cancelAfterFinish() async {
    let task = succeeding(1)
    queue.addTask(task)
    _ = await task.completion
    task.cancel()
    #expect(task.success == 1)
    #expect(!task.isCancelled)
  }

  @Test("26. A task that is started by hand says so, and one that is enqueued twice runs once")
  func misuse() async {
    let byHand = Manual<Int>()
    byHand.start()
    #expect(byHand.kind == .notEnqueued)
    #expect(byHand.executions.value == 0)

    let twice = Manual<Int>()
    let rejected = Log<String>()
    final class Delegate: TaskQueueDelegate {
      let log: Log<String>
      init(_ log: Log<String>) { self.log = log }
      func taskQueue<T: ProducerTaskProtocol>(
        _ queue: TaskQueue, didReject task: T, error: ProducerTaskError
      ) { log.append(error.errorDescription ?? "") }
    }
    let delegate = Delegate(rejected)
    queue.delegate = delegate
    let suspended = TaskQueue(startSuspended: true)
    suspended.addTask(twice)
    queue.addTask(twice)
    #expect(twice.kind == nil)
    #expect(queue.taskCount == 0)
    #expect(rejected.count == 1)
    suspended.isSuspended = false
    await twice.started.opened()
    twice.finish(with: .success(1))
    await suspended.finished()
    #expect(twice.executions.value == 1)

    let running = Manual<Int>()
    queue.addTask(running)
    await running.started.opened()
    queue.addTask(running)
    running.start()
    running.finish(with: .success(1))
    queue.addTask(running)
    #expect(running.success == 1)
    #expect(running.executions.value == 1)
    #expect(rejected.count == 3)
    withExtendedLifetime(delegate) {}
  }

  @Test("26. Every order of enqueuing and cancelling from two threads ends the task")
  func enqueueRace() async {
    let ended = await RaceHarness(threads: 2, rounds: 500).run { _ in
      (succeeding(1), TaskQueue())
    } act: { pair, thread in
      if thread == 0 { pair.1.addTask(pair.0) } else { pair.0.cancel() }
    } check: { pair, _ in
      pair.0.waitUntilFinished()
      pair.1.waitUntilAllTasksAreFinished()
      if pair.1.taskCount != 0 { Issue.record("left behind") }
    }
    #expect(ended)
  }

  @Test("27. Waiting returns after the end, and dependents begin after it")
  func waiting() async {
    let log = Log<String>()
    let first = Manual<Int>().receive { _ in log.append("first is done") }
    let second = BlockProducerTask<Int, TestError> { _, finish in
      log.append(first.isFinished ? "second" : "too early")
      finish(.success(2))
    }.addDependency(first)
    queue.addAll([second, first])
    await first.started.opened()
    #expect(log.entries == [])
    first.finish(with: .success(1))
    await withCheckedContinuation { continuation in
      Thread {
        second.waitUntilFinished()
        continuation.resume()
      }.start()
    }
    #expect(second.isFinished)
    #expect(log.entries == ["first is done", "second"])
  }
}

@Suite("Consumers", .timeLimit(.minutes(5)), .oneAtATime)
struct ConsumerTests {
  private let queue = TaskQueue()

  final class Consumer: ConsumerProducerTask<Int, String, TestError>, @unchecked Sendable {
    override func execute(with consumed: Consumed) {
      switch consumed {
      case .success(let value): finish(with: .success("\(value)"))
      case .failure(.provided(let error)): finish(with: .success("provided \(error)"))
      case .failure(.internal(let error)): finish(with: .success("internal \(error)"))
      }
    }
  }

  @Test("32. A consumer gets the whole result of its producer")
  func results() async throws {
    let producers = [succeeding(1), failing(), broken()]
    let consumers = producers.map { Consumer(producing: $0) }
    queue.addAll(consumers)
    queue.addAll(producers)
    #expect(try await consumers[0].value == "1")
    #expect(try await consumers[1].value == "provided first")
    #expect(try await consumers[2].value == "internal InnerError()")
    #expect(consumers[0].producing === producers[0])
    #expect(consumers[0].consumed == .success(1))
  }

  @Test("33. A consumer without anything to consume fails, and its work is not done")
  func nothingToConsume() async {
    let producer = Manual<Int>()
    let consumer = Consumer(producing: producer).removeDependency(producer)
    queue.addTask(consumer)
    #expect(await consumer.outcome() == .producing)
  }

  @Test("34. Consumer and producer are enqueued in any order")
  func order() async throws {
    for first in [true, false] {
      let producer = succeeding(2)
      let consumer = Consumer(producing: producer)
      queue.addAll(first ? [producer, consumer] : [consumer, producer])
      #expect(try await consumer.value == "2")
    }
  }
}

@Suite("Block, async, empty and gated tasks", .timeLimit(.minutes(5)), .oneAtATime)
struct ReadyMadeTaskTests {
  private let queue = TaskQueue()

  @Test("35. A block finishes at once or later, and only once")
  func block() async throws {
    let now = BlockProducerTask<Int, TestError> { _, finish in
      finish(.success(1))
      finish(.success(2))
    }
    let later = BlockProducerTask<Int, TestError> { _, finish in
      DispatchQueue.global().async {
        finish(.success(3))
        finish(.failure(.provided(.first)))
      }
    }
    let consumer = BlockConsumerProducerTask<Int, Int, TestError>(producing: now) {
      task, consumed, finish in
      finish(consumed.map { $0 + (task.isCancelled ? 0 : 10) })
    }
    queue.addAll([now, later, consumer])
    #expect(try await now.value == 1)
    #expect(try await later.value == 3)
    #expect(try await consumer.value == 11)
  }

  @Test("35. A block is released when it has run, or will not")
  func release() async {
    let tracker = LifetimeTracker()
    let (ran, cancelled, consumer): (Sample<Int>, Sample<Int>, NonFailBlockConsumerTask<Void>)
    do {
      let (a, b, c) = (tracker.make(), tracker.make(), tracker.make())
      ran = Sample { _, finish in
        a.touch()
        finish(.success(1))
      }
      cancelled = Sample { _, finish in
        b.touch()
        finish(.success(1))
      }
      consumer = NonFailBlockConsumerTask<Void>(producing: EmptyTask()) { _, _, finish in
        c.touch()
        finish(.success)
      }
    }
    queue.addTask(ran)
    cancelled.cancel()
    consumer.cancel()
    _ = await ran.completion
    #expect(await eventually { tracker.alive == 0 })
    withExtendedLifetime((ran, cancelled, consumer)) {}
  }

  @Test("36. A block may look at the task's cancellation and end early")
  func cancelledBlock() async {
    let started = Event()
    let proceed = Event()
    let task = BlockProducerTask<Int, TestError> { task, finish in
      started.signal()
      proceed.waitBlocking()
      guard !task.isCancelled else {
        finish(.failure(.internal(ProducerTaskError.executionFailure)))
        return
      }
      finish(.success(1))
    }
    queue.addTask(task)
    await started.opened()
    task.cancel()
    proceed.signal()
    #expect(await task.outcome() == .execution)
  }

  @Test("37. An empty task succeeds, and is a mark to wait for")
  func empty() async {
    let start = EmptyTask()
    let task = Manual<Int>().addDependency(start)
    queue.addTask(task)
    #expect(task.executions.value == 0)
    queue.addTask(start)
    #expect(await task.started.opened())
    #expect(start.kind == .success)
    task.finish(with: .success(1))
  }

  final class Asynchronous: Operation, @unchecked Sendable {
    let started = Event()
    let starts = Counter()
    private let state = Box<Int>(0)
    override var isAsynchronous: Bool { true }
    override var isExecuting: Bool { state.value == 1 }
    override var isFinished: Bool { state.value == 2 }
    override func start() {
      starts.add()
      if isCancelled { return end() }
      state.value = 1
      started.signal()
    }
    override func cancel() {
      super.cancel()
      if isExecuting { end() }
    }
    func end() {
      state.value = 2
      didChangeValue(forKey: "isFinished")
    }
  }

  // On Apple's platforms nothing tells whether a queue has the operation.
  #if !(canImport(Darwin) || PROPERATIONS_AS_ON_DARWIN)
    @Test("38. A gated task waits for an operation that a queue has, and does not start it")
    func gatedOperationInQueue() async {
      let elsewhere = OperationQueue()
      elsewhere.isSuspended = true
      let runs = Counter()
      let operation = BlockOperation { runs.add() }
      elsewhere.addOperation(operation)
      let task = GatedTask(operation: operation)
      queue.addTask(task)
      #expect(await eventually { hasReturned(task) })
      #expect(runs.value == 0)
      elsewhere.isSuspended = false
      #expect(await task.outcome() == .success)
      #expect(runs.value == 1)
    }
  #endif

  @Test("38. A gated task ends like its operation, and passes a cancellation on")
  func gated() async {
    let count = Counter()
    let done = GatedTask(operation: BlockOperation { count.add() })
    queue.addTask(done)
    #expect(await done.outcome() == .success)
    #expect(count.value == 1)

    let cancelledBefore = BlockOperation { count.add() }
    cancelledBefore.cancel()
    let before = GatedTask(operation: cancelledBefore)
    queue.addTask(before)
    #expect(await before.outcome() == .cancelled)
    #expect(count.value == 1)

    let running = Asynchronous()
    let during = GatedTask(operation: running)
    queue.addTask(during)
    await running.started.opened()
    running.cancel()
    #expect(await during.outcome() == .cancelled)

    let other = Asynchronous()
    let task = GatedTask(operation: other)
    queue.addTask(task)
    await other.started.opened()
    task.cancel()
    #expect(other.isCancelled)
    #expect(await task.outcome() == .cancelled)
  }

  @Test("39. A gated operation is started once, after its own dependencies, or only waited for")
  func gatedOnce() async {
    let gate = Asynchronous()
    let operation = Asynchronous()
    operation.addDependency(gate)
    let task = GatedTask(operation: operation)
    let log = Log<Int>()
    task.receive { _ in log.append(1) }
    queue.addTask(task)
    #expect(await eventually { task.isExecuting })
    #expect(operation.starts.value == 0)
    gate.start()
    gate.end()
    #expect(await operation.started.opened())
    operation.end()
    #expect(await task.outcome() == .success)
    #expect(operation.starts.value == 1)
    #expect(log.entries == [1])

    let finished = Asynchronous()
    finished.start()
    finished.end()
    let late = GatedTask(operation: finished)
    queue.addTask(late)
    #expect(await late.outcome() == .success)
    #expect(finished.starts.value == 1)
  }

  #if os(Linux) || os(macOS)
    @Test("39. A gated future that settles while its task starts it: the task finishes")
    func gatedFutureThatSettles() async {
      await #expect(processExitsWith: .success) {
        final class Hasty: Promise<Int>, @unchecked Sendable {
          override var isReady: Bool {
            let isReady = super.isReady
            succeed(with: 1)
            return isReady
          }
        }
        let task = GatedTask(operation: Hasty())
        let queue = TaskQueue()
        queue.addTask(task)
        if await task.outcome() != .success { exit(EXIT_FAILURE) }
      }
    }
  #endif

  @Test(
    "103. An async block's value and typed error are the result; cancelling it cancels the work")
  func async() async throws {
    let value = AsyncBlockProducerTask<Int, TestError> { _ in
      await Task.yield()
      return 5
    }
    let failed = AsyncBlockProducerTask<Int, TestError> { _ throws(TestError) in throw .second }
    queue.addAll([value, failed])
    #expect(try await value.value == 5)
    #expect(await failed.outcome() == .provided)
    #expect(failed.provided == .second)

    let started = Event()
    let stopped = AsyncBlockProducerTask<Int, any Error> { _ in
      started.signal()
      try await Task.sleep(for: .seconds(100))
      return 1
    }
    queue.addTask(stopped)
    await started.opened()
    stopped.cancel()
    #expect(await stopped.outcome() == .cancelled)

    let stubborn = AsyncBlockProducerTask<Int, Never> { task in
      task.cancel()
      return Task.isCancelled ? 1 : 2
    }
    queue.addTask(stubborn)
    #expect(try await stubborn.value == 1)
  }

  @Test("103. Awaiting a task, and cancelling the wait or the task")
  func awaiting() async {
    let task = Manual<Int>()
    queue.addTask(task)
    await task.started.opened()
    let wait = Task { try await task.value }
    wait.cancel()
    await #expect(throws: CancellationError.self) { try await wait.value }
    #expect(!task.isCancelled)
    let tied = Task { try await task.value(onTaskCancellation: .cancelFuture) }
    tied.cancel()
    await #expect(throws: CancellationError.self) { try await tied.value }
    #expect(task.isCancelled)
    task.finish(with: .success(3))
    await #expect(throws: Never.self) { try await task.value }
  }
}
