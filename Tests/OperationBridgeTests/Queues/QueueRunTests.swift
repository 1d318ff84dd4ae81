import Foundation
import Futures
import OperationBridge
import TestSupport
import Testing

@Suite("Running closures on a queue", .timeLimit(.minutes(5)), .oneAtATime)
struct QueueRunTests {
  @Test("A closure: runs as an operation of that queue, its value is the result")
  func value() async throws {
    let queue = OperationQueue.make("mine")
    #expect(try await queue.run { OperationQueue.current?.name }.value == "mine")
  }

  @Test("A closure that throws: the future fails with that error")
  func throwing() async throws {
    let future: Future<Int> = OperationQueue.make().run { throw Oops() }
    await #expect(throws: Oops.self) { try await future.value }
  }

  @Test("Cancelled on a suspended queue: settles at once, the closure never runs")
  func cancelled() async throws {
    let queue = OperationQueue.make(isSuspended: true)
    let runs = Log<Int>()
    let future = queue.run { runs.append(1) }
    future.cancel()
    #expect(future.isCancelled)
    queue.isSuspended = false
    #expect(await queue.isEmptyEventually())
    #expect(runs.count == 0)
  }

  @Test("cancelAllOperations on a suspended queue: every closure's future is cancelled")
  func cancelAll() async throws {
    let queue = OperationQueue.make(isSuspended: true)
    let futures = (0..<10).map { number in queue.run { number } }
    queue.cancelAllOperations()
    queue.isSuspended = false
    for future in futures {
      #expect(await future.completion.failureValue as? ProperationsError == .cancelled)
    }
    #expect(await queue.isEmptyEventually())
  }

  @Test("A barrier between two groups on a concurrent queue: after the first, before the second")
  func barrierOrder() async throws {
    let queue = OperationQueue.make(limit: 4)
    let log = Log<String>()
    let first = (0..<8).map { _ in queue.run { log.append("first") } }
    let barrier = queue.run(barrier: true) { log.append("barrier") }
    let second = (0..<8).map { _ in queue.run { log.append("second") } }
    _ = try await Promises.collect(first + second + [barrier]).value
    #expect(
      log.entries == Array(repeating: "first", count: 8) + ["barrier"]
        + Array(repeating: "second", count: 8))
  }

  @Test("A barrier alone on a suspended queue: waits for the resumption")
  func barrierSuspended() async throws {
    let queue = OperationQueue.make(limit: 4, isSuspended: true)
    let log = Log<String>()
    let barrier = queue.run(barrier: true) { log.append("barrier") }
    let after = queue.run { log.append("after") }
    // Something else has had its turn meanwhile.
    _ = try await OperationQueue.make("other").run {}.value
    #expect(log.count == 0)
    queue.isSuspended = false
    _ = try await Promises.collect([barrier, after]).value
    #expect(log.entries == ["barrier", "after"])
  }

  @Test("A barrier that throws: fails its future, and the queue goes on")
  func barrierThrows() async throws {
    let queue = OperationQueue.make(limit: 2)
    let barrier: Future<Int> = queue.run(barrier: true) { throw Oops() }
    await #expect(throws: Oops.self) { try await barrier.value }
    #expect(try await queue.run { 1 }.value == 1)
  }

  @Test("A barrier cancelled behind a running closure: never runs, what is behind it does")
  func barrierCancelled() async throws {
    let queue = OperationQueue.make(limit: 2)
    let (started, goOn, log) = (Event(), Event(), Log<String>())
    _ = queue.run {
      started.signal()
      goOn.wait()
    }
    await started.opened()
    let barrier = queue.run(barrier: true) { log.append("barrier") }
    let after = queue.run { log.append("after") }
    barrier.cancel()
    #expect(barrier.isCancelled)
    goOn.signal()
    try await after.value
    #expect(log.entries == ["after"])
  }

  @Test("A pending future before a barrier: the barrier waits for it")
  func barrierAfterPending() async throws {
    let queue = OperationQueue.make(limit: 2)
    let promise = Promises.make(promising: Int.self, in: queue)
    let log = Log<String>()
    let barrier = queue.run(barrier: true) { log.append("barrier") }
    log.append("settle")
    promise.succeed(with: 1)
    try await barrier.value
    #expect(log.entries == ["settle", "barrier"])
  }

  @Test(
    "A future that settles in the barrier it was added behind, 1 or 40 before it: no deadlock",
    arguments: [1, 40])
  func barrierBeforePending(count: Int) async throws {
    let queue = OperationQueue.make(limit: 2)
    let first = (0..<count).map { _ in Promises.make(promising: Int.self, in: queue) }
    let second = Promises.make(promising: Int.self)
    // What is added behind a barrier must not hold it up.
    let barrier = queue.run(barrier: true) { _ = second.succeed(with: 2) }
    try queue.addFuture(second)
    for promise in first { promise.succeed(with: 1) }
    #expect(await eventually { barrier.isFulfilled })
    second.cancel()
    #expect(await queue.isEmptyEventually())
  }

  @Test("A thousand closures on a serial queue: in order")
  func order() async throws {
    let queue = OperationQueue.make()
    let log = Log<Int>()
    for number in 0..<1000 { _ = queue.run { log.append(number) } }
    try await queue.run {}.value
    #expect(log.entries == Array(0..<1000))
  }
}
