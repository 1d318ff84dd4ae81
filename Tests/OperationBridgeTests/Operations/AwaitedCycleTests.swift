import Foundation
import Futures
import OperationBridge
import TestSupport
import Testing

@Suite("Cycles through the future of an operation", .timeLimit(.minutes(5)), .oneAtATime)
struct AwaitedCycleTests {
  private func isCycle(_ future: Future<Int>) -> Bool {
    future.result?.failureValue as? ProperationsError == .cycle(createdAt: future.createdAt)
  }

  @Test("A promise that is to settle like the future awaiting its completion: fails with cycle")
  func awaitingItself() {
    let promise = Promise<Int>()
    promise.fulfill(from: Promises.make(awaitingCompletionOf: promise, on: .inline) { _ in 1 })
    #expect(isCycle(promise))
  }

  @Test("The same with promise.future in between: fails with cycle")
  func futureOfItself() {
    let promise = Promise<Int>()
    promise.fulfill(from: (promise as Operation).future.mapToValue(on: .inline) { 1 })
    #expect(isCycle(promise))
  }

  @Test("The same, awaiting a future made from the promise: fails with cycle")
  func awaitingDescendant() {
    let promise = Promise<Int>()
    let below = promise.mapToValue(on: .inline) { $0 }
    promise.fulfill(from: Promises.make(awaitingCompletionOf: below, on: .inline) { _ in 1 })
    #expect(isCycle(promise))
    #expect(below.isFulfilled == promise.isFulfilled)
  }

  @Test("A future that is to depend on the one awaiting its completion: fails with cycle")
  func dependingOnAwaiting() {
    let gate = Promise<Int>()
    let future = gate.mapToValue(on: .inline) { $0 }
    future.addDependency(Promises.make(awaitingCompletionOf: future, on: .inline) { _ in 1 })
    gate.succeed(with: 1)
    #expect(isCycle(future))
  }

  @Test("A mapToFuture that returns the future awaiting its own completion: fails with cycle")
  func innerAwaiting() {
    let gate = Promise<Int>()
    let own = Box<Future<Int>?>(nil)
    let future = gate.mapToFuture(on: .inline) { _ -> Future<Int> in
      guard let own = own.value else { return Promises.makeSucceeded(with: 0) }
      return Promises.make(awaitingCompletionOf: own, on: .inline) { _ in 1 }
    }
    own.value = future
    gate.succeed(with: 1)
    #expect(isCycle(future))
    own.value = nil
  }

  @Test("A future in a queue depends on what waits for its finish: both end, and the queue goes on")
  func cycleInQueue() async {
    let (queue, first, gate) = (OperationQueue(), Promise<Int>(), Promise<Int>())
    queue.addOperation(first)
    let second = gate.mapToValue(on: .inline) { $0 }
    second.addDependency(first)
    first.addDependency(second)
    #expect(isCycle(first))
    gate.succeed(with: 1)
    #expect(await eventually { first.isFinished && second.isFinished })
    #expect(await eventually { queue.operationCount == 0 })
  }
}
