import Foundation
import Futures
import TestSupport
import Testing

@Suite("Times of Dispatch", .timeLimit(.minutes(5)), .oneAtATime)
struct DispatchIntervalTests {
  private let short = DispatchTimeInterval.milliseconds(1)

  @Test("wait(timeout:) throws after the interval, and returns the value of a settled future")
  func wait() throws {
    #expect(throws: ProperationsError.timedOut(after: .milliseconds(1))) {
      try Promise<Int>().wait(timeout: short)
    }
    #expect(try Promises.makeSucceeded(with: 1).wait(timeout: short) == 1)
  }

  @Test("shutDown(within:) lists after the interval what has not finished")
  func shutDown() async throws {
    let queue = OperationQueue()
    let (begun, end) = (Event(), Event())
    queue.addOperation {
      begun.signal()
      _ = end.wait()
    }
    #expect(await begun.opened())
    let left = try await queue.shutDown(within: short).value
    #expect(left.count == 1)
    end.signal()
    #expect(queue.isShutDown)
  }

  @Test("hedge(after:) starts the second attempt after the interval, with a context or without")
  func hedge() async throws {
    let onQueue = Promises.hedge(after: short, on: .global()) { attempt -> Future<Int> in
      attempt == 1 ? Promise<Int>() : Promises.makeSucceeded(with: attempt)
    }
    let onMain = Promises.hedge(after: short) { attempt -> Future<Int> in
      MainActor.assertIsolated()
      return attempt == 1 ? Promise<Int>() : Promises.makeSucceeded(with: attempt)
    }
    #expect(try await onQueue.value == 2)
    #expect(try await onMain.value == 2)
  }

  @Test("pause(for:) holds permits back for the interval")
  func pause() async throws {
    let limiter = RateLimiter(permits: 1, per: .seconds(1))
    limiter.pause(for: DispatchTimeInterval.seconds(1000))
    let paused = limiter.acquire()
    #expect(!paused.isFulfilled)
    paused.cancel()
  }

  @Test("a decision to retry(after:) waits for the interval")
  func decision() async throws {
    let policy = RetryPolicy(attempts: 2) { [short] _, _ in .retry(after: short) }
    let number = Promises.retry(policy, on: .inline) { attempt in
      if attempt == 1 { throw TestError.first }
      return Promises.makeSucceeded(with: attempt)
    }
    #expect(try await number.value == 2)
  }
}
