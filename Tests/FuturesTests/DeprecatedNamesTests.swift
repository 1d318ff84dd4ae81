import Foundation
import Futures
import TestSupport
import Testing

@Suite("Names that have been replaced", .timeLimit(.minutes(5)), .oneAtATime)
struct DeprecatedNamesTests {
  @available(*, deprecated)
  @Test("make(on:) puts a promise in the queue, on both types")
  func madeOnQueue() {
    let queue = OperationQueue()
    let first = Promises.make(promising: Int.self, on: queue)
    let second = Promise<Int>.make(on: queue)
    let free = Promises.make(promising: Int.self, on: nil)
    queue.cancelAllOperations()
    #expect(first.isCancelled && second.isCancelled && !free.isFulfilled)
  }

  @available(*, deprecated)
  @Test("after succeeds after the time, for both kinds of time")
  func after() async throws {
    try await Promises.after(.milliseconds(1)).value
    let interval: DispatchTimeInterval = .milliseconds(1)
    try await Promises.after(interval).value
    let never: DispatchTimeInterval = .never
    let pending = Promises.after(never)
    pending.cancel()
    #expect(pending.isCancelled)
  }

  @available(*, deprecated)
  @Test("collectFutures and raceFutures do what collect and race do")
  func sequences() {
    let values = [1, 2].map { Promises.makeSucceeded(with: $0) }
    #expect(values.collectFutures().result?.successValue == [1, 2])
    let failed = Promises.makeFailed(with: TestError.first, promising: Int.self)
    let fast = [Promise<Int>(), failed].collectFutures(failingFast: true)
    #expect(fast.result?.failureValue as? TestError == .first)

    let loser = Promise<Int>()
    #expect([loser, values[0]].raceFutures().result?.successValue == 1)
    #expect(loser.isCancelled)
    let kept = Promise<Int>()
    #expect([kept, values[1]].raceFutures(cancellingLosers: false).result?.successValue == 2)
    #expect(!kept.isFulfilled)
  }
}
