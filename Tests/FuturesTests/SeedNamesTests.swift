import Foundation
import Futures
import TestSupport
import Testing

@Suite("The names of Properations", .timeLimit(.minutes(5)), .oneAtATime)
struct SeedNamesTests {
  @available(*, deprecated)
  @Test func `the classes' names make and take the same objects`() {
    let promise: PromiseOperation<Int> = PromiseOperation()
    let future: FutureOperation<Int> = promise
    promise.succeed(with: 1)
    #expect(future.result?.successValue == 1)
  }

  @available(*, deprecated)
  private func value<Work: FutureResultable>(of work: Work) -> Int? where Work.Success == Int {
    work.isResultFulfilled ? work.result?.successValue : nil
  }

  @available(*, deprecated)
  @Test func `a generic function gets the result of what conforms`() {
    let promise = Promises.make(promising: Int.self)
    #expect(value(of: promise) == nil)
    promise.succeed(with: 1)
    #expect(value(of: promise) == 1)
  }

  @available(*, deprecated)
  @Test func `a promise made on a queue belongs to it`() {
    let queue = OperationQueue()
    queue.isSuspended = true
    let promise = Promises.make(on: queue, promising: Int.self)
    #expect(queue.operationCount == 1)
    queue.cancelAllOperations()
    #expect(promise.isCancelled)
    #expect(!Promises.make(on: nil, promising: Int.self).isFulfilled)
  }

  @available(*, deprecated)
  @Test func `a promise made fulfilled has its result, on a queue or not`() async throws {
    let queue = OperationQueue()
    let results: [Promise<Int>] = [
      Promises.makeFulfilled(on: queue, with: .success(1)),
      Promise.makeFulfilled(on: queue, with: .success(1)),
      Promise.makeFulfilled(with: .success(1)),
    ]
    #expect(results.map { $0.result?.successValue } == [1, 1, 1])
    let failed: Promise<Int> = Promises.makeFulfilled(on: nil, with: .failure(TestError.first))
    #expect(failed.error as? TestError == .first)
    // The queue still runs other work.
    #expect(try await Promises.run(on: queue) { 2 }.value == 2)
  }

  @available(*, deprecated)
  @Test func `between truth values || takes the first success, true or not`() {
    let (slow, quick) = (Promises.make(promising: Bool.self), Promises.make(promising: Bool.self))
    let first = slow || quick
    quick.succeed(with: false)
    #expect(first.result?.successValue == false)
    #expect(slow.isCancelled)
  }
}
