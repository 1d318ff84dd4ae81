import Foundation
import Futures
import TestSupport
import Testing

@Suite("Promises.reduce", .timeLimit(.minutes(5)), .oneAtATime)
struct PromisesReducingTests {
  @Test func `values are combined in the order of the futures, whatever order they come in`() {
    let promises = (0..<4).map { _ in Promise<Int>() }
    let future = Promises.reduce(promises + [promises[0]], "", on: .inline) { $0 + "\($1)" }
    for index in [2, 0, 3] { promises[index].succeed(with: index) }
    #expect(!future.isFulfilled)
    promises[1].succeed(with: 1)
    #expect(future.result?.successValue == "01230")
  }

  @Test func `of nothing it is the initial value`() {
    let future = Promises.reduce([Future<Int>](), 7, on: .inline) { $0 + $1 }
    #expect(future.result?.successValue == 7)
  }

  @Test @MainActor func `without a context the closure runs on the main actor`() async throws {
    var seen: [Int] = []
    let futures = (1...3).map { Promises.makeSucceeded(with: $0) }
    let future = Promises.reduce(futures, 0) { sum, value in
      MainActor.preconditionIsolated()
      seen.append(value)
      return sum + value
    }
    #expect(try await future.value == 6)
    #expect(seen == [1, 2, 3])
  }

  @Test func `the first failure fails it, and cancels the others`() {
    let promises = (0..<3).map { _ in Promise<Int>() }
    let runs = Counter()
    let future = Promises.reduce(promises, 0, on: .inline) { sum, value in
      runs.add()
      return sum + value
    }
    promises[0].succeed(with: 1)
    promises[1].fail(with: TestError.first)
    #expect(future.error as? TestError == .first)
    #expect(promises[2].isCancelled)
    #expect(runs.value == 0)
    let cancelled = Promises.reduce([Promises.makeSucceeded(with: 1)], 0, on: .inline) { _, _ in
      throw CancellationError()
    }
    #expect(cancelled.isCancelled)
  }

  @Test func `a closure that throws runs no more`() {
    let runs = Counter()
    let futures = (0..<5).map { Promises.makeSucceeded(with: $0) }
    let future = Promises.reduce(futures, 0, on: .inline) { sum, value in
      runs.add()
      if value == 2 { throw TestError.second }
      return sum + value
    }
    #expect(future.error as? TestError == .second)
    #expect(runs.value == 3)
  }

  @Test func `cancelled while the closure runs it takes no further value`() {
    let context = ManualContext()
    let made = Box<Future<Int>?>(nil)
    let runs = Counter()
    let futures = (0..<5).map { Promises.makeSucceeded(with: $0) }
    let future = Promises.reduce(futures, 0, on: context) { sum, value in
      if runs.add() == 2 { made.value?.cancel() }
      return sum + value
    }
    made.value = future
    context.runAll()
    #expect(future.isCancelled && future.isFinished)
    #expect(runs.value == 2)
    made.value = nil
  }

  @Test func `cancelling it cancels the futures that no other consumer has`() {
    let promises = (0..<2).map { _ in Promise<Int>() }
    let other = promises[0].mapToValue(on: .inline) { $0 }
    Promises.reduce(promises, 0, on: .inline) { $0 + $1 }.cancel()
    #expect(!promises[0].isFulfilled)
    #expect(promises[1].isCancelled)
    withExtendedLifetime(other) {}
  }

  @Test func `a dropped promise breaks it`() {
    let future = Promises.reduce([Promise<Int>()], 0, on: .inline) { $0 + $1 }
    guard case .brokenPromise? = future.error as? ProperationsError else {
      Issue.record("\(future)")
      return
    }
  }

  @Test func `100,000 futures need no stack`() async throws {
    let sum = try await SmallStackThread.running(within: .seconds(240)) {
      let one = Promises.makeSucceeded(with: 1)
      return Promises.reduce(repeatElement(one, count: 100_000), 0, on: .inline) { $0 + $1 }
        .result?.successValue
    }
    #expect(sum == 100_000)
  }
}
