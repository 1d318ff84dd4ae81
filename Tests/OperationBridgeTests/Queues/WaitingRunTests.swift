import Foundation
import Futures
import FuturesTestSupport
import OperationBridge
import TestSupport
import Testing

@Suite("Closures that wait for dependencies", .timeLimit(.minutes(5)), .oneAtATime)
struct WaitingRunTests {
  @Test("4,000 wait for one promise: the queue holds a few operations, and runs them in order")
  func many() async throws {
    let queue = OperationQueue.make()
    let source = Promise<Int>()
    let log = Log<Int>()
    let all = (0..<4_000).map { number in
      queue.run(after: source) { () async in log.append(number) }
    }
    #expect(queue.operationCount <= 32)
    #expect(all.allSatisfy { !$0.isReady || !$0.isFulfilled })
    source.succeed(with: 1)
    for future in all { try await future.value }
    #expect(log.entries == Array(0..<4_000))
    #expect(await queue.isEmptyEventually())
  }

  @Test("The future and the promise that it waits for are dropped: the closure runs all the same")
  func dropped() async {
    let queue = OperationQueue.make()
    let ran = Counter()
    for _ in 0..<40 {
      let source = Promise<Int>()
      _ = queue.run(after: source) { () async in ran.add() }
    }
    #expect(await eventually { ran.value == 40 })
    #expect(await queue.isEmptyEventually())
  }

  @Test("Dependencies that have finished already, and a plain operation that finishes later")
  func kinds() async throws {
    let queue = OperationQueue.make()
    let plain = BlockOperation {}
    let done = Promises.makeSucceeded(with: 1)
    let failed: Future<Int> = Promises.makeFailed(with: TestError.first)
    let waiting = queue.run(after: plain, failed, done) { () async in plain.isFinished }
    #expect(try await queue.run(after: done, failed) { () async in 1 }.value == 1)
    #expect(!waiting.isFulfilled)
    plain.start()
    #expect(try await waiting.value)
    #expect(await queue.isEmptyEventually())
  }

  @Test("One is ready before another: it runs first, and the higher priority before both")
  func order() async throws {
    let queue = OperationQueue.make(isSuspended: true)
    let sources = (0..<3).map { _ in Promise<Int>() }
    let log = Log<Int>()
    let all = (0..<3).map { number in
      queue.run(priority: number == 2 ? .high : .normal, after: sources[number]) { () async in
        log.append(number)
      }
    }
    for number in [1, 0, 2] { sources[number].succeed(with: 1) }
    queue.isSuspended = false
    for future in all { try await future.value }
    #expect(log.entries == [2, 1, 0])
  }

  @Test("A priority that is set while the closure waits counts")
  func latePriority() async throws {
    let queue = OperationQueue.make(isSuspended: true)
    let (source, log) = (Promise<Int>(), Log<Int>())
    let all = (0..<2).map { number in
      queue.run(after: source) { () async in log.append(number) }
    }
    all[1].queuePriority = .veryHigh
    source.succeed(with: 1)
    queue.isSuspended = false
    for future in all { try await future.value }
    #expect(log.entries == [1, 0])
  }

  @Test("Dependencies that are added and removed while it waits")
  func changes() async throws {
    let queue = OperationQueue.make()
    let (first, second) = (Promise<Int>(), Promise<Int>())
    let future = queue.run(after: first) { () async in second.isFulfilled }
    future.addDependency(second)
    first.succeed(with: 1)
    #expect(try await queue.run { () async in 1 }.value == 1)
    // (The operation of the other closure leaves the queue a moment after its result.)
    #expect(await eventually { queue.operationCount == 1 })
    #expect(!future.isFulfilled)
    future.removeDependency(second)
    #expect(try await future.value == false)
    #expect(await queue.isEmptyEventually())
  }

  // MARK: Cancelling

  @Test("cancelAllOperations: reaches all that wait, again for those that come later")
  func cancelAll() async throws {
    let queue = OperationQueue.make()
    let (source, tracker, runs) = (Promise<Int>(), LifetimeTracker(), Counter())
    for _ in 0..<3 {
      let all = (0..<40).map { _ in
        queue.run(after: source) { [object = tracker.make()] () async in
          object.touch()
          runs.add()
        }
      }
      queue.cancelAllOperations()
      #expect(all.allSatisfy { $0.isCancelled })
    }
    #expect(await eventually { tracker.alive == 0 })
    #expect(await queue.isEmptyEventually())
    source.succeed(with: 1)
    #expect(try await queue.run(after: source) { () async in 1 }.value == 1)
    #expect(runs.value == 0)
  }

  @Test("A member stays after its cancellation: later ones are cancelled all the same")
  func cancelledTwice() async throws {
    let queue = OperationQueue.make(limit: 4)
    let source = Promise<Int>()
    let (begun, mayEnd) = (Event(), Event())
    let waiting = (0..<20).map { _ in queue.run(after: source) { () async in } }
    let link = source.mapToValue(on: ThreadContext()) { value in
      begun.signal()
      mayEnd.wait()
      return value
    }
    try queue.addFuture(link)
    source.succeed(with: 1)
    #expect(await begun.opened())
    queue.cancelAllOperations()
    let later = Promise<Int>()
    let second = queue.run(after: later) { () async in }
    queue.cancelAllOperations()
    #expect(second.isCancelled)
    mayEnd.signal()
    #expect(await queue.isEmptyEventually())
    withExtendedLifetime(waiting) {}
  }

  @Test("One is cancelled while it waits: only it, and the promise after that changes nothing")
  func cancelOne() async throws {
    let queue = OperationQueue.make()
    let (source, runs) = (Promise<Int>(), Counter())
    let all = (0..<20).map { _ in queue.run(after: source) { () async in runs.add() } }
    for future in all.prefix(19) { future.cancel() }
    #expect(await eventually { queue.operationCount == 1 })
    source.succeed(with: 1)
    _ = try await all[19].value
    #expect(runs.value == 1)
    #expect(await queue.isEmptyEventually())
  }

  // MARK: The queue as a whole

  @Test("waitUntilAllOperationsAreFinished: returns after the closures that wait")
  func waitForAll() async {
    let queue = OperationQueue.make()
    let (source, runs, returned) = (Promise<Int>(), Counter(), Event())
    for _ in 0..<40 {
      _ = queue.run(after: source) { () async in
        await Task.yield()
        runs.add()
      }
    }
    let seen = Log<Int>()
    Thread.detachNewThread {
      queue.waitUntilAllOperationsAreFinished()
      seen.append(runs.value)
      returned.signal()
    }
    #expect(!(await eventually(within: .milliseconds(50)) { returned.isOpen }))
    source.succeed(with: 1)
    #expect(await returned.opened())
    #expect(seen.entries == [40])
  }

  @Test("A barrier: waits for what waits in front of it, and what comes later for the barrier")
  func barrier() async throws {
    let queue = OperationQueue.make(limit: 4)
    let (source, log) = (Promise<Int>(), Log<String>())
    let front = (0..<20).map { _ in queue.run(after: source) { () async in log.append("front") } }
    let barrier = queue.run(barrier: true) { () async in log.append("barrier") }
    let behind = queue.run(after: source) { () async in log.append("behind") }
    #expect(!(await eventually(within: .milliseconds(50)) { log.count > 0 }))
    source.succeed(with: 1)
    for future in front + [barrier, behind] { try await future.value }
    #expect(log.entries == Array(repeating: "front", count: 20) + ["barrier", "behind"])
    #expect(await queue.isEmptyEventually())
  }

  @Test("A barrier of Foundation: both run")
  func foundationBarrier() async throws {
    let queue = OperationQueue.make(limit: 4)
    let (source, ran) = (Promise<Int>(), Event())
    let all = (0..<20).map { _ in queue.run(after: source) { () async in } }
    queue.addBarrierBlock { ran.signal() }
    source.succeed(with: 1)
    for future in all { try await future.value }
    #expect(await ran.opened())
    #expect(await queue.isEmptyEventually())
  }

  @Test("Shut down: what waits continues, and what is left at the end is cancelled")
  func shutDown() async throws {
    for isInTime in [true, false] {
      let queue = OperationQueue.make()
      let (source, clock) = (Promise<Int>(), ManualClock())
      let all = (0..<20).map { _ in queue.run(after: source) { () async in 1 } }
      let left = queue.shutDown(within: .seconds(1), clock: clock)
      #expect(await eventually { clock.sleeping == 1 })
      if isInTime {
        source.succeed(with: 1)
        for future in all { #expect(try await future.value == 1) }
        #expect(try await left.value.isEmpty)
      } else {
        clock.advance(by: .seconds(1))
        #expect(try await left.value.count == 20)
        #expect(all.allSatisfy { $0.isCancelled })
        source.succeed(with: 1)
      }
      #expect(await queue.isEmptyEventually())
    }
  }

  // MARK: Others

  @Test("A closure waits for one that needs its slot after a dependency: wouldDeadlock at once")
  func deadlock() async throws {
    let queue = OperationQueue.make("mine")
    let source = Promise<Int>()
    let outer = queue.run { () async throws in
      try await queue.run(after: source) { () async in 1 }.value
    }
    let error = await outer.completion.failureValue as? ProperationsError
    #expect(error == .wouldDeadlock(queue: "the operation queue \"mine\""))
    source.succeed(with: 1)
    #expect(await queue.isEmptyEventually())
  }

  @Test("A handler of the dependency adds another one that waits for it")
  func reentrant() async throws {
    let queue = OperationQueue.make()
    let (source, log) = (Promise<Int>(), Log<Int>())
    let first = queue.run(after: source) { () async in log.append(1) }
    source.onSuccess(on: .inline) { _ in
      _ = queue.run(after: source) { () async in log.append(2) }
    }
    source.succeed(with: 1)
    try await first.value
    #expect(await eventually { log.count == 2 })
    #expect(await queue.isEmptyEventually())
  }

  @Test("Blocking promises with dependencies: as closures")
  func blockingPromises() async throws {
    let queue = OperationQueue.make()
    let (source, starts) = (Promise<Int>(), Counter())
    let all = try (0..<100).map { number in
      let promise = BlockingPromise<Int>(on: .inline) { promise in
        starts.add()
        promise.succeed(with: number)
      }
      promise.addDependency(source)
      try queue.addFuture(promise)
      return promise
    }
    #expect(queue.operationCount <= 32 && starts.value == 0)
    source.fail(with: TestError.first)
    #expect(try await Promises.collect(all).value == Array(0..<100))
    #expect(await queue.isEmptyEventually())
  }

  @Test("The dependency settles while the closure is put in the queue: none is stuck")
  func race() async {
    final class Round: Sendable {
      let source = Promise<Int>()
    }
    let queue = OperationQueue.make(limit: 2)
    let runs = Counter()
    let ended = await RaceHarness(threads: 2, rounds: 2_000).run(within: .seconds(200)) { _ in
      Round()
    } act: { round, thread in
      if thread == 0 {
        round.source.succeed(with: 1)
      } else {
        _ = queue.run(after: round.source) { () async in runs.add() }
      }
    }
    #expect(ended)
    #expect(await eventually { runs.value == 2_000 })
    #expect(await queue.isEmptyEventually())
  }
}
