import Foundation
import Futures
import OperationBridge
import TestSupport
import Testing

@Suite("Shutting a queue down", .timeLimit(.minutes(5)), .oneAtATime)
struct ShutDownTests {
  private static let refusal = ProperationsError.queueIsShutDown(
    queue: "the operation queue \"test\"")

  /// An operation that works until it is told to stop, and ignores its cancellation.
  private final class Stubborn: Operation, @unchecked Sendable {
    // Sendable: nothing changes after init.
    let (started, goOn) = (Event(), Event())

    override func main() {
      started.signal()
      goOn.wait()
    }
  }

  // MARK: The end

  @Test("An empty queue: settled at once, and nothing is left")
  func empty() async throws {
    let queue = OperationQueue.make()
    #expect(!queue.isShutDown)
    let left = queue.shutDown(within: .seconds(10), clock: ManualClock())
    #expect(left.isSettled && queue.isShutDown)
    #expect(try await left.value.isEmpty)
  }

  @Test("Work that ends in time: all of it is done, nothing is cancelled, the timer is released")
  func inTime() async throws {
    let (queue, clock, gate) = (OperationQueue.make(), ManualClock(), Event())
    let first = queue.run { gate.wait() }
    let second = queue.run { 2 }
    let async = queue.run { () async in 3 }
    let promise = Promises.make(promising: Int.self, in: queue)
    let operation = BlockOperation {}
    queue.addOperation(operation)
    let left = queue.shutDown(within: .seconds(10), clock: clock)
    #expect(await eventually { clock.sleeping == 1 })
    gate.signal()
    #expect(try await second.value == 2)
    #expect(try await async.value == 3)
    #expect(!left.isSettled)
    promise.succeed(with: 4)
    #expect(try await left.value.isEmpty)
    #expect(first.isFinished && operation.isFinished && !operation.isCancelled)
    #expect(await eventually { clock.sleeping == 0 })
  }

  @Test("Work that the work in the queue adds: is waited for as well")
  func addedByWork() async throws {
    let (queue, gate, log) = (OperationQueue.make(), Event(), Log<Int>())
    queue.addOperation { [queue] in
      gate.wait()
      queue.addOperation {
        log.append(1)
        queue.addOperation { log.append(2) }
      }
    }
    let link = queue.run { 3 }.mapToValue(on: queue) { log.append($0) }
    let left = queue.shutDown(within: .seconds(10), clock: ManualClock())
    gate.signal()
    #expect(try await left.value.isEmpty)
    try await link.value
    #expect(Set(log.entries) == [1, 2, 3])
  }

  @Test("Time is up: what is left is cancelled and listed, and the call does not wait for it")
  func timeIsUp() async throws {
    let (queue, clock) = (OperationQueue.make(limit: 2), ManualClock())
    let stubborn = Stubborn()
    queue.addOperation(stubborn)
    await stubborn.started.opened()
    let isCancelled = Event()
    let started = Event()
    let async = queue.run { () async throws in
      started.signal()
      try await withTaskCancellationHandler {
        try await Task.sleep(for: .seconds(3600))
      } onCancel: {
        isCancelled.signal()
      }
    }
    await started.opened()
    let waiting = BlockOperation {}
    waiting.name = "waiting"
    queue.addOperation(waiting)
    let closure = queue.run { 1 }
    let promise = Promises.make(promising: Int.self, in: queue)
    let left = queue.shutDown(within: .seconds(10), clock: clock)
    #expect(await eventually { clock.sleeping == 1 })
    clock.advance(by: .seconds(9))
    #expect(!left.isSettled && !waiting.isCancelled)
    clock.advance(by: .seconds(1))
    let operations = try await left.value
    #expect(operations.count == 5)
    for operation in [stubborn, async, waiting, closure, promise] {
      #expect(operations.contains { $0 === operation })
      #expect(operation.isCancelled)
    }
    #expect(await isCancelled.opened())
    #expect(!stubborn.isFinished)
    #expect(closure.isFulfilled && promise.isFulfilled)
    stubborn.goOn.signal()
    #expect(await queue.isEmptyEventually())
  }

  @Test("Time is up while a handler runs: the list is not empty")
  func handler() async throws {
    let (queue, clock, begun, gate) = (OperationQueue.make(), ManualClock(), Event(), Event())
    Promises.makeSucceeded(with: 1).onSuccess(on: queue) { _ in
      begun.signal()
      gate.wait()
    }
    #expect(await begun.opened())
    let left = queue.shutDown(within: .seconds(1), clock: clock)
    #expect(await eventually { clock.sleeping == 1 })
    clock.advance(by: .seconds(1))
    #expect(try await left.value.count == 1)
    gate.signal()
    #expect(await queue.isEmptyEventually())
  }

  @Test("Zero, negative and immense times: at once, at once, and a timer that does not overflow")
  func times() async throws {
    for time in [Duration.zero, .seconds(-1), .seconds(Int64.min)] {
      let queue = OperationQueue.make(isSuspended: true)
      let operation = BlockOperation {}
      queue.addOperation(operation)
      let left = queue.shutDown(within: time)
      #expect(left.isSettled && operation.isCancelled)
      #expect(try await left.value.map(ObjectIdentifier.init) == [ObjectIdentifier(operation)])
      queue.isSuspended = false
      #expect(await queue.isEmptyEventually())
    }
    let queue = OperationQueue.make()
    let promise = Promises.make(promising: Int.self, in: queue)
    let left = queue.shutDown(within: .seconds(Int64.max))
    #expect(!left.isSettled)
    promise.succeed(with: 1)
    #expect(try await left.value.isEmpty)
  }

  @Test("A clock whose sleep throws: the time is up")
  func brokenClock() async throws {
    struct Broken: Clock {
      var now: ContinuousClock.Instant { ContinuousClock().now }
      var minimumResolution: Duration { .nanoseconds(1) }
      func sleep(until deadline: ContinuousClock.Instant, tolerance: Duration?) async throws {
        throw TestError.first
      }
    }
    let queue = OperationQueue.make()
    let promise = Promises.make(promising: Int.self, in: queue)
    #expect(try await queue.shutDown(within: .seconds(10), clock: Broken()).value.count == 1)
    #expect(promise.isCancelled)
  }

  // MARK: Refusing

  @Test("New work through the library: fails with queueIsShutDown, and never starts")
  func refused() async throws {
    let (queue, starts) = (OperationQueue.make(), Counter())
    queue.shutDown(within: .zero)
    let futures: [Future<Void>] = [
      queue.run { starts.add() }, queue.run(barrier: true) { starts.add() },
      queue.run { () async in starts.add() },
      queue.run(barrier: true, after: BlockOperation()) { () async in starts.add() },
      Promises.make(promising: Void.self, in: queue),
      Promises.makeBlocking(in: queue, on: .inline) { _ in starts.add() },
    ]
    // One has a dependency, and is refused when that has finished.
    for (index, future) in futures.enumerated() where index != 3 {
      #expect(await future.completion.failureValue as? ProperationsError == Self.refusal)
    }
    futures[3].cancel()
    let promise = Promises.make(promising: Int.self)
    #expect(throws: Self.refusal) { try queue.addFuture(promise) }
    #expect(!promise.isSettled)
    promise.succeed(with: 1)
    #expect(queue.operationCount == 0 && starts.value == 0)
  }

  #if os(Linux) || os(macOS)
    @Test("A process in a queue that is shut down: is not launched")
    func process() async {
      let queue = OperationQueue.make()
      queue.shutDown(within: .zero)
      let process = Process()
      process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
      process.arguments = ["true"]
      let status = process.runAsFuture(in: queue)
      #expect(await status.completion.failureValue as? ProperationsError == Self.refusal)
      #expect(!process.isRunning)
    }
  #endif

  @Test("Operations and closures of Foundation: run, and are waited for until the time is up")
  func addedDirectly() async throws {
    let (queue, clock) = (OperationQueue.make(), ManualClock())
    let stubborn = Stubborn()
    queue.addOperation(stubborn)
    await stubborn.started.opened()
    let left = queue.shutDown(within: .seconds(10), clock: clock)
    let late = BlockOperation {}
    queue.addOperation(late)
    let link = Promises.makeSucceeded(with: 1).mapToValue(on: queue) { $0 + 1 }
    stubborn.goOn.signal()
    #expect(try await left.value.isEmpty)
    #expect(late.isFinished && !late.isCancelled)
    #expect(try await link.value == 2)
  }

  @Test("The main queue: cannot be shut down, and works on")
  func mainQueue() async throws {
    let left = OperationQueue.main.shutDown(within: .zero)
    #expect(
      await left.completion.failureValue as? ProperationsError == .mainQueueCannotBeShutDown)
    #expect(!OperationQueue.main.isShutDown)
    #expect(try await OperationQueue.main.run { 1 }.value == 1)
  }

  @Test("Queues that come and go: a new one is open, whatever its address")
  func addresses() {
    for _ in 0..<200 {
      let queue = OperationQueue()
      #expect(!queue.isShutDown)
      queue.shutDown(within: .zero)
      #expect(queue.isShutDown)
    }
  }

  @Test("The two errors: each says in sentences what to do, and equals itself and no other")
  func errors() throws {
    let all = [
      Self.refusal, .queueIsShutDown(queue: "other"), .mainQueueCannotBeShutDown, .noFutures,
    ]
    for (index, error) in all.enumerated() {
      let text = try #require(error.errorDescription)
      #expect(text.hasSuffix(".") && text.split(separator: ". ").count >= 2)
      for (other, candidate) in all.enumerated() {
        #expect((error == candidate) == (index == other))
      }
    }
  }

  // MARK: Products

  @Test("Shut down twice: each call has its own time, the second finds what ignores cancelling")
  func twice() async throws {
    let (queue, clock) = (OperationQueue.make(), ManualClock())
    let stubborn = Stubborn()
    queue.addOperation(stubborn)
    await stubborn.started.opened()
    let long = queue.shutDown(within: .seconds(100), clock: clock)
    let short = try await queue.shutDown(within: .zero).value
    #expect(short.count == 1 && stubborn.isCancelled && !long.isSettled)
    stubborn.goOn.signal()
    #expect(try await long.value.isEmpty)
  }

  @Test("The future is cancelled: only the wait ends, the work is cancelled when the time is up")
  func cancelled() async throws {
    let (queue, clock) = (OperationQueue.make(), ManualClock())
    let promise = Promises.make(promising: Int.self, in: queue)
    let left = queue.shutDown(within: .seconds(10), clock: clock)
    #expect(await eventually { clock.sleeping == 1 })
    left.cancel()
    #expect(left.isCancelled && !promise.isSettled)
    clock.advance(by: .seconds(10))
    await #expect(throws: ProperationsError.cancelled) { try await promise.value }
  }

  @Test("Awaited in a cancelled task: the wait ends, and one in a task of its own does not")
  func cancelledTask() async throws {
    let (queue, clock) = (OperationQueue.make(), ManualClock())
    let promise = Promises.make(promising: Int.self, in: queue)
    let waits = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      let left = queue.shutDown(within: .seconds(10), clock: clock)
      await #expect(throws: CancellationError.self) { try await left.value }
      #expect(await eventually { clock.sleeping == 1 })
      clock.advance(by: .seconds(10))
      return try await Task { try await left.value }.value.count
    }
    #expect(try await waits.value == 1)
    #expect(promise.isCancelled)
  }

  @Test("The future is dropped: the work is cancelled when the time is up")
  func dropped() async throws {
    let (queue, clock) = (OperationQueue.make(), ManualClock())
    let promise = Promises.make(promising: Int.self, in: queue)
    queue.shutDown(within: .seconds(10), clock: clock)
    #expect(await eventually { clock.sleeping == 1 })
    clock.advance(by: .seconds(10))
    await #expect(throws: ProperationsError.cancelled) { try await promise.value }
  }

  @Test("From a closure of the queue that blocks: the closure does not wait for itself")
  func fromClosure() async throws {
    let queue = OperationQueue.make()
    let left = queue.run { [queue] in
      try queue.shutDown(within: .seconds(3600)).wait().count
    }
    #expect(try await left.value == 0)
  }

  @Test("From an async closure of the queue: does not wait for itself, and is not cancelled")
  func fromAsyncClosure() async throws {
    let queue = OperationQueue.make(limit: 2)
    let promise = Promises.make(promising: Int.self, in: queue)
    let left = queue.run { [queue] () async throws in
      let left = try await queue.shutDown(within: .milliseconds(1)).value
      return (left.count, Task.isCancelled)
    }
    let (count, isCancelled) = try await left.value
    #expect(count == 1 && !isCancelled && promise.isCancelled)
  }

  @Test("From the closure of a blocking promise: does not wait for the promise, nor cancel it")
  func fromBlockingPromise() async throws {
    for isInline in [true, false] {
      let queue = OperationQueue.make(limit: 2)
      let other = Promises.make(promising: Int.self, in: queue)
      let context: any ExecutionContext = isInline ? .inline : DispatchQueue.global()
      func make(_ context: some ExecutionContext) -> BlockingPromise<Int> {
        Promises.makeBlocking(in: queue, on: context) { [queue] promise in
          promise.succeed(with: try queue.shutDown(within: .milliseconds(1)).wait().count)
        }
      }
      let promise = make(context)
      #expect(await eventually { promise.isFinished })
      #expect(promise.result?.successValue == 1 && other.isCancelled)
    }
  }

  @Test("From a Foundation operation that blocks: it does not wait for itself")
  func fromOperation() async throws {
    let (queue, count, isOver) = (OperationQueue.make(), Log<Int>(), Event())
    queue.addOperation { [queue] in
      count.append((try? queue.shutDown(within: .seconds(3600)).wait().count) ?? -1)
      isOver.signal()
    }
    #expect(await isOver.opened())
    #expect(count.entries == [0])
  }

  @Test("From an inline closure in a Foundation operation: the operation is left out")
  func fromInlineClosure() async throws {
    let (queue, counts) = (OperationQueue.make(), Log<Int>())
    queue.addOperation { [queue] in
      _ = Promises.makeSucceeded(with: 1).mapToValue(on: .inline) { _ in
        counts.append(queue.shutDown(within: .zero).result?.successValue?.count ?? -1)
      }
    }
    #expect(await eventually { counts.entries == [0] })
    #expect(await queue.isEmptyEventually())
  }

  @Test("From one of two Foundation operations: nothing tells which one calls, so both are listed")
  func fromOneOfTwoOperations() async throws {
    let (queue, counts, stubborn) = (OperationQueue.make(limit: 2), Log<Int>(), Stubborn())
    queue.addOperation(stubborn)
    #expect(await stubborn.started.opened())
    queue.addOperation { [queue] in
      counts.append(queue.shutDown(within: .zero).result?.successValue?.count ?? -1)
    }
    #expect(await eventually { counts.entries == [2] })
    stubborn.goOn.signal()
    #expect(await queue.isEmptyEventually())
  }

  @Test("A suspended queue: its operations are cancelled, and finish when it is resumed")
  func suspended() async throws {
    let (queue, clock, starts) = (OperationQueue.make(isSuspended: true), ManualClock(), Counter())
    let closure = queue.run { starts.add() }
    let async = queue.run { () async in starts.add() }
    let operation = BlockOperation { starts.add() }
    queue.addOperation(operation)
    let left = queue.shutDown(within: .seconds(1), clock: clock)
    #expect(await eventually { clock.sleeping == 1 })
    clock.advance(by: .seconds(1))
    #expect(try await left.value.count == 3)
    #expect(closure.isCancelled && async.isCancelled && operation.isCancelled)
    queue.isSuspended = false
    #expect(await queue.isEmptyEventually())
    #expect(starts.value == 0)
  }

  @Test("Barriers: those of the library are cancelled behind what is in front of them")
  func barriers() async throws {
    let (queue, starts) = (OperationQueue.make(limit: 4), Counter())
    let stubborn = Stubborn()
    queue.addOperation(stubborn)
    await stubborn.started.opened()
    let barrier = queue.run(barrier: true) { starts.add() }
    let async = queue.run(barrier: true) { () async in starts.add() }
    let behind = queue.run { starts.add() }
    let left = try await queue.shutDown(within: .milliseconds(1)).value
    for operation in [stubborn, barrier, async, behind] {
      #expect(left.contains { $0 === operation })
    }
    stubborn.goOn.signal()
    #expect(await queue.isEmptyEventually())
    #expect(starts.value == 0)
  }

  @Test("A barrier block of Foundation: what is in front and behind is cancelled, no crash")
  func foundationBarrier() async throws {
    let queue = OperationQueue.make(limit: 4)
    let stubborn = Stubborn()
    queue.addOperation(stubborn)
    await stubborn.started.opened()
    let isOver = Event()
    queue.addBarrierBlock { isOver.signal() }
    let behind = queue.run { 1 }
    #expect(try await queue.shutDown(within: .milliseconds(1)).value.count >= 2)
    #expect(behind.isCancelled)
    stubborn.goOn.signal()
    #expect(await queue.isEmptyEventually())
    #if !canImport(Darwin)
      #expect(await isOver.opened())
    #endif
  }

  @Test("Fifty pending promises: each is listed, in the order in which they came, and cancelled")
  func manyPromises() async throws {
    let queue = OperationQueue.make()
    let promises = (0..<50).map { _ in Promises.make(promising: Int.self, in: queue) }
    let left = try await queue.shutDown(within: .zero).value
    #expect(left.map(ObjectIdentifier.init) == promises.map(ObjectIdentifier.init))
    #expect(promises.allSatisfy { $0.isCancelled })
    #expect(await queue.isEmptyEventually())
  }

  @Test("Promises added after all operations were cancelled: are cancelled as well")
  func addedAfterCancelling() async throws {
    let queue = OperationQueue.make()
    queue.isSuspended = true
    let first = Promises.make(promising: Int.self, in: queue)
    queue.cancelAllOperations()
    #expect(first.isCancelled)
    let second = Promises.make(promising: Int.self, in: queue)
    let left = try await queue.shutDown(within: .zero).value
    #expect(left.contains { $0 === second } && second.isCancelled)
    queue.isSuspended = false
  }

  @Test("A promise that its producer drops meanwhile: breaks, and is not waited for")
  func droppedPromise() async throws {
    let queue = OperationQueue.make()
    var promise: Promise<Int>? = Promises.make(promising: Int.self, in: queue)
    let left = queue.shutDown(within: .seconds(3600))
    #expect(promise?.isSettled == false)
    promise = nil
    #expect(try await left.value.isEmpty)
  }

  @Test("A cancellation handler that shuts down again and adds work: refused, and no hang")
  func reentrant() async throws {
    let queue = OperationQueue.make()
    let promise = Promises.make(promising: Int.self, in: queue)
    let errors = Log<ProperationsError?>()
    promise.onCancellationRequest { [queue] in
      _ = queue.shutDown(within: .zero)
      let late = Promises.make(promising: Int.self, in: queue)
      errors.append(late.anyError as? ProperationsError)
    }
    #expect(try await queue.shutDown(within: .zero).value.count == 1)
    #expect(errors.entries == [Self.refusal])
  }

  @Test("Eight threads add work while the queue shuts down: everything settles")
  func race() async throws {
    for round in 0..<50 {
      let (queue, futures) = (OperationQueue.make(limit: 4), Log<Future<Int>>())
      let left = try await withThrowingTaskGroup(of: Void.self) { group in
        for _ in 0..<4 {
          group.addTask {
            for number in 0..<20 {
              futures.append(queue.run { number })
              futures.append(queue.run { () async in number })
            }
          }
        }
        let left = try await queue.shutDown(within: .microseconds(round)).value
        try await group.waitForAll()
        return left
      }
      for future in futures.entries { _ = await future.completion }
      #expect(left.count <= 160)
      #expect(await queue.isEmptyEventually())
    }
  }

  @Test("Two calls at once, one without time: what was accepted before cannot join any more")
  func twoCalls() async {
    let mistakes = Counter()
    let isDone = await RaceHarness(threads: 2, rounds: 20_000).run { _ in
      let queue = OperationQueue.make()
      return (queue: queue, left: Promises.make(promising: Int.self, in: queue))
    } act: { subject, thread in
      let time = thread == 0 ? Duration.zero : .seconds(1_000)
      subject.queue.shutDown(within: time, clock: ManualClock())
    } check: { subject, _ in
      if ShutDownQueues.phase(of: subject.queue) != .over { mistakes.add() }
    }
    #expect(isDone && mistakes.value == 0)
  }

  @Test("No time, beside a closure that begins: the closure is cancelled, and not refused")
  func noTimeBesideAClosure() async {
    for round in 0..<2_000 {
      let queue = OperationQueue.make()
      let before = queue.run { round }
      if round % 2 == 0 { await Task.yield() }
      queue.shutDown(within: .zero)
      if let error = await before.completion.failureValue {
        #expect(error as? ProperationsError == .cancelled)
      }
    }
  }

  @Test("A future settles while the others are cancelled: it is not among what is left")
  func settledMeanwhile() async throws {
    final class Telling: Promise<Int>, @unchecked Sendable {
      // Sendable: set before the promise is shared.
      var other: Promise<Int>?

      override func cancel() {
        super.cancel()
        other?.succeed(with: 2)
      }
    }
    let (queue, first, second) = (OperationQueue.make(), Telling(), Promise<Int>())
    first.other = second
    try queue.addFuture(first)
    try queue.addFuture(second)
    let left = try await queue.shutDown(within: .zero).value
    #expect(left.count == 1 && left.first === first)
    #expect(second.result?.successValue == 2)
  }

  @Test("A handler of the first cancelled future waits for the second one: no deadlock")
  func handlerWaitsForTheNext() async {
    let queue = OperationQueue.make()
    let first = Promises.make(promising: Int.self, in: queue)
    let second = Promises.make(promising: Int.self, in: queue)
    let isOver = Event()
    first.onFailure(on: .inline) { _ in _ = try? second.wait(timeout: Event.patience) }
    first.onCancel(on: .inline) { _ = try? second.wait(timeout: Event.patience) }
    Thread {
      queue.shutDown(within: .zero)
      if second.isCancelled { isOver.signal() }
    }.start()
    #expect(await isOver.opened())
  }
}
