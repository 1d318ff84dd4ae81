import Foundation
import Futures
import TestSupport
import Testing

@Suite("Execution contexts", .timeLimit(.minutes(5)), .oneAtATime)
struct ExecutionContextTests {
  @Test func `an operation queue runs the closures, within its concurrency limit`() async {
    let queue = OperationQueue()
    queue.maxConcurrentOperationCount = 2
    let running = Counter()
    let done = Event()
    let finished = Counter()
    for _ in 0..<20 {
      Promises.makeSucceeded(with: 1).onSuccess(on: queue) { _ in
        running.add()
        usleep(500)
        running.add(-1)
        if OperationQueue.current === queue, finished.add() == 20 { done.signal() }
      }
    }
    #expect(await done.opened())
    #expect(running.highest <= 2)
  }

  @Test func `an operation queue runs closures of futures with a higher priority first`() async {
    let queue = OperationQueue()
    queue.maxConcurrentOperationCount = 1
    queue.isSuspended = true
    let log = Log<String>()
    let promise = Promise<Int>()
    let futures = [
      ("low", Operation.QueuePriority.low), ("normal", .normal), ("high", .veryHigh),
    ].map { name, priority in
      let future = promise.mapToValue(on: queue) { _ in log.append(name) }
      future.queuePriority = priority
      future.name = name
      return future
    }
    promise.succeed(with: 1)
    #expect(Set(queue.operations.compactMap(\.name)).isSuperset(of: ["low", "normal", "high"]))
    queue.isSuspended = false
    for future in futures { _ = await future.completion }
    #expect(log.entries == ["high", "normal", "low"])
  }

  @Test func `a suspended operation queue runs nothing until it goes on`() async {
    let queue = OperationQueue()
    queue.isSuspended = true
    let future = Promises.run(on: queue) { 1 }
    #expect(queue.operationCount == 1)
    #expect(!future.isFulfilled)
    queue.isSuspended = false
    #expect(await future.completion.successValue == 1)
  }

  @Test func `an operation queue suspended in mid-turn runs no more links of the chain`() async {
    let queue = OperationQueue()
    queue.maxConcurrentOperationCount = 1
    let log = Log<Int>()
    let promise = Promise<Int>()
    var last: Future<Int> = promise
    for index in 0..<10 {
      last = last.mapToValue(on: queue) {
        log.append(index)
        if index == 3 { queue.isSuspended = true }
        return $0
      }
    }
    promise.succeed(with: 1)
    #expect(await eventually { queue.isSuspended && queue.operationCount == 1 && log.count == 4 })
    #expect(log.entries == [0, 1, 2, 3])
    queue.isSuspended = false
    #expect(await last.completion.successValue == 1)
    #expect(log.entries == Array(0..<10))
  }

  @Test func `a dispatch queue runs the closures on itself`() async {
    let queue = DispatchQueue(label: "own")
    let future = Promises.run(on: queue) {
      dispatchPrecondition(condition: .onQueue(queue))
      return 1
    }.mapToValue(on: queue) { value in
      dispatchPrecondition(condition: .onQueue(queue))
      return value
    }
    #expect(await future.completion.successValue == 1)
  }

  @Test
  func `the main dispatch queue, the main operation queue and the default are the main actor`()
    async
  {
    let value = await Promises.run(on: DispatchQueue.main) { MainActor.assertIsolated() }
      .mapToValue(on: .main) { _ in MainActor.assertIsolated() }
      .mapToValue { _ in
        MainActor.assertIsolated()
        return 1
      }.completion.successValue
    #expect(value == 1)
  }

  @Test func `a task executor runs the closures`() async {
    final class CountingExecutor: TaskExecutor {
      let queue = DispatchQueue(label: "executor")
      let count = Counter()
      func enqueue(_ job: consuming ExecutorJob) {
        count.add()
        let job = UnownedJob(job)
        queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
      }
    }
    let executor = CountingExecutor()
    let future = Promises.makeSucceeded(with: 1).mapToValue(on: .executor(executor)) { value in
      dispatchPrecondition(condition: .onQueue(executor.queue))
      return value + 1
    }
    #expect(await future.completion.successValue == 2)
    #expect(executor.count.value >= 1)
  }

  @Test func `an inline closure runs on the settling thread`() async {
    let promise = Promise<Int>()
    let isSame = Box<Bool?>(nil)
    let settler = Box<ObjectIdentifier?>(nil)
    promise.onSuccess(on: .inline) { _ in
      isSame.value = ObjectIdentifier(Thread.current) == settler.value
    }
    await withCheckedContinuation { continuation in
      Thread {
        settler.value = ObjectIdentifier(Thread.current)
        promise.succeed(with: 1)
        continuation.resume()
      }.start()
    }
    #expect(isSame.value == true)
  }

  @Test func `the operation that a context is given says when it is over, without a queue`() async {
    let context = ManualContext()
    let (over, next) = (Event(), Event())
    let future = Promises.makeSucceeded(with: 1).mapToValue(on: context) { $0 }
    let dependent = BlockOperation { next.signal() }
    dependent.addDependency(context.waiting[0])
    context.waiting[0].completionBlock = { over.signal() }
    let queue = OperationQueue()
    queue.addOperation(dependent)
    context.runNext()
    #expect(future.result?.successValue == 1)
    #expect(await over.opened())
    #expect(await next.opened())
  }

  @Test func `cancelling a queue reaches the second closure of a slot while it runs`() async {
    let queue = OperationQueue()
    let (started, end) = (Event(), Event())
    let promise = Promise<Int>()
    let second = promise.mapToValue(on: queue) { $0 }.mapToValue(on: queue) { value in
      started.signal()
      end.wait()
      return value
    }
    promise.succeed(with: 1)
    #expect(await started.opened())
    queue.cancelAllOperations()
    #expect(second.isCancelled)
    end.signal()
    #expect(await eventually { second.isFinished })
  }

  /// An operation that becomes ready just after the queue that takes it has
  /// asked.
  private final class ReadyTooSoon: Operation, @unchecked Sendable {
    // Sendable: both have locks of their own.
    let questions = Counter()
    let ran = Event()
    override var isReady: Bool { questions.add() > 1 }
    override func main() { ran.signal() }
  }

  @Test func `an operation that becomes ready while a queue takes it is started`() async {
    let operation = ReadyTooSoon()
    OperationQueue().addReliably(operation)
    #expect(await operation.ran.opened())
  }

  @Test func `a context that starts an operation twice runs the closure once`() {
    let context = ManualContext()
    let ran = Counter()
    let future = Promises.makeSucceeded(with: 1).mapToValue(on: context) { ran.add($0) }
    context.runNext(times: 3)
    #expect(ran.value == 1)
    #expect(future.isFinished)
  }

  @Test(.guarantee(2))
  func `a context that starts an operation from two threads runs the closure once`() async {
    let ran = Counter()
    let ended = await RaceHarness(threads: 4, rounds: 500).run { _ -> ManualContext in
      let context = ManualContext()
      Promises.makeSucceeded(with: 1).onSuccess(on: context) { _ in ran.add() }
      return context
    } act: { context, _ in
      context.waiting[0].start()
    } check: { context, _ in
      // The operation keeps its context, and the other way round.
      context.dropAll()
    }
    #expect(ended)
    #expect(ran.value == 500)
  }

  @Test func `a context that starts operations where it is asked to needs no stack`() async throws {
    struct Immediate: ExecutionContext {
      func execute(_ operation: Operation) { operation.start() }
    }
    let value = try await SmallStackThread.running {
      let promise = Promise<Int>()
      var last: Future<Int> = promise
      for _ in 0..<50_000 { last = last.mapToValue(on: Immediate()) { $0 + 1 } }
      promise.succeed(with: 0)
      return last.result?.successValue
    }
    #expect(value == 50_000)
  }

  @Test func `a context that starts operations where it is asked to keeps the order`() {
    struct Immediate: ExecutionContext {
      func execute(_ operation: Operation) { operation.start() }
    }
    let promise = Promise<Int>()
    let log = Log<Int>()
    for index in 0..<100 {
      if index.isMultiple(of: 2) {
        promise.onSuccess(on: Immediate()) { _ in log.append(index) }
      } else {
        _ = promise.mapToValue(on: Immediate()) { _ in log.append(index) }
      }
    }
    promise.succeed(with: 1)
    #expect(log.entries == Array(0..<100))
  }

  @Test func `a context that delays its operations settles the futures later`() async {
    struct Delayed: ExecutionContext {
      func execute(_ operation: Operation) {
        DispatchQueue.global().asyncAfter(deadline: .now() + 0.005) { operation.start() }
      }
    }
    let future = Promises.makeSucceeded(with: 1).mapToValue(on: Delayed()) { $0 }
    #expect(await future.completion.successValue == 1)
  }

  @Test func `a context that reorders its operations gives every future its own result`() {
    var generator = SeededGenerator()
    for _ in 0..<50 {
      let context = ManualContext()
      let promise = Promise<Int>()
      let futures = (0..<20).map { index in
        promise.mapToValue(on: context) { $0 + index }
          .mapToFuture(on: context) { value in Promises.run(on: context) { value * 2 } }
          .mapToValue(on: context) { $0 }
      }
      promise.succeed(with: 1)
      context.runAll(using: &generator)
      #expect(futures.map { $0.result?.successValue } == (0..<20).map { ($0 + 1) * 2 })
    }
  }

  @Test func `an existential context is as good as any`() {
    let context = ManualContext()
    let any: any ExecutionContext = context
    let future = Promises.makeSucceeded(with: 1).mapToValue(on: any) { $0 }
    context.runAll()
    #expect(future.result?.successValue == 1)
  }

  @Test func `a failure passes a future without visiting its context`() {
    let context = ManualContext()
    let promise = Promise<Int>()
    var last: Future<Int> = promise
    for _ in 0..<10 { last = last.mapToValue(on: context) { $0 } }
    promise.fail(with: TestError.first)
    #expect(last.anyError as? TestError == .first)
    #expect(context.executeCount == 0)
  }

  @Test func `a subclass of OperationQueue is asked to add the operations`() async {
    final class Recording: OperationQueue, @unchecked Sendable {
      let count = Counter()
      override func addOperation(_ operation: Operation) {
        count.add()
        super.addOperation(operation)
      }
    }
    let queue = Recording()
    #expect(await Promises.run(on: queue) { 1 }.completion.successValue == 1)
    #expect(queue.count.value == 1)
  }

  @Test func `a concurrent queue runs the continuations of one future in parallel`() async {
    let promise = Promise<Int>()
    let queue = OperationQueue()
    queue.maxConcurrentOperationCount = 2
    let (one, two) = (Event(), Event())
    let futures = [
      promise.mapToValue(on: queue) { _ in
        one.signal()
        return two.wait()
      },
      promise.mapToValue(on: queue) { _ in
        two.signal()
        return one.wait()
      },
    ]
    // From inside a turn on the same queue.
    _ = Promises.run(on: queue) { promise.succeed(with: 1) }
    for future in futures { #expect(await future.completion.successValue == true) }
  }
}
