import Foundation
import Futures
import OperationBridge
import TestSupport
import Testing

/// What joining a queue keeps, and what a second queue does.
@Suite("A future and its queues", .timeLimit(.minutes(5)), .oneAtATime)
struct SecondQueueTests {
  @Test("Added to a second queue by addOperation: settles, both queues empty, one completion block")
  func secondQueue() async throws {
    for waitsForDependency in [false, true] {
      let (first, second) = (OperationQueue.make(), OperationQueue.make("second"))
      let (promise, completions) = (Promise<Int>(), Counter())
      let dependency = BlockOperation {}
      if waitsForDependency { promise.addDependency(dependency) }
      promise.completionBlock = { completions.add() }
      try first.addFuture(promise)
      second.addOperation(promise)
      let consumer = promise.mapToValue(on: .inline) { $0 + 1 }
      promise.succeed(with: 1)
      dependency.start()
      #expect(try await consumer.value == 2)
      #expect(await first.isEmptyEventually())
      #expect(await second.isEmptyEventually())
      #expect(await eventually { completions.value == 1 })
      #expect(promise.isFinished)
      #expect(try await first.run { 1 }.value + second.run { 2 }.value == 3)
      #expect(completions.value == 1)
    }
  }

  @Test("Added to a second queue by addOperation, the first queue cancelled: cancelled, both empty")
  func secondQueueCancelled() async throws {
    let (first, second) = (OperationQueue.make(), OperationQueue.make("second"))
    let promise = Promise<Int>()
    try first.addFuture(promise)
    second.addOperation(promise)
    first.cancelAllOperations()
    #expect(promise.isCancelled)
    #expect(await first.isEmptyEventually())
    #expect(await second.isEmptyEventually())
  }

  @Test("isReady was read, any number of times: addFuture does not throw")
  func readinessRead() async throws {
    let queue = OperationQueue.make()
    let promise = Promise<Int>()
    let link = promise.mapToValue(on: .inline) { $0 }
    let occupant = BlockingPromise<Int>(on: .inline) { $0.succeed(with: 1) }
    let settled = Promises.makeSucceeded(with: 1)
    let futures: [AnyFuture] = [promise, link, occupant, settled]
    for future in futures {
      for _ in 0..<3 { _ = future.isReady }
      #expect(throws: Never.self) { try queue.addFuture(future) }
      #expect(throws: ProperationsError.self) { try queue.addFuture(future) }
    }
    promise.succeed(with: 1)
    #expect(await queue.isEmptyEventually())
  }

  @Test("Joined when settled while its closure still ran: the queue is released all the same")
  func queueIsReleased() async throws {
    let context = OperationQueue.make("context")
    let (started, goOn) = (Event(), Event())
    let future = Promises.run(on: context) {
      started.signal()
      goOn.wait()
    }
    #expect(await started.opened())
    future.cancel()
    #expect(future.isFulfilled)
    var queue: OperationQueue? = OperationQueue.make("joined")
    let reference = WeakReference(queue!)
    try queue!.addFuture(future)
    goOn.signal()
    #expect(await eventually { future.isFinished })
    #expect(await queue!.isEmptyEventually())
    queue = nil
    let isGone = await eventually { reference.isGone }
    #expect(isGone)
    withExtendedLifetime(future) {}
  }

  @Test("Joined pending, then settled: the queue is released")
  func queueIsReleasedAfterSettling() async throws {
    let promise = Promise<Int>()
    var queue: OperationQueue? = OperationQueue.make("joined")
    let reference = WeakReference(queue!)
    try queue!.addFuture(promise)
    promise.succeed(with: 1)
    #expect(await queue!.isEmptyEventually())
    queue = nil
    #expect(await eventually { reference.isGone })
    withExtendedLifetime(promise) {}
  }
}
