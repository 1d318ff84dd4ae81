import Foundation
import Futures
import TestSupport
import Testing

@Suite("Promises.first", .timeLimit(.minutes(5)), .oneAtATime)
struct PromisesFirstSuccessesTests {
  private static func indices(_ future: Future<[(index: Int, value: String)]>) -> [Int]? {
    future.result?.successValue?.map(\.index)
  }

  @Test func `the first successes come with their positions, in the order in which they came`() {
    let promises = (0..<5).map { _ in Promise<String>() }
    let future = Promises.first(2, of: promises)
    promises[1].fail(with: TestError.first)
    promises[3].succeed(with: "three")
    #expect(!future.isFulfilled)
    promises[0].succeed(with: "zero")
    #expect(Self.indices(future) == [3, 0])
    #expect(future.result?.successValue?.map(\.value) == ["three", "zero"])
    #expect(promises[2].isCancelled && promises[4].isCancelled)
  }

  @Test func `losers go on if they are not to be cancelled`() {
    let promises = (0..<3).map { _ in Promise<String>() }
    let future = Promises.first(1, of: promises, cancellingLosers: false)
    promises[2].succeed(with: "")
    #expect(Self.indices(future) == [2])
    #expect(!promises[0].isFulfilled && !promises[1].isFulfilled)
  }

  @Test func `it fails as soon as there cannot be enough, and cancels the rest`() {
    let promises = (0..<4).map { _ in Promise<String>() }
    let future = Promises.first(3, of: promises)
    promises[2].fail(with: TestError.first)
    #expect(!future.isFulfilled)
    promises[0].cancel()
    #expect(
      future.error as? ProperationsError
        == .multipleErrors([ProperationsError.cancelled, nil, TestError.first, nil]))
    #expect(!future.isCancelled)
    #expect(promises[1].isCancelled && promises[3].isCancelled)
  }

  @Test(arguments: [0, -1, Int.min])
  func `of none it succeeds at once`(_ count: Int) {
    let promise = Promise<String>()
    #expect(Self.indices(Promises.first(count, of: [promise])) == [])
    #expect(promise.isCancelled)
    let kept = Promise<String>()
    #expect(Self.indices(Promises.first(count, of: [kept], cancellingLosers: false)) == [])
    #expect(!kept.isFulfilled)
    #expect(Self.indices(Promises.first(count, of: [Future<String>]())) == [])
  }

  @Test(arguments: [3, Int.max])
  func `more than there are fails at once`(_ count: Int) {
    let promises = (0..<2).map { _ in Promise<String>() }
    let future = Promises.first(count, of: promises, cancellingLosers: false)
    #expect(future.error as? ProperationsError == .multipleErrors([nil, nil]))
    #expect(promises.allSatisfy { !$0.isFulfilled })
    let none = Promises.first(count, of: [Future<String>]())
    #expect(none.error as? ProperationsError == .multipleErrors([]))
  }

  @Test func `settled futures count at once, also those behind the last that is needed`() {
    let futures = ["a", "b", "c"].map { Promises.makeSucceeded(with: $0) }
    let pending = Promise<String>()
    let future = Promises.first(2, of: futures + [pending])
    #expect(Self.indices(future) == [0, 1])
    #expect(pending.isCancelled)
    let kept = Promise<String>()
    let other = Promises.first(2, of: futures + [kept], cancellingLosers: false)
    #expect(Self.indices(other) == [0, 1])
    #expect(!kept.isFulfilled)
  }

  @Test func `one future several times counts several times`() {
    let promise = Promise<String>()
    let future = Promises.first(2, of: [promise, promise, promise])
    promise.succeed(with: "")
    #expect(Self.indices(future) == [0, 1])
  }

  @Test func `cancelling it cancels the futures that no other consumer has`() {
    let promises = (0..<2).map { _ in Promise<String>() }
    let other = promises[0].mapToValue(on: .inline) { $0 }
    Promises.first(1, of: promises).cancel()
    #expect(!promises[0].isFulfilled)
    #expect(promises[1].isCancelled)
    withExtendedLifetime(other) {}
  }

  @Test func `a dropped promise counts as failed`() {
    let kept = Promise<String>()
    let future = Promises.first(2, of: [kept, Promise<String>()])
    guard case .multipleErrors(let errors)? = future.error as? ProperationsError,
      errors.count == 2, errors[0] == nil, case .brokenPromise? = errors[1] as? ProperationsError
    else {
      Issue.record("\(future)")
      return
    }
  }

  @Test func `an input whose handler cancels the whole, and one that cancels its neighbour`() {
    let promises = (0..<3).map { _ in Promise<String>() }
    promises[0].onSuccess(on: .inline) { _ in promises[1].cancel() }
    let future = Promises.first(2, of: promises)
    let again = Promises.first(1, of: [promises[0], promises[2]])
    again.onSuccess(on: .inline) { _ in future.cancel() }
    promises[0].succeed(with: "")
    #expect(Self.indices(again) == [0])
    #expect(future.isFulfilled)
  }

  @Test func `settling and cancelling race: nothing stays pending, and nothing is kept`() async {
    let tracker = LifetimeTracker()
    let stuck = Counter()
    let isDone = await RaceHarness(threads: 3, rounds: 2_000).run { _ in
      let promises = (0..<3).map { _ in Promise<Tracked>() }
      return (promises, Promises.first(2, of: promises))
    } act: { subject, index in
      switch index {
      case 0: subject.0[0].succeed(with: tracker.make())
      case 1: subject.0[1].succeed(with: tracker.make())
      default: subject.1.cancel()
      }
    } check: { subject, _ in
      if !subject.1.isFinished || !subject.0[2].isCancelled { stuck.add() }
    }
    #expect(isDone)
    #expect(stuck.value == 0)
    #expect(await eventually { tracker.alive == 0 })
  }

  @Test func `100,000 futures take time in proportion, and no stack`() async throws {
    let count = try await SmallStackThread.running(within: .seconds(240)) { () -> Int? in
      let promises = (0..<100_000).map { _ in Promise<Int>() }
      let future = Promises.first(99_999, of: promises)
      for index in promises.indices.reversed() { promises[index].succeed(with: index) }
      return future.result?.successValue?.count
    }
    #expect(count == 99_999)
  }
}
