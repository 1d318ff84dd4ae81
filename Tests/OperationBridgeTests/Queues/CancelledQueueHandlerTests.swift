import Foundation
import Futures
import OperationBridge
import TestSupport
import Testing

/// A handler that waits in a queue is one of the queue's operations: cancelling
/// them stops it.
///
/// The future that the handler's combinator returned has its result by then,
/// and keeps it.
@Suite("Handlers in a queue that is cancelled", .timeLimit(.minutes(5)), .oneAtATime)
struct CancelledQueueHandlerTests {
  /// A combinator that adds a handler to a future which has settled.
  struct Handler: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let ending: FutureResult<Int>
    let add: @Sendable (Future<Int>, OperationQueue, Counter) -> Future<Int>

    static let all: [Handler] = [
      Handler(testDescription: "onSuccess", ending: .success(1)) { future, queue, runs in
        future.onSuccess(on: queue) { _ in runs.add() }
      },
      Handler(testDescription: "onCompletion of a value", ending: .success(1)) {
        future, queue, runs in
        future.onCompletion(on: queue) { _ in runs.add() }
      },
      Handler(testDescription: "onCompletion of an error", ending: .failure(Oops())) {
        future, queue, runs in
        future.onCompletion(on: queue) { _ in runs.add() }
      },
      Handler(testDescription: "onFailure", ending: .failure(Oops())) { future, queue, runs in
        future.onFailure(on: queue) { _ in runs.add() }
      },
      Handler(testDescription: "onCancel", ending: .failure(ProperationsError.cancelled)) {
        future, queue, runs in
        future.onCancel(on: queue) { runs.add() }
      },
    ]
  }

  private static func isSame(_ a: FutureResult<Int>?, _ b: FutureResult<Int>) -> Bool {
    switch (a, b) {
    case (.success(let a), .success(let b)): a == b
    case (.failure(let a), .failure(let b)): type(of: a) == type(of: b)
    default: false
    }
  }

  @Test("Added to a settled future, its suspended queue cancelled: never runs, the result stays")
  func addedAfterwards() async {
    for handler in Handler.all {
      let queue = OperationQueue.make(isSuspended: true)
      let runs = Counter()
      let promise = Promise<Int>()
      promise.fulfill(with: handler.ending)
      let future = handler.add(promise, queue, runs)
      #expect(Self.isSame(future.result, handler.ending), "\(handler.testDescription)")
      queue.cancelAllOperations()
      queue.isSuspended = false
      #expect(await queue.isEmptyEventually())
      #expect(runs.value == 0, "\(handler.testDescription)")
      #expect(Self.isSame(future.result, handler.ending), "\(handler.testDescription)")
    }
  }

  @Test(
    "Added to a pending future that settles, its queue cancelled behind a running closure",
    .guarantee(2))
  func addedBefore() async {
    for handler in Handler.all {
      let queue = OperationQueue.make()
      let (started, goOn, runs) = (Event(), Event(), Counter())
      queue.addOperation {
        started.signal()
        goOn.wait()
      }
      #expect(await started.opened())
      let promise = Promise<Int>()
      let future = handler.add(promise, queue, runs)
      promise.fulfill(with: handler.ending)
      queue.cancelAllOperations()
      goOn.signal()
      #expect(await queue.isEmptyEventually())
      #expect(runs.value == 0, "\(handler.testDescription)")
      #expect(Self.isSame(future.result, handler.ending), "\(handler.testDescription)")
    }
  }

  @Test("A row of handlers in one queue, cancelled: none runs, the last future keeps the result")
  func row() async {
    let queue = OperationQueue.make(isSuspended: true)
    let runs = Counter()
    let last = Promises.makeSucceeded(with: 1)
      .onSuccess(on: queue) { _ in runs.add() }
      .onCompletion(on: queue) { _ in runs.add() }
      .onSuccess(on: queue) { _ in runs.add() }
    queue.cancelAllOperations()
    queue.isSuspended = false
    #expect(await queue.isEmptyEventually())
    #expect(runs.value == 0)
    #expect(last.result?.successValue == 1)
  }

  @Test("What a handler that was stopped had captured: is released")
  func released() async {
    let queue = OperationQueue.make(isSuspended: true)
    let tracker = LifetimeTracker()
    let future = Promises.makeSucceeded(with: 1)
    do {
      let object = tracker.make()
      future.onSuccess(on: queue) { _ in object.touch() }
    }
    queue.cancelAllOperations()
    queue.isSuspended = false
    #expect(await queue.isEmptyEventually())
    #expect(await eventually { tracker.alive == 0 })
  }

  @Test("always in a queue that is cancelled: runs once", .guarantee(2))
  func always() async {
    let queue = OperationQueue.make(isSuspended: true)
    let (early, late) = (Counter(), Counter())
    let promise = Promise<Int>()
    promise.always(on: queue) { early.add() }
    promise.succeed(with: 1)
    promise.always(on: queue) { late.add() }
    queue.cancelAllOperations()
    queue.isSuspended = false
    #expect(await eventually { early.value == 1 && late.value == 1 })
    #expect(await queue.isEmptyEventually())
    #expect(early.value == 1 && late.value == 1)
  }

  @Test("Handlers of the same future elsewhere, or added afterwards: run")
  func others() async {
    let queue = OperationQueue.make(isSuspended: true)
    let other = OperationQueue.make("other")
    let (elsewhere, afterwards) = (Event(), Event())
    let promise = Promise<Int>()
    promise.onSuccess(on: queue) { _ in }
    promise.onSuccess(on: other) { _ in elsewhere.signal() }
    promise.succeed(with: 1)
    queue.cancelAllOperations()
    promise.onSuccess(on: queue) { _ in afterwards.signal() }
    queue.isSuspended = false
    #expect(await elsewhere.opened())
    #expect(await afterwards.opened())
  }
}
