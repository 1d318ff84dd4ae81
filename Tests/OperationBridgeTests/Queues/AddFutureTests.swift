import Foundation
import Futures
import OperationBridge
import TestSupport
import Testing

@Suite("Putting futures in a queue", .timeLimit(.minutes(5)), .oneAtATime)
struct AddFutureTests {
  @Test("A pending future on a serial queue: holds no slot, leaves when it settles")
  func pending() async throws {
    let queue = OperationQueue.make()
    let promise = Promises.make(promising: Int.self)
    try queue.addFuture(promise)
    #expect(try await queue.run { 1 }.value == 1)
    #expect(await eventually { queue.operationCount == 1 })
    promise.succeed(with: 2)
    #expect(await queue.isEmptyEventually())
    #expect(promise.isFinished)
  }

  @Test("enqueue(on:) at the end of a chain: the derived future is in the queue until it settles")
  func derived() async throws {
    let queue = OperationQueue.make()
    let promise = Promises.make(promising: Int.self)
    let future = promise.mapToValue(on: .inline) { $0 + 1 }
    try queue.addFuture(future)
    #expect(queue.operationCount == 1)
    promise.succeed(with: 1)
    #expect(try await future.value == 2)
    #expect(await queue.isEmptyEventually())
  }

  @Test("A derived future in the very queue its closure runs on: settles and leaves")
  func derivedOnSameQueue() async throws {
    let queue = OperationQueue.make()
    let future = queue.run { 1 }.mapToValue(on: queue) { $0 + 1 }
    try queue.addFuture(future)
    #expect(try await future.value == 2)
    #expect(await queue.isEmptyEventually())
  }

  @Test("Settled, but its closure still runs: accepted, leaves when the closure has returned")
  func settledNotFinished() async throws {
    let (work, queue) = (OperationQueue.make("work"), OperationQueue.make())
    let (started, goOn) = (Event(), Event())
    let future = work.run {
      started.signal()
      goOn.wait()
    }
    await started.opened()
    future.cancel()
    #expect(future.isFulfilled && !future.isFinished)
    try queue.addFuture(future)
    #expect(queue.operationCount >= 1)
    goOn.signal()
    #expect(await queue.isEmptyEventually())
    #expect(future.isFinished)
  }

  @Test("The same future twice: the second is refused with alreadyEnqueued, the first holds")
  func twice() async throws {
    let queue = OperationQueue.make()
    let promise = Promises.make(promising: Int.self)
    try queue.addFuture(promise)
    #expect(throws: ProperationsError.alreadyEnqueued(createdAt: promise.createdAt)) {
      try queue.addFuture(promise)
    }
    promise.succeed(with: 1)
    #expect(await queue.isEmptyEventually())
  }

  @Test("On a second queue: refused, and the second queue stays empty", .guarantee(11))
  func twoQueues() async throws {
    let (queue, other) = (OperationQueue.make(), OperationQueue.make("other"))
    let promise = Promises.make(promising: Int.self, in: queue)
    #expect(throws: ProperationsError.alreadyEnqueued(createdAt: promise.createdAt)) {
      try other.addFuture(promise)
    }
    #expect(other.operationCount == 0)
    promise.succeed(with: 1)
    #expect(await queue.isEmptyEventually())
  }

  @Test("A finished future: accepted, there is nothing to do; twice: refused, naming its place")
  func finished() async throws {
    let queue = OperationQueue.make()
    let future = Promises.makeSucceeded(with: "done")
    try queue.addFuture(future)
    #expect(queue.operationCount == 0)
    let error = #expect(throws: ProperationsError.self) { try queue.addFuture(future) }
    #expect(error == .alreadyEnqueued(createdAt: future.createdAt))
    #expect(future.createdAt.valueType == "String")
    #expect(error?.errorDescription?.contains("AddFutureTests.swift") == true)
    #expect(queue.operationCount == 0)
  }

  @Test("After a plain addOperation: refused")
  func afterAddOperation() async throws {
    let queue = OperationQueue.make()
    let promise = Promises.make(promising: Int.self)
    queue.addOperation(promise)
    #expect(throws: ProperationsError.self) { try queue.addFuture(promise) }
    promise.succeed(with: 1)
    #expect(await queue.isEmptyEventually())
  }

  @Test("A future whose isReady somebody read before: accepted, leaves when settled")
  func readinessWasRead() async throws {
    let queue = OperationQueue.make()
    let promise = Promises.make(promising: Int.self)
    #expect(!promise.isReady)
    try queue.addFuture(promise)
    promise.succeed(with: 1)
    #expect(await queue.isEmptyEventually())
  }

  @Test("Eight threads add one future to eight queues: exactly one gets it, a thousand rounds")
  func raceToAdd() async throws {
    struct Subject: Sendable {
      let promise = Promises.make(promising: Int.self)
      let queues = (0..<8).map { OperationQueue.make("\($0)") }
      let accepted = Log<Int>()
    }
    let wrong = await race(rounds: 1000) { _ in
      Subject()
    } _: { thread, subject in
      if (try? subject.queues[thread].addFuture(subject.promise)) != nil {
        subject.accepted.append(thread)
      }
      if thread == 3 { subject.promise.succeed(with: 1) }
    } isRight: { subject in
      // None, if it had settled before the first came.
      subject.accepted.count <= 1 && subject.promise.isFulfilled
        && eventuallyBlocking {
          subject.promise.isFinished && subject.queues.allSatisfy { $0.operationCount == 0 }
        }
    }
    #expect(wrong == nil)
  }

  @Test("Released pending: leaves its queue, and who waits for it sees the promise broken")
  func released() async throws {
    let queue = OperationQueue.make()
    var promise: Promise<Int>? = Promises.make(promising: Int.self, in: queue)
    let consumer = promise!.mapToValue(on: .inline) { $0 }
    promise = nil
    #expect(await queue.isEmptyEventually())
    #expect(consumer.result?.isFailure == true)
  }

  @Test("The queue released by everybody, a pending future in it: settles, then the queue goes")
  func releasedQueue() async throws {
    var queue: OperationQueue? = OperationQueue.make()
    let reference = WeakReference(queue!)
    let promise = Promises.make(promising: Int.self, in: queue!)
    let completed = Event()
    promise.completionBlock = { completed.signal() }
    queue = nil
    promise.succeed(with: 1)
    await completed.opened()
    #expect(await eventually { reference.isGone })
    #expect(promise.isFinished)
  }

  @Test("Made in a queue by two threads, one cancels the queue, 500 rounds: its own is cancelled")
  func raceSharedPlaceholder() async {
    struct Subject: Sendable {
      let start = SpinBarrier(2)
      let round: Int
      let queue = OperationQueue()
      let others: [Promise<Int>]
      let isRight = Protected(true)
      init(_ round: Int) {
        self.round = round
        others = (0..<15).map { [queue] _ in Promises.make(promising: Int.self, in: queue) }
      }
    }
    let wrong = await race(rounds: 500, threads: 2) { round in
      Subject(round)
    } _: { thread, subject in
      subject.start.meet(delay: thread == 0 ? 0 : subject.round * 4)
      let promise = Promises.make(promising: Int.self, in: subject.queue)
      guard thread == 1 else { return }
      subject.queue.cancelAllOperations()
      if !promise.isCancelled { subject.isRight.change { $0 = false } }
    } isRight: { subject in
      subject.queue.cancelAllOperations()
      return subject.isRight.value
    }
    #expect(wrong == nil)
  }
}
