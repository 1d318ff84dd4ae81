import Foundation
import Futures
import TestSupport
import Testing

@Suite("Promises.retry", .timeLimit(.minutes(5)), .oneAtATime)
struct RetryingFuturesTests {
  @Test("Attempts are made until one succeeds, and the policy counts all of them")
  func attempts() async throws {
    let made = Log<Int>()
    let future = Promises.retry(RetryPolicy(attempts: 4), on: .inline) { attempt in
      made.append(attempt)
      if attempt == 1 { throw TestError.first }
      return attempt < 3
        ? Promises.makeFailed(with: TestError.second) : Promises.makeSucceeded(with: attempt)
    }
    #expect(try await future.value == 3)
    #expect(made.entries == [1, 2, 3])
    let failed = Promises.retry(RetryPolicy(attempts: 3), on: .global()) {
      Promises.makeFailed(with: TestError.numbered($0), promising: Int.self)
    }
    #expect(await failed.completion.failureValue as? TestError == .numbered(3))
    let stopped = Promises.retry(RetryPolicy(attempts: 3, retryIf: { _ in false }), on: .inline) {
      Promises.makeFailed(with: TestError.numbered($0), promising: Int.self)
    }
    #expect(await stopped.completion.failureValue as? TestError == .numbered(1))
  }

  @Test("A number of attempts is a policy without a wait, and below one it counts as one")
  @MainActor
  func number() async throws {
    let made = Log<Int>()
    let failed = Promises.retry(attempts: 3, on: .inline) { attempt in
      made.append(attempt)
      return Promises.makeFailed(with: TestError.numbered(attempt), promising: Int.self)
    }
    #expect(failed.result?.failureValue as? TestError == .numbered(3))
    #expect(made.entries == [1, 2, 3])
    let once = Promises.retry(attempts: 0, on: .inline) {
      Promises.makeFailed(with: TestError.numbered($0), promising: Int.self)
    }
    #expect(once.result?.failureValue as? TestError == .numbered(1))
    var count = 0
    let late = Promises.retry(attempts: 2, delay: .constant(.milliseconds(1))) { attempt in
      count += 1
      return attempt == 1
        ? Promises.makeFailed(with: TestError.first) : Promises.makeSucceeded(with: attempt)
    }
    #expect(try await late.value == 2)
    #expect(count == 2)
  }

  @Test("Without a context the closure runs on main, and async work where it is written")
  @MainActor
  func isolation() async throws {
    var seen: [Int] = []
    let future = Promises.retry(RetryPolicy(attempts: 2)) { attempt in
      MainActor.preconditionIsolated()
      seen.append(attempt)
      return attempt == 1
        ? Promises.makeFailed(with: TestError.first) : Promises.makeSucceeded(with: attempt)
    }
    #expect(try await future.value == 2)
    let work = Promises.async(retrying: RetryPolicy(attempts: 3)) { attempt in
      MainActor.preconditionIsolated()
      await Task.yield()
      seen.append(attempt)
      if attempt < 3 { throw TestError.first }
      return attempt
    }
    #expect(try await work.value == 3)
    #expect(seen == [1, 2, 1, 2, 3])
  }

  @Test("It waits by the clock of the policy; cancelling ends the wait and wakes the sleeper")
  func waiting() async throws {
    let clock = ManualClock()
    let policy = RetryPolicy(attempts: 9, delay: .linear(.seconds(1)), clock: clock)
    let futures = [
      Promises.retry(policy, on: .inline) { attempt in
        attempt < 3
          ? Promises.makeFailed(with: TestError.first) : Promises.makeSucceeded(with: attempt)
      },
      Promises.async(retrying: policy) { attempt in
        if attempt < 3 { throw TestError.first }
        return attempt
      },
    ]
    for wait in [Duration.seconds(1), .seconds(2)] {
      #expect(await eventually { clock.sleeping == 2 })
      #expect(futures.allSatisfy { !$0.isFinished })
      clock.advance(by: wait)
    }
    for future in futures { #expect(try await future.value == 3) }
    let endless = [
      Promises.retry(policy, on: .inline) { _ in
        Promises.makeFailed(with: TestError.first, promising: Int.self)
      },
      Promises.async(retrying: policy) { _ -> Int in throw TestError.first },
    ]
    #expect(await eventually { clock.sleeping == 2 })
    for future in endless { future.cancel() }
    #expect(endless.allSatisfy { $0.isCancelled })
    #expect(await eventually { clock.sleeping == 0 })
  }

  @Test("A cancelled attempt is not tried again, and cancelling reaches the attempt that runs")
  func cancelling() async {
    let made = Counter()
    let cancelled = Promises.retry(RetryPolicy(attempts: 3), on: .inline) { _ -> Future<Int> in
      made.add()
      throw CancellationError()
    }
    #expect(cancelled.isCancelled && made.value == 1)
    let attempt = Promise<Int>()
    let running = Promises.retry(RetryPolicy(attempts: 3), on: .inline) { _ in attempt }
    running.cancel()
    #expect(running.isCancelled)
    #expect(await eventually { attempt.isCancelled })
  }

  @Test("Many attempts need neither stack nor memory")
  func manyAttempts() async throws {
    let tracker = LifetimeTracker()
    let most = Box(0)
    let count = 10_000
    let future = try await SmallStackThread.running {
      Promises.retry(RetryPolicy(attempts: count), on: .inline) { attempt -> Future<Int> in
        let object = tracker.make()
        most.value = max(most.value, tracker.alive)
        let failed = Promises.makeFailed(with: TestError.first, promising: Int.self)
        return failed.mapError(on: .inline) { error in
          object.touch()
          return error
        }
      }
    }
    #expect(await future.completion.failureValue as? TestError == .first)
    #expect(most.value < 10)
    #expect(await eventually { tracker.alive == 0 })
  }
}
