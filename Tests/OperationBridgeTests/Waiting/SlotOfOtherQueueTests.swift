import Foundation
import Futures
import OperationBridge
import TestSupport
import Testing

/// Closures that hold slots and wait for work that needs slots, in several queues and in
/// barriers.
@Suite("Waits for a slot of a queue whose slots all wait", .timeLimit(.minutes(5)), .oneAtATime)
struct SlotOfOtherQueueTests {
  private func isDeadlock(_ result: FutureResult<Int>) -> Bool {
    if case .wouldDeadlock? = result.failureValue as? ProperationsError { true } else { false }
  }

  /// Starts a closure that waits for the future which a promise gives it.
  private func waiter(
    in queue: OperationQueue, blocking: Bool, barrier: Bool = false, _ gate: Future<Future<Int>>
  ) -> Future<Int> {
    blocking
      ? queue.run(barrier: barrier) { try gate.wait().wait(timeout: Event.patience) }
      : queue.run(barrier: barrier) { try await gate.value.value }
  }

  /// Work of each kind that needs a slot.
  private func work(in queue: OperationQueue, _ kind: Int) -> Future<Int> {
    switch kind {
    case 0: queue.run { () async in 1 }
    case 1:
      Promises.makeBlocking(in: queue, promising: Int.self, on: .global()) {
        $0.succeed(with: 1)
      }
    default: queue.run { 1 }
    }
  }

  @Test(
    "Two serial queues whose closures wait for work in the other one: one throws", arguments: 0..<3)
  func crosswise(_ kind: Int) async throws {
    for (isFirstBlocking, isSecondBlocking) in [(false, false), (true, false), (true, true)] {
      let queues = [OperationQueue.make("one"), OperationQueue.make("two")]
      let gates = [Promise<Future<Int>>(), Promise<Future<Int>>()]
      let waiters = [
        waiter(in: queues[0], blocking: isFirstBlocking, gates[0]),
        waiter(in: queues[1], blocking: isSecondBlocking, gates[1]),
      ]
      #expect(
        await eventually { queues.allSatisfy { $0.operations.contains(where: \.isExecuting) } })
      let works = queues.map { work(in: $0, kind) }
      for index in 0..<2 { gates[index].succeed(with: works[1 - index]) }
      let results = [await waiters[0].completion, await waiters[1].completion]
      #expect(results.contains(where: isDeadlock), "\(results)")
      for work in works { #expect(try await work.value == 1) }
    }
  }

  #if !canImport(Darwin)
    @Test("A barrier that waits for work behind it: throws", arguments: 0..<3, [false, true])
    func behindItself(_ kind: Int, isBlocking: Bool) async throws {
      for limit in [1, 4, OperationQueue.defaultMaxConcurrentOperationCount] {
        let queue = OperationQueue.make("mine", limit: limit)
        let gate = Promise<Future<Int>>()
        let barrier = waiter(in: queue, blocking: isBlocking, barrier: true, gate)
        #expect(await eventually { queue.operations.contains(where: \.isExecuting) })
        let behind = work(in: queue, kind)
        gate.succeed(with: behind)
        #expect(isDeadlock(await barrier.completion))
        #expect(try await behind.value == 1)
      }
    }
  #endif

  @Test("A barrier that waits for what needs no slot of its queue: gets the value")
  func barrierWithWayOut() async throws {
    let (queue, other) = (OperationQueue.make("mine", limit: 4), OperationQueue.make("other"))
    for isBlocking in [false, true] {
      let gate = Promise<Future<Int>>()
      let barrier = waiter(in: queue, blocking: isBlocking, barrier: true, gate)
      #expect(await eventually { queue.operations.contains(where: \.isExecuting) })
      let behind = queue.run { () async in 2 }
      gate.succeed(with: work(in: other, 0))
      #expect(try await barrier.value == 1)
      #expect(try await behind.value == 2)
    }
  }

  @Test("An explanation names the queue whose slot the work waits for", arguments: 0..<3)
  func explanation(_ kind: Int) async throws {
    let queue = OperationQueue.make("disk", limit: 2, isSuspended: true)
    let work = work(in: queue, kind)
    let explanation = work.explain()
    let root = try #require(explanation.roots.first)
    #expect(explanation.steps[root].reasons.map(\.kind) == [.queue])
    #expect(explanation.steps[root].reasons.first?.queue?.name == "disk")
    queue.isSuspended = false
    #expect(try await work.value == 1)
    let idle = BlockingPromise<Int>(on: .inline) { $0.succeed(with: 1) }
    #expect(idle.explain().steps[0].reasons.map(\.kind) == [.notStarted])
    let first = Promise<Int>()
    let later = queue.run(after: first) { () async in 1 }
    #expect(later.explain().steps.last?.createdAt == first.createdAt)
    first.succeed(with: 1)
    #expect(try await later.value == 1)
  }

  @Test(
    "A slot passes from one closure to the one that waits behind it: no wait fails, 3,000 rounds")
  func passingSlot() async {
    let (first, second) = (OperationQueue.make(limit: 1), OperationQueue.make(limit: 1))
    // A thread of its own: it blocks most of the time.
    let wrong = await race(rounds: 3_000, threads: 1) { _ in
      Log<Int>()
    } _: { _, values in
      let source = first.run { () async in 1 }
      let waiting = second.run { try source.wait(timeout: Event.patience) }
      // It begins when the source has returned.
      let last = first.run { () async throws in try await waiting.value }
      for future in [waiting, last] {
        if let value = try? future.wait(timeout: Event.patience) { values.append(value) }
      }
    } isRight: { values in
      values.entries == [1, 1]
    }
    #expect(wrong == nil)
  }

  @Test(
    "A closure waits for an operation elsewhere that depends on one in its queue: wouldDeadlock")
  func operationElsewhere() async {
    let (queue, other) = (OperationQueue.make(limit: 1), OperationQueue())
    let operation = Box<Operation?>(nil)
    let hasOperation = Event()
    let waiting = queue.run {
      hasOperation.wait()
      try operation.value?.future.wait()
    }
    let behind = queue.run { 2 }
    let block = BlockOperation {}
    block.addDependency(behind)
    other.addOperation(block)
    operation.value = block
    hasOperation.signal()
    let error = await waiting.completion.failureValue as? ProperationsError
    if case .wouldDeadlock? = error {} else { Issue.record("\(String(describing: error))") }
    #expect(await eventually { block.isFinished })
  }

  #if !canImport(Darwin)
    @Test("A dependency comes while an async closure waits for its slot: it waits for both")
    func dependencyBeforeTheSlot() async throws {
      let (queue, gate) = (OperationQueue.make(limit: 1), Event())
      _ = queue.run { gate.wait() }
      let promise = Promise<Int>()
      let work = queue.run { () async in 1 }
      let blocking = BlockingPromise<Int>(on: .inline) { $0.succeed(with: 2) }
      try queue.addFuture(blocking)
      work.addDependency(promise)
      blocking.addDependency(promise)
      let last = queue.run { 3 }
      gate.signal()
      #expect(try await last.value == 3)
      #expect(!work.isFulfilled && !blocking.isFulfilled)
      promise.succeed(with: 1)
      #expect(try await work.value == 1)
      #expect(try await blocking.value == 2)
    }
  #endif
}
