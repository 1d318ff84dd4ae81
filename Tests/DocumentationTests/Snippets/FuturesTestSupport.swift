import Foundation
import Futures
import FuturesTestSupport
import TestSupport
import Testing

private func remind(after delay: Duration, clock: any Clock<Duration>) async throws -> String {
  func remind(after delay: Duration, clock: any Clock<Duration>) async throws -> String {
    try await clock.sleep(for: delay)
    return "Time for tea"
  }

  return try await remind(after: delay, clock: clock)
}

@Suite("Snippets of FuturesTestSupport", .timeLimit(.minutes(5)), .oneAtATime)
struct FuturesTestSupportSnippets {
  @Test("The clock of the article")
  func clock() async throws {
    let clock = ManualClock()
    let reminder = Promises.async { try await remind(after: .seconds(60), clock: clock) }

    let sleep = try await clock.nextSleep()
    #expect(sleep.duration == .seconds(60))
    clock.advance(by: sleep.duration)
    let text = try await reminder.value
    #expect(text == "Time for tea")
  }

  @Test("The context of the article")
  func context() {
    let context = ManualContext()
    let doubled = Promises.makeSucceeded(with: 21).mapToValue(on: context) { $0 * 2 }
    #expect(!doubled.isFulfilled)
    context.runAll()
    #expect(doubled.result?.successValue == 42)
  }

  @Test("The expectation of the article")
  func settled() throws {
    let future = Promises.makeSucceeded(with: 42)
    let result = try expectSettled(future)
    #expect(result.successValue == 42)
  }

  @Test("The expectation of the article in real time")
  func settledInTime() async throws {
    let future = Promises.run(on: .global()) { 42 }
    let result = try await expectSettled(future, within: .seconds(60))
    #expect(result.successValue == 42)
  }

  @Test("The exploration of the article")
  func exploration() async throws {
    try await explore(seeds: 0..<500) { schedule in
      let promise = Promises.make(promising: Int.self)
      let first = promise.mapToValue(on: schedule.context) { $0 + 1 }
      let second = promise.mapToValue(on: schedule.context) { $0 * 2 }
      let both = Promises.combine(first, second)
      promise.succeed(with: 20)
      schedule.runAll()
      let (sum, product) = try expectSettled(both).get()
      try schedule.require(sum == 21 && product == 40)
    }
  }

  @Test("The leak check of the article")
  func leaks() async throws {
    @Sendable func print(_ value: Int) {}
    try await expectReleased { leaks in
      let promise = leaks.track(Promises.make(promising: Int.self))
      promise.onSuccess(on: .inline) { value in print(value) }
      promise.succeed(with: 1)
    }
  }
}
