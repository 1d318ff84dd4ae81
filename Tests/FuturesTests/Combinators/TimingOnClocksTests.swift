import Foundation
import Futures
import FuturesTestSupport
import TestSupport
import Testing

@Suite("Timing on a clock of the test", .timeLimit(.minutes(5)), .oneAtATime)
struct TimingOnClocksTests {
  private let clock = ManualClock()

  @Test func `a delay ends when the clock has been moved, and not before`() async throws {
    let delay = Promises.delay(for: .seconds(60), clock: clock)
    let held = Promises.makeSucceeded(with: 7).delay(for: .seconds(61), clock: clock)
    _ = try await clock.nextSleep()
    _ = try await clock.nextSleep()
    clock.advance(by: .seconds(59))
    #expect(!delay.isFulfilled && !held.isFulfilled)
    clock.advance(by: .seconds(1))
    try await delay.value
    #expect(!held.isFulfilled)
    clock.advance(by: .seconds(1))
    #expect(try await held.value == 7)
  }

  @Test func `time that passes before the sleep begins counts`() async throws {
    let delay = Promises.delay(for: .seconds(60), clock: clock)
    clock.advance(by: .seconds(60))
    try await delay.value
    #expect(clock.sleeping == 0)
  }

  @Test(arguments: [Duration.zero, .seconds(-1), .seconds(Int64.min)])
  func `a delay of no time ends without the clock`(_ duration: Duration) async throws {
    try await Promises.delay(for: duration, clock: clock).value
    #expect(
      try await Promises.makeSucceeded(with: 1).delay(for: duration, clock: clock).value == 1)
  }

  @Test func `a timeout ends what takes longer on the clock`() async throws {
    let (late, early) = (Promise<Int>(), Promise<Int>())
    let lateInTime = late.timeout(after: .seconds(10), clock: clock)
    let replaced = late.timeout(after: .seconds(10), fallback: 3, clock: clock)
    let earlyInTime = early.timeout(after: .seconds(10), clock: clock)
    for _ in 0..<3 { _ = try await clock.nextSleep() }
    early.succeed(with: 1)
    #expect(earlyInTime.result?.successValue == 1)
    clock.advance(by: .seconds(10))
    let error = await lateInTime.completion.failureValue
    #expect(error as? ProperationsError == .timedOut(after: .seconds(10)))
    #expect(try await replaced.value == 3)
    #expect(await eventually { late.isCancelled })
    #expect(await eventually { clock.sleeping == 0 })
  }

  @Test func `a deadline is a point in time of the clock`() async throws {
    clock.advance(by: .seconds(100))
    let promise = Promise<Int>()
    let future = promise.deadline(clock.now.advanced(by: .seconds(5)), clock: clock)
    let past = promise.deadline(clock.now.advanced(by: .seconds(-5)), clock: clock)
    #expect(await past.completion.failureValue is ProperationsError)
    _ = try await clock.nextSleep()
    clock.advance(by: .seconds(5))
    let error = await future.completion.failureValue
    #expect(error as? ProperationsError == .timedOut(after: .seconds(5)))
  }

  @Test func `cancelling releases the sleep`() async throws {
    let promise = Promise<Int>()
    let futures: [AnyFuture] = [
      Promises.delay(for: .seconds(1), clock: clock),
      Promises.makeSucceeded(with: 1).delay(for: .seconds(1), clock: clock),
      promise.timeout(after: .seconds(1), clock: clock),
    ]
    for _ in futures { _ = try await clock.nextSleep() }
    for future in futures { future.cancel() }
    #expect(await eventually { clock.sleeping == 0 })
    #expect(futures.allSatisfy { $0.isCancelled })
  }

  @Test func `the error of a clock is the result`() async {
    let clock = BrokenClock(error: TestError.first)
    let promises = (0..<2).map { _ in Promise<Int>() }
    #expect(
      await Promises.delay(for: .seconds(1), clock: clock).completion.failureValue as? TestError
        == .first)
    #expect(
      await Promises.makeSucceeded(with: 1).delay(for: .seconds(1), clock: clock).completion
        .failureValue as? TestError == .first)
    #expect(
      await promises[0].timeout(after: .seconds(1), clock: clock).completion.failureValue
        as? TestError == .first)
    #expect(
      await promises[1].timeout(after: .seconds(1), fallback: 1, clock: clock).completion
        .failureValue as? TestError == .first)
  }

  @Test func `a clock that says it was cancelled cancels`() async {
    let clock = BrokenClock(error: CancellationError())
    let delay = Promises.delay(for: .seconds(1), clock: clock)
    _ = await delay.completion
    #expect(delay.isCancelled)
  }

  @Test func `intervals of Dispatch are times as well`() async throws {
    let promises = (0..<2).map { _ in Promise<Int>() }
    let interval = DispatchTimeInterval.milliseconds(1)
    let error = await promises[0].timeout(after: interval).completion.failureValue
    #expect(error as? ProperationsError == .timedOut(after: .milliseconds(1)))
    #expect(try await promises[1].timeout(after: interval, fallback: 2).value == 2)
    #expect(Duration(DispatchTimeInterval.microseconds(3)) == .microseconds(3))
    #expect(Duration(DispatchTimeInterval.nanoseconds(-3)) == .nanoseconds(-3))
    #expect(Duration(DispatchTimeInterval.never) > .seconds(3_000_000_000 as Int64))
  }

  @Test func `a hundred thousand delays on one clock are released when they are cancelled`()
    async
  {
    let count = 100_000
    let futures = (0..<count).map { _ in Promises.delay(for: .seconds(1), clock: clock) }
    for future in futures { future.cancel() }
    #expect(await eventually { clock.sleeping == 0 })
    #expect(futures.allSatisfy { $0.isFulfilled })
  }

  @Test func `the result is there, but a handler blocks the telling: a timeout gives the result`()
    async throws
  {
    /// Runs closures where they become due, as a user's context may.
    struct Direct: ExecutionContext {
      func execute(_ operation: Operation) { operation.start() }
    }
    let (promise, begun, gate) = (Promise<Int>(), Event(), Event())
    promise.onSuccess(on: Direct()) { _ in
      begun.signal()
      gate.wait()
    }
    Thread { promise.succeed(with: 1) }.start()
    #expect(await begun.opened())
    let (limited, replaced) = (
      promise.timeout(after: .seconds(1), clock: clock),
      promise.timeout(after: .seconds(1), fallback: 2, clock: clock)
    )
    #expect(await eventually { clock.sleeping == 2 })
    clock.advance(by: .seconds(1))
    #expect(try await limited.value == 1)
    #expect(try await replaced.value == 1)
    gate.signal()
  }
}
