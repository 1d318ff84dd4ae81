import Foundation
import FuturesTestSupport
import Synchronization
import TestSupport
import Testing

@testable import Futures

/// What a fresh reading of the combinators, limits and diagnostics found.
@Suite("Findings of a reading beyond the core", .timeLimit(.minutes(5)), .alone)
struct FindingsOfReadingBeyondTheCoreTests {
  private enum Values { @TaskLocal static var span = "none" }

  @Test("find and traverse take elements of ranges that are longer than an Int")
  func longRanges() async throws {
    let found = Promises.find(in: 0...Int.max, on: .inline) {
      Promises.makeSucceeded(with: $0 == 3)
    }
    #expect(try await found.value == 3)
    let wide = Promises.find(in: UInt64.min...UInt64.max, on: .inline) {
      Promises.makeSucceeded(with: $0 == 2)
    }
    #expect(try await wide.value == 2)
    let traversal = Promises.traverse(0...Int.max, on: .inline, maxConcurrent: 1) {
      number -> Future<Int> in
      if number == 5 { throw TestError.first }
      return Promises.makeSucceeded(with: number)
    }
    #expect(await traversal.completion.isFailure)
    let view = Promises.find(in: (0...Int.max).lazy.map { $0 }, on: .inline) {
      Promises.makeSucceeded(with: $0 == 4)
    }
    #expect(try await view.value == 4)
    #expect(knownCount(of: 0...Int.max) == nil && knownCount(of: 1...Int.max) == .max)
    #expect(knownCount(of: Int.min..<Int.max) == nil && knownCount(of: 3..<7) == 4)
    #expect(knownCount(of: (Int.min..<Int.max).lazy.map { $0 }) == nil)
    #expect(knownCount(of: [1, 2].lazy.map { $0 }) == 2)
    #expect(knownCount(of: Int8.min...Int8.max) == 256 && knownCount(of: AnySequence([1])) == nil)
  }

  @Test("the first zero of settled futures: an empty list")
  func firstOfNone() async throws {
    for count in [0, -1, Int.min] {
      let first = Promises.first(count, of: [5, 6].map { Promises.makeSucceeded(with: $0) })
      #expect(try await first.value.isEmpty)
    }
    let one = Promises.first(1, of: [5, 6].map { Promises.makeSucceeded(with: $0) })
    #expect(try await one.value.map(\.value) == [5])
  }

  @Test("always has the task-local values of its place, whoever cancels")
  func alwaysKeepsTaskLocals() async throws {
    Promises.carry(Values.$span)
    for isCancelled in [false, true] {
      let seen = Promise<String>()
      let promise = Promise<Int>()
      let future = Values.$span.withValue("attached") {
        promise.always(on: .inline) { seen.succeed(with: Values.span) }
      }
      Values.$span.withValue("canceller") {
        if isCancelled { future.cancel() } else { promise.succeed(with: 1) }
      }
      #expect(try await seen.value == "attached")
    }
  }

  @Test("a cancelled retry takes nothing from its budget")
  func cancelledRetry() async throws {
    let budget = RetryBudget(ratio: 0, minimumPerSecond: 10, window: .seconds(10))
    let all = budget.available
    let (began, goOn, over) = (Promise<Void>(), Promise<Void>(), Promise<Void>())
    let policy = RetryPolicy(attempts: 5, delay: .constant(.seconds(5)), budget: budget)
    let future = Promises.async(retrying: policy) { (_: Int) async throws -> Int in
      began.succeed(with: ())
      // Unstructured, so that the cancellation does not end the wait.
      _ = await Task { await goOn.completion }.value
      defer { over.succeed(with: ()) }
      throw TestError.first
    }
    try await began.value
    future.cancel()
    goOn.succeed(with: ())
    try await over.value
    #expect(budget.available == all)
  }

  @Test("a rate limiter goes on after its clock has jumped a thousand years")
  func limiterAfterJump() async throws {
    let clock = ManualClock()
    let limiter = RateLimiter(permits: 1, per: .seconds(1), clock: clock)
    clock.advance(by: .seconds(3600 * 24 * 365 * 1001))
    let (first, second) = (limiter.acquire(), limiter.acquire())
    try await first.value
    #expect(!second.isSettled)
    clock.advance(by: .seconds(10))
    try await second.value
  }

  @Test("a value that was loaded after the clock was set back is kept")
  func flightAfterSetBack() async throws {
    let clock = ManualClock()
    clock.advance(by: .seconds(100))
    let (loads, promise) = (Counter(), Promise<Int>())
    let flight = SingleFlight<Int, Int>(timeToLive: .seconds(10), clock: clock)
    let load: @Sendable () -> Future<Int> = {
      loads.add()
      return promise
    }
    let value = flight.load(1, on: .inline, load)
    clock.advance(by: .seconds(-50))
    promise.succeed(with: 1)
    _ = try await value.value
    _ = try await flight.load(1, on: .inline, load).value
    #expect(loads.value == 1)
  }

  @Test("a timer that a load has started does not make other code part of the load")
  func timerOfLoad() async throws {
    let (clock, started) = (ManualClock(), Promise<Future<Void>>())
    let flight = SingleFlight<String, Int>()
    let (loaded, joined) = (Promise<Int>(), Event())
    let first = flight.load("k", on: .global()) {
      started.succeed(with: Promises.delay(for: .seconds(1), clock: clock))
      return loaded
    }
    let timer = try await started.value
    let other = timer.mapToFuture(on: .inline) { _ in
      let joining = flight.load("k", on: .inline) { Promises.makeSucceeded(with: 2) }
      joined.signal()
      return joining
    }
    _ = try await clock.nextSleep()
    clock.advance(by: .seconds(1))
    #expect(await joined.opened())
    loaded.succeed(with: 1)
    #expect(try await first.value == 1)
    #expect(try await other.value == 1)
  }
}
