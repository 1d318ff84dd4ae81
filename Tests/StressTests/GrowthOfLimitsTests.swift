import Foundation
import Futures
import TestSupport
import Testing

/// The time of repetitions, choices, streams and limits grows in proportion to their size.
@Suite(.enabled(if: isStressing && isFullSize), .timeLimit(.minutes(5)), .serialized)
struct GrowthOfLimitsTests {
  /// A bound between 4 (proportional growth) and 16 (quadratic growth).
  private static let bound = 8.0

  /// Work that takes a count.
  struct Counted: Sendable, CustomTestStringConvertible {
    let testDescription: String
    /// Does the work a number of times.
    let work: @Sendable (Int) -> Void

    init(_ name: String, _ work: @escaping @Sendable (Int) -> Void) {
      testDescription = name
      self.work = work
    }

    static let all: [Counted] = [
      Counted("the turns of a loop") { count in
        let future = Promises.loop(0, on: .inline) { number in
          Promises.makeSucceeded(with: number < count ? LoopStep.next(number + 1) : .done(()))
        }
        precondition(future.isFulfilled)
      },
      Counted("the elements of a search") { count in
        let future = Promises.find(in: 1..., on: .inline) {
          Promises.makeSucceeded(with: $0 == count)
        }
        precondition(future.isFulfilled)
      },
      Counted("the successes that first waits for, from the last") { count in
        let promises = (0..<count).map { _ in Promise<Int>() }
        let future = Promises.first(count / 2, of: promises)
        for promise in promises.reversed() { promise.succeed(with: 1) }
        precondition(future.isFulfilled)
      },
      Counted("completions that nobody takes") { count in
        let promises = (0..<count).map { _ in Promise<Int>() }
        let completions = Promises.completions(of: promises)
        for promise in promises.suffix(count / 2) { promise.succeed(with: 1) }
        withExtendedLifetime(completions) {}
      },
      Counted("attempts that fail at once") { count in
        let future = Promises.hedge(after: .seconds(60), attempts: count, on: .inline) {
          _ -> Future<Int> in throw TestError.first
        }
        precondition(future.isFulfilled)
      },
      Counted("observers of one lazy future") { count in
        let future = Promises.lazy(on: .inline) { Promise<Int>() }
        for _ in 0..<count { future.onSuccess(on: .inline) { _ in } }
        precondition(future.isFulfilled)
      },
      Counted("a line for permits, left from the end and from the front") { count in
        let permits = Permits(1)
        let futures = (0..<count).map { _ in permits.acquire() }
        for future in futures.suffix(count / 2).reversed() { future.cancel() }
        for future in futures.prefix(count / 2) { future.result?.successValue?.release() }
        precondition(permits.waitingCount == 0)
      },
      Counted("a line for one key of a rate limiter, left") { count in
        let limiter = RateLimiter(permits: 1, per: .seconds(3600))
        let futures = (0..<count).map { _ in limiter.acquire(for: 1) }
        for future in futures.reversed() { future.cancel() }
        precondition(limiter.waitingCount == 0)
      },
      Counted("keys of a rate limiter") { count in
        let limiter = RateLimiter(permits: 1, per: .nanoseconds(1))
        for key in 0..<count { precondition(limiter.acquire(for: key).isFulfilled) }
      },
      Counted("the elements of a batch, half of them cancelled") { count in
        let batcher = Batcher<Int, Int>(maxSize: .max, maxDelay: .seconds(60), on: .inline) {
          Promises.makeSucceeded(with: $0)
        }
        let futures = (0..<count).map { batcher.add($0) }
        for future in futures.suffix(count / 2).reversed() { future.cancel() }
        batcher.flush()
        precondition(futures.allSatisfy { $0.isFulfilled })
      },
      Counted("the callers of one load, which leave it") { count in
        let flights = SingleFlight<Int, Int>()
        let promise = Promise<Int>()
        let callers = (0..<count).map { _ in flights.load(1, on: .inline) { promise } }
        for caller in callers { caller.cancel() }
        precondition(promise.isCancelled)
      },
      Counted("kept values, more than may be kept") { count in
        let flights = SingleFlight<Int, Int>(timeToLive: .seconds(60), maxCount: count / 2)
        for key in 0..<count {
          _ = flights.load(key, on: .inline) { Promises.makeSucceeded(with: key) }
        }
        precondition(flights.keptCount == count / 2)
      },
      Counted("promises of a queue that is shut down") { count in
        let queue = OperationQueue()
        let promises = (0..<count).map { _ in Promises.make(promising: Int.self, in: queue) }
        queue.shutDown(within: .seconds(3600))
        let left = queue.shutDown(within: .zero)
        precondition(left.isFulfilled && promises.allSatisfy(\.isCancelled))
      },
      Counted("queues that are shut down, all of them kept") { count in
        let queues = (0..<count).map { _ in OperationQueue() }
        for queue in queues { queue.shutDown(within: .zero) }
        precondition(queues.allSatisfy(\.isShutDown))
      },
      Counted("uses of resources, one in the other") { count in
        let promise = Promise<Int>()
        var future: Future<Int> = promise
        for _ in 0..<count {
          let inner = future
          future = Promises.using(
            acquire: Promises.makeSucceeded(), release: { _ in }, on: .inline
          ) { _ in inner }
        }
        promise.succeed(with: 1)
        precondition(future.isFulfilled)
      },
    ]
  }

  @Test(arguments: Counted.all)
  func `it takes time in proportion`(_ counted: Counted) async throws {
    let ratio = try await SmallStackThread.running(within: .seconds(240)) {
      Growth.ratio(below: Self.bound) { size in { counted.work(size) } }
    }
    #expect(ratio < Self.bound)
  }
}
