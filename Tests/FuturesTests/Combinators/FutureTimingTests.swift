import Foundation
import Futures
import TestSupport
import Testing

@Suite("Timing", .timeLimit(.minutes(5)), .oneAtATime)
struct FutureTimingTests {
  @Test(arguments: [Duration.zero, .seconds(-1), .milliseconds(5)])
  func `a timeout fails with the time it had, and cancels what nobody else wants`(
    _ duration: Duration
  ) async {
    let promise = Promise<Int>()
    let f = promise.timeout(after: duration)
    let error = await f.completion.failureValue
    #expect(error as? ProperationsError == .timedOut(after: duration))
    #expect(!f.isCancelled)
    #expect(await eventually { promise.isCancelled })
  }

  @Test func `a timeout leaves what others want`() async {
    let promise = Promise<Int>()
    let other = promise.mapToValue(on: .inline) { $0 }
    _ = await promise.timeout(after: .zero).completion
    #expect(!promise.isCancelled)
    promise.succeed(with: 1)
    #expect(other.isFulfilled)
  }

  @Test func `a timeout of a settled future is no timeout`() {
    let success = Promises.makeSucceeded(with: 1)
    #expect(success.timeout(after: .seconds(-1)).result?.successValue == 1)
    #expect(success.timeout(after: .zero, fallback: 2).result?.successValue == 1)
    #expect(success.deadline(.now - .seconds(1)).result?.successValue == 1)
  }

  @Test func `a value in time passes at once`() {
    let promise = Promise<Int>()
    let f = promise.timeout(after: .seconds(1_000))
    promise.succeed(with: 1)
    #expect(f.result?.successValue == 1)
  }

  @Test func `a timeout with a fallback succeeds with it and cancels the work`() async {
    let promise = Promise<Int>()
    let f = promise.timeout(after: .milliseconds(5), fallback: 7)
    #expect(await f.completion.successValue == 7)
    #expect(await eventually { promise.isCancelled })
  }

  @Test func `a failure in time is not replaced by the fallback`() {
    let promise = Promise<Int>()
    let f = promise.timeout(after: .seconds(1_000), fallback: 7)
    promise.fail(with: TestError.first)
    #expect(f.anyError as? TestError == .first)
  }

  @Test func `a deadline that is past fails at once, one to come when it has come`() async {
    let (past, soon) = (Promise<Int>(), Promise<Int>())
    for f in [past.deadline(.now - .seconds(5)), soon.deadline(.now + .milliseconds(5))] {
      guard case .timedOut? = await f.completion.failureValue as? ProperationsError else {
        Issue.record("\(f)")
        continue
      }
    }
  }

  @Test func `a time of more than 64-bit seconds neither traps nor ends`() {
    let promise = Promise<Int>()
    let long = Duration(attoseconds: .max)
    let futures = [
      promise.timeout(after: long), Promises.makeSucceeded(with: 1).delay(for: long),
      Promises.delay(for: long).mapToValue(on: .inline) { 1 },
      Promises.hedge(after: long, on: .inline) { _ in promise },
    ]
    #expect(futures.allSatisfy { !$0.isFulfilled })
    for future in futures { future.cancel() }
  }

  @Test func `a time before the beginning of 64-bit seconds is up at once`() async {
    let long = Duration(attoseconds: .min)
    #expect(await Promises.delay(for: long).completion.isSuccess)
    let promise = Promise<Int>()
    let error = await promise.timeout(after: long).completion.failureValue
    #expect(error as? ProperationsError == .timedOut(after: long))
    #expect(await eventually { promise.isCancelled })
  }

  @Test(arguments: [Duration.seconds(Int64.max), .seconds(3600 * 24 * 365 * 200)])
  func `a huge timeout is none`(_ duration: Duration) {
    let promise = Promise<Int>()
    let f = promise.timeout(after: duration)
    promise.succeed(with: 1)
    #expect(f.result?.successValue == 1)
  }

  @Test func `a delay keeps a value back`() async {
    let start = ContinuousClock.now
    let f = Promises.makeSucceeded(with: 1).delay(for: .milliseconds(50))
    // (A busy machine may hold this thread up for longer than the delay.)
    #expect(!f.isFulfilled || ContinuousClock.now - start >= .milliseconds(49))
    #expect(!f.isExecuting)
    #expect(await f.completion.successValue == 1)
    #expect(ContinuousClock.now - start >= .milliseconds(49))
  }

  @Test func `a delay keeps back neither failures nor cancellations`() {
    let failed = Promises.makeFailed(with: TestError.first, promising: Int.self)
    #expect(failed.delay(for: .seconds(1_000)).isFulfilled)
    let promise = Promise<Int>()
    let f = promise.delay(for: .seconds(1_000))
    promise.cancel()
    #expect(f.isCancelled)
  }

  @Test func `a delayed value can be cancelled while it is kept back`() {
    let f = Promises.makeSucceeded(with: 1).delay(for: .seconds(1_000))
    let below = f.mapToValue(on: .inline) { $0 }
    below.cancel()
    #expect(f.isCancelled)
    #expect(f.isFinished)
  }

  @Test func `a delay on a delayed value adds up`() async {
    let start = ContinuousClock.now
    let f = Promises.delay(for: .milliseconds(5)).delay(for: DispatchTimeInterval.milliseconds(5))
      .delay(for: .milliseconds(5))
    #expect(await f.completion.isSuccess)
    #expect(ContinuousClock.now - start >= .milliseconds(10))
  }

  @Test func `a timeout and a value at the same moment give one of the two: 300 rounds`() async {
    for _ in 0..<300 {
      let promise = Promise<Int>()
      let f = promise.timeout(after: .microseconds(100))
      DispatchQueue.global().asyncAfter(deadline: .now() + .microseconds(100)) {
        promise.succeed(with: 1)
      }
      let result = await f.completion
      #expect(
        result.successValue == 1
          || result.failureValue as? ProperationsError == .timedOut(after: .microseconds(100)))
    }
  }
}
