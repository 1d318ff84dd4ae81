import Foundation
import TestSupport
import Testing

@testable import Futures

@Suite("The progress of a future", .timeLimit(.minutes(5)), .oneAtATime)
struct FutureProgressTests {
  @Test func `a promise without reports is indeterminate until it succeeds`() {
    let promise = Promise<Int>()
    #expect(promise.currentProgress.isIndeterminate)
    #expect(promise.currentProgress.fractionCompleted == 0)
    #expect(promise.currentProgress.completed == nil && promise.currentProgress.total == nil)
    promise.succeed(with: 1)
    #expect(!promise.currentProgress.isIndeterminate)
    #expect(promise.currentProgress.fractionCompleted == 1)
  }

  @Test func `a report is there at once, in the producer's units`() {
    let promise = Promise<Int>()
    promise.report(completed: 30, of: 120)
    #expect(promise.currentProgress.completed == 30)
    #expect(promise.currentProgress.total == 120)
    #expect(promise.currentProgress.fractionCompleted == 0.25)
    #expect("\(promise.currentProgress)" == "25 %, 30 of 120")
  }

  @Test func `a resolver reports too`() {
    let (future, resolver) = Promises.makeResolver(promising: Int.self)
    resolver.report(completed: 1, of: 4)
    #expect(future.currentProgress.fractionCompleted == 0.25)
    resolver.succeed(with: 1)
  }

  @Test func `a lower report of the same total is ignored, and another total counts`() {
    let promise = Promise<Int>()
    promise.report(completed: 50, of: 100)
    promise.report(completed: 20, of: 100)
    #expect(promise.currentProgress.fractionCompleted == 0.5)
    promise.report(completed: 50, of: 200)
    #expect(promise.currentProgress.fractionCompleted == 0.25)
  }

  @Test(
    arguments: [
      (5, 0, nil, true), (5, -3, nil, true), (-7, 10, 0.0, false), (11, 10, 1.0, false),
      (Int.max, Int.max, 1.0, false), (Int.min, Int.min, nil, true), (Int.max, 1, 1.0, false),
      (0, Int.max, 0.0, false),
    ] as [(Int, Int, Double?, Bool)])
  func `hostile numbers are clamped`(
    completed: Int, total: Int, fraction: Double?, isIndeterminate: Bool
  ) {
    let promise = Promise<Int>()
    promise.report(completed: completed, of: total)
    #expect(promise.currentProgress.fractionCompleted == fraction ?? 0)
    #expect(promise.currentProgress.isIndeterminate == isIndeterminate)
    #expect((promise.currentProgress.completed ?? 0) >= 0)
  }

  @Test func `the description has the percentage that the units are, rounded down`() {
    for (completed, total, text) in [
      (29, 100, "29 %, 29 of 100"), (57, 100, "57 %, 57 of 100"), (2, 3, "66 %, 2 of 3"),
      (199, 200, "99 %, 199 of 200"), (Int.max - 1, .max, nil), (Int.max, .max, nil),
    ] as [(Int, Int, String?)] {
      let promise = Promise<Int>()
      promise.report(completed: completed, of: total)
      let percentage = completed == .max ? 100 : 99
      let expected = text ?? "\(percentage) %, \(completed) of \(total)"
      #expect("\(promise.currentProgress)" == expected)
    }
    let promise = Promise<Int>()
    let settled = Promises.collect([promise, Promises.makeSucceeded(with: 1)] as [Future<Int>])
    promise.report(completed: 16, of: 100)
    #expect("\(settled.currentProgress)" == "58 %")
  }

  @Test func `units larger than 64 bits are clamped`() {
    let promise = Promise<Int>()
    promise.report(completed: UInt64.max, of: UInt64.max)
    #expect(promise.currentProgress.total == Int64.max)
    #expect(promise.currentProgress.fractionCompleted == 1)
  }

  @Test func `after the end a report changes nothing`() {
    let (succeeded, failed, cancelled) = (Promise<Int>(), Promise<Int>(), Promise<Int>())
    for promise in [succeeded, failed, cancelled] { promise.report(completed: 1, of: 2) }
    succeeded.succeed(with: 1)
    failed.fail(with: TestError.first)
    cancelled.cancel()
    for promise in [succeeded, failed, cancelled] { promise.report(completed: 2, of: 3) }
    #expect(succeeded.currentProgress.fractionCompleted == 1)
    #expect(succeeded.currentProgress.total == 2)
    #expect(failed.currentProgress.isIndeterminate)
    #expect(cancelled.currentProgress.isIndeterminate)
  }

  // MARK: Combinators

  @Test func `links pass the progress of their source on`() {
    let promise = Promise<Int>()
    let end = promise.mapToValue(on: .inline) { $0 + 1 }.onSuccess(on: .inline) { _ in }
      .recover(on: .inline) { _ in 0 }
    promise.report(completed: 3, of: 4)
    #expect(end.currentProgress.fractionCompleted == 0.75)
    #expect(end.currentProgress.total == 4)
  }

  @Test func `the source of mapToFuture counts for one half, and the inner future for the other`() {
    let (source, inner) = (Promise<Int>(), Promise<Int>())
    let end = source.mapToFuture(on: .inline) { _ in inner }
    #expect(end.currentProgress.isIndeterminate)
    source.report(completed: 1, of: 2)
    #expect(end.currentProgress.fractionCompleted == 0.25)
    #expect(end.currentProgress.total == nil)
    source.succeed(with: 1)
    #expect(end.currentProgress.fractionCompleted == 0.5)
    inner.report(completed: 1, of: 2)
    #expect(end.currentProgress.fractionCompleted == 0.75)
    inner.succeed(with: 2)
    #expect(end.currentProgress.fractionCompleted == 1)
  }

  @Test func `while a closure runs its source counts as complete`() {
    let source = Promise<Int>()
    let seen = Log<Double>()
    let box = Log<AnyFuture>()
    let mapped = source.mapToValue(on: .inline) { value in
      seen.append(box.entries[0].currentProgress.fractionCompleted)
      return value
    }
    box.append(mapped)
    source.succeed(with: 1)
    #expect(seen.entries == [1])
  }

  @Test func `a promise that is fulfilled from another future has the progress of that one`() {
    let (outer, inner) = (Promise<Int>(), Promise<Int>())
    outer.fulfill(from: inner)
    inner.report(completed: 1, of: 4)
    #expect(outer.currentProgress.completed == 1)
    inner.cancel()
  }

  @Test func `joined futures have the mean, and a settled input counts as complete`() {
    let promises = (0..<4).map { _ in Promise<Int>() }
    let all = Promises.collect(promises)
    #expect(all.currentProgress.isIndeterminate)
    promises[0].report(completed: 1, of: 2)
    #expect(all.currentProgress.fractionCompleted == 0.125)
    promises[1].fail(with: TestError.first)
    #expect(all.currentProgress.fractionCompleted == 0.375)
    promises[2].succeed(with: 1)
    #expect(all.currentProgress.fractionCompleted == 0.625)
    let pair = promises[0].and(promises[3])
    #expect(pair.currentProgress.fractionCompleted == 0.25)
    all.ignoreFailure()
    promises[0].succeed(with: 1)
    promises[3].succeed(with: 1)
    #expect(pair.currentProgress.fractionCompleted == 1)
  }

  @Test func `one input of a join twice counts twice`() {
    let (first, second) = (Promise<Int>(), Promise<Int>())
    let all = Promises.collect([first, first, second])
    first.report(completed: 1, of: 2)
    #expect(abs(all.currentProgress.fractionCompleted - 1 / 3) < 1e-9)
    first.cancel()
    second.cancel()
  }

  // MARK: Size

  @Test func `joins on joins are each read once, so four times the depth costs four times`() {
    func visits(depth: Int) -> Int {
      let promise = Promise<Int>()
      promise.report(completed: 1, of: 2)
      var end: Future<Int> = promise
      for _ in 0..<depth {
        end = Promises.collect([end, end, end], failingFast: true).mapToValue(on: .inline) { $0[0] }
      }
      let walk = ProgressWalk(from: end)
      #expect(abs(walk.progress.fractionCompleted - 0.5) < 1e-9)
      promise.succeed(with: 1)
      return walk.visits
    }
    let (small, large) = (visits(depth: 100), visits(depth: 400))
    #expect(small <= 202)
    #expect(large <= 4 * small)
  }

  @Test func `a report without listeners visits no future downstream`() {
    let promise = Promise<Int>()
    let futures = (0..<1_000).map { _ in promise.mapToValue(on: .inline) { $0 } }
    promise.report(completed: 1, of: 2)
    #expect(promise.storage.progressWatches.isEmpty)
    #expect(futures.allSatisfy { $0.storage.progressState.report == nil })
    promise.cancel()
  }

  // MARK: Cycles

  /// Links promises in a thread of its own, because a search that is lost never returns.
  private func link(_ body: @escaping @Sendable () -> Void) async -> Bool {
    let isOver = Event()
    Thread.detachNewThread {
      body()
      isOver.signal()
    }
    return await isOver.opened()
  }

  @Test func `a promise with a progress is fulfilled from itself: a cycle, and the call returns`()
    async
  {
    let promise = Promise<Int>()
    let progress = promise.makeProgress()
    #expect(await link { promise.fulfill(from: promise) })
    #expect(promise.error as? ProperationsError == .cycle(createdAt: promise.createdAt))
    withExtendedLifetime(progress) {}
  }

  @Test func `a promise with a progress is fulfilled from a descendant: a cycle, and it returns`()
    async
  {
    let promise = Promise<Int>()
    let progress = promise.makeProgress()
    let link = promise.mapToValue(on: .inline) { $0 }
    #expect(await self.link { promise.fulfill(from: link) })
    #expect(promise.error as? ProperationsError == .cycle(createdAt: promise.createdAt))
    withExtendedLifetime(progress) {}
  }
}
