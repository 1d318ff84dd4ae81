import Foundation
import TestSupport
import Testing

@testable import Futures

@Suite("Permits", .timeLimit(.minutes(5)), .oneAtATime)
struct PermitsTests {
  /// The permit of a future that has got one.
  private static func permit(_ future: Future<Permit>) throws -> Permit {
    try #require(future.result?.successValue)
  }

  @Test func `as many futures as there are permits get one, the others in their order`() throws {
    let permits = Permits(2)
    let futures = (0..<5).map { _ in permits.acquire() }
    #expect(futures.map(\.isFulfilled) == [true, true, false, false, false])
    #expect(permits.availableCount == 0 && permits.waitingCount == 3)
    try Self.permit(futures[1]).release()
    #expect(futures.map(\.isFulfilled) == [true, true, true, false, false])
    try Self.permit(futures[0]).release()
    try Self.permit(futures[2]).release()
    #expect(futures.allSatisfy { $0.isFulfilled })
    try Self.permit(futures[3]).release()
    try Self.permit(futures[4]).release()
    #expect(permits.availableCount == 2)
  }

  @Test(arguments: [0, -1, Int.min])
  func `less than one permit is one`(_ count: Int) throws {
    let permits = Permits(count)
    #expect(permits.count == 1)
    let first = permits.acquire()
    let second = permits.acquire()
    #expect(first.isFulfilled && !second.isFulfilled)
    try Self.permit(first).release()
    #expect(second.isFulfilled)
  }

  @Test func `as many permits as there are numbers`() {
    let permits = Permits(.max)
    #expect(permits.acquire().isFulfilled)
    #expect(permits.availableCount == .max)
  }

  @Test func `a permit comes back once, however often it is released`() throws {
    let permits = Permits(1)
    var future: Future<Permit>? = permits.acquire()
    var permit: Permit? = try Self.permit(#require(future))
    permit?.release()
    permit?.release()
    #expect(permits.availableCount == 1)
    permit = nil
    future = nil
    #expect(permit == nil && future == nil)
    #expect(permits.availableCount == 1)
  }

  @Test func `a permit that is dropped comes back`() {
    let permits = Permits(1)
    _ = permits.acquire()
    #expect(permits.availableCount == 1)
    var kept: Permit? = permits.acquire().result?.successValue
    #expect(permits.availableCount == 0)
    kept = nil
    #expect(kept == nil && permits.availableCount == 1)
  }

  @Test func `a future that is cancelled leaves the line, one that is dropped does not block it`()
    throws
  {
    let permits = Permits(1)
    let first = permits.acquire()
    let cancelled = permits.acquire()
    _ = permits.acquire()
    let last = permits.acquire()
    cancelled.cancel()
    #expect(permits.waitingCount == 2)
    try Self.permit(first).release()
    #expect(cancelled.isCancelled)
    #expect(last.isFulfilled)
    cancelled.cancel()
    #expect(permits.waitingCount == 0)
  }

  @Test func `the last consumer that is cancelled leaves the line`() throws {
    let permits = Permits(1)
    let first = permits.acquire()
    let consumer = permits.acquire().mapToVoid()
    consumer.cancel()
    #expect(permits.waitingCount == 0)
    let task = Task { try await permits.acquire().value(onTaskCancellation: .cancelFuture) }
    task.cancel()
    withExtendedLifetime(first) {}
  }

  @Test func `permits that nobody holds any more serve those who wait`() throws {
    var permits: Permits? = Permits(1)
    let first = try #require(permits?.acquire())
    let second = try #require(permits?.acquire())
    permits = nil
    #expect(permits == nil)
    try Self.permit(first).release()
    #expect(second.isFulfilled)
  }

  @Test func `handlers that ask, release and cancel while a permit is handed on`() throws {
    let permits = Permits(1)
    let first = permits.acquire()
    let order = Log<Int>()
    let third = Box<Future<Permit>?>(nil)
    permits.acquire().onSuccess(on: .inline) { permit in
      order.append(2)
      third.value?.cancel()
      permits.acquire().onSuccess(on: .inline) {
        order.append(4)
        $0.release()
      }
      permit.release()
      permit.release()
    }
    third.value = permits.acquire()
    try Self.permit(first).release()
    #expect(order.entries == [2, 4])
    #expect(permits.availableCount == 1)
  }

  @Test func `100,000 wait, and each hands its permit on, on a small stack`() async throws {
    let count = 100_000
    for isKeeping in [true, false] {
      let done = try await SmallStackThread.running(within: .seconds(240)) { () -> Int in
        let permits = Permits(1)
        let done = Counter()
        var first: Future<Permit>? = permits.acquire()
        var futures: [AnyFuture] = []
        for index in 0..<count {
          // Some futures are cancelled, some are dropped. The others release their permits.
          let future = permits.acquire()
          if index.isMultiple(of: 3) { future.cancel() }
          if index % 3 == 1 {
            let link = future.mapToValue(on: .inline) { permit in
              done.add()
              permit.release()
            }
            if isKeeping { futures.append(link) }
          }
        }
        first = nil
        precondition(first == nil && permits.availableCount == 1)
        return withExtendedLifetime(futures) { done.value }
      }
      #expect(done == count / 3)
    }
  }

  @Test func `100,000 dropped requests pass a permit on, on a small stack`() async throws {
    let available = try await SmallStackThread.running(within: .seconds(240)) { () -> Int in
      let permits = Permits(1)
      var first: Future<Permit>? = permits.acquire()
      for _ in 0..<100_000 { _ = permits.acquire() }
      first = nil
      precondition(first == nil)
      return permits.availableCount
    }
    #expect(available == 1)
  }

  @Test func `8 threads acquire, cancel and release: never too many, and none is lost`() async {
    let permits = Permits(3)
    let holders = Counter()
    let served = Counter()
    let isDone = await RaceHarness(threads: 8, rounds: 2_000).run { _ in
      Box<Future<Permit>?>(permits.acquire())
    } act: { shared, index in
      switch index {
      case 0: shared.value?.cancel()
      case 1: shared.value = nil
      default:
        permits.acquire().onSuccess(on: .inline) { permit in
          holders.add()
          served.add()
          holders.add(-1)
          if index.isMultiple(of: 2) { permit.release() }
        }
      }
    }
    #expect(isDone)
    #expect(await eventually { permits.availableCount == 3 && permits.waitingCount == 0 })
    #expect(holders.highest <= 3)
    #expect(served.value == 6 * 2_000)
  }
}

@Suite("Permits: withPermit", .timeLimit(.minutes(5)), .oneAtATime)
struct WithPermitTests {
  @Test func `work waits for a permit, and gives it back before its result is there`() {
    let permits = Permits(1)
    let promises = (0..<2).map { _ in Promise<Int>() }
    let started = Log<Int>()
    let futures = (0..<2).map { index in
      permits.withPermit(on: .inline) {
        started.append(index)
        return promises[index]
      }
    }
    let available = Box(-1)
    futures[1].onCompletion(on: .inline) { _ in available.value = permits.availableCount }
    #expect(started.entries == [0])
    promises[0].succeed(with: 0)
    #expect(futures[0].result?.successValue == 0)
    #expect(started.entries == [0, 1])
    promises[1].fail(with: TestError.first)
    #expect(futures[1].error as? TestError == .first)
    #expect(available.value == 1)
    let thrown = permits.withPermit(on: .inline) { () -> Future<Int> in throw TestError.second }
    #expect(thrown.error as? TestError == .second)
    #expect(permits.availableCount == 1)
  }

  @Test @MainActor func `without a context the closure runs on the main actor`() async throws {
    let permits = Permits(1)
    var runs = 0
    let future = permits.withPermit {
      MainActor.preconditionIsolated()
      runs += 1
      return Promises.makeSucceeded(with: runs)
    }
    #expect(try await future.value == 1)
    let work = permits.withPermit {
      MainActor.preconditionIsolated()
      await Task.yield()
      runs += 1
      return runs
    }
    #expect(try await work.value == 2)
    #expect(await eventually { permits.availableCount == 1 })
  }

  @Test func `cancelled in the line it starts nothing; later it cancels the work`() async {
    let permits = Permits(1)
    let promise = Promise<Int>()
    let first = permits.withPermit(on: .inline) { promise }
    let runs = Counter()
    let second = permits.withPermit(on: .inline) {
      runs.add()
      return Promise<Int>()
    }
    second.cancel()
    #expect(permits.waitingCount == 0)
    first.cancel()
    #expect(promise.isCancelled)
    #expect(await eventually { permits.availableCount == 1 })
    #expect(runs.value == 0)
  }

  @Test func `a closure that runs when its future is cancelled keeps the permit`() async {
    let permits = Permits(1)
    let (begun, end) = (Event(), Event())
    let future = permits.withPermit(on: .inline) {
      Promises.run(on: ThreadContext()) {
        begun.signal()
        end.wait()
      }
    }
    #expect(await begun.opened())
    future.cancel()
    #expect(future.isFulfilled)
    #expect(permits.availableCount == 0)
    end.signal()
    #expect(await eventually { permits.availableCount == 1 })
  }

  @Test func `cancelled work whose future is one of async code keeps its permit`() async {
    let permits = Permits(1)
    let (begun, end) = (Event(), Event())
    let future = permits.withPermit(on: .inline) {
      Promises.async {
        begun.signal()
        await end.opened()
      }
    }
    #expect(await begun.opened())
    future.cancel()
    #expect(permits.availableCount == 0)
    end.signal()
    #expect(await eventually { permits.availableCount == 1 })
  }

  @Test func `async work keeps its permit until it has returned`() async {
    let permits = Permits(1)
    let (begun, end) = (Event(), Event())
    let future = permits.withPermit {
      begun.signal()
      await end.opened()
    }
    #expect(await begun.opened())
    future.cancel()
    #expect(permits.availableCount == 0)
    end.signal()
    #expect(await eventually { permits.availableCount == 1 })
    let failed = permits.withPermit { () async throws -> Int in throw TestError.first }
    #expect(await failed.completion.failureValue as? TestError == .first)
    #expect(await eventually { permits.availableCount == 1 })
  }

  @Test func `never more work is under way than there are permits`() async throws {
    let permits = Permits(3)
    let running = Counter()
    let futures = (0..<300).map { index in
      permits.withPermit(on: .global()) {
        running.add()
        return Promises.delay(for: .microseconds(index % 5 * 20)).mapToValue(on: .inline) {
          running.add(-1)
          return index
        }
      }
    }
    #expect(try await Promises.collect(futures).value == Array(0..<300))
    #expect(running.highest <= 3)
    #expect(permits.availableCount == 3)
  }
}

@Suite("The waiting line", .timeLimit(.minutes(5)), .oneAtATime)
struct WaitingLineTests {
  @Test func `members come out in order, but for those that have left`() {
    var line = WaitingLine<Int>()
    let tickets = (0..<6).map { line.join($0) }
    #expect(line.leave(tickets[0]) == 0)
    #expect(line.leave(tickets[0]) == nil)
    #expect(line.leave(tickets[3]) == 3)
    #expect(line.popFirst() == 1)
    #expect(line.leave(tickets[1]) == nil)
    #expect(line.count == 3)
    #expect(line.removeAll() == [2, 4, 5])
    #expect(line.isEmpty && line.popFirst() == nil)
    _ = line.join(7)
    #expect(line.popFirst() == 7)
  }
}
