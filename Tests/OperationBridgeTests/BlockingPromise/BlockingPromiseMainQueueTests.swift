import Foundation
import Futures
import OperationBridge
import TestSupport
import Testing

@Suite("A blocking promise on the main queue", .timeLimit(.minutes(5)), .oneAtATime)
struct BlockingPromiseMainQueueTests {
  @Test("Made there: fails with blockingOnMainQueue at once, the closure never runs")
  func made() async throws {
    let runs = Log<Int>()
    let promise = Promises.makeBlocking(in: .main, promising: Int.self) { _ in runs.append(1) }
    #expect(promise.result?.failureValue as? ProperationsError == .blockingOnMainQueue)
    #expect(runs.count == 0)
  }

  @Test("Made there with another context: fails all the same")
  func madeWithAnotherContext() async throws {
    let promise = Promises.makeBlocking(
      in: .main, promising: Int.self, on: .global()
    ) { $0.succeed(with: 1) }
    #expect(promise.result?.failureValue as? ProperationsError == .blockingOnMainQueue)
  }

  @Test("Put there by addOperation: fails, and the main queue goes on")
  func addedByHand() async throws {
    let runs = Log<Int>()
    let promise = BlockingPromise<Int> { _ in runs.append(1) }
    OperationQueue.main.addOperation(promise)
    await #expect(throws: ProperationsError.blockingOnMainQueue) { try await promise.value }
    #expect(try await Promises.run { 1 }.value == 1)
    #expect(runs.count == 0)
    #expect(await eventually { promise.isFinished })
  }

  @Test("Put there by addFuture: fails, and the main queue goes on")
  func addedByAddFuture() async throws {
    let promise = BlockingPromise<Int> { $0.succeed(with: 1) }
    try OperationQueue.main.addFuture(promise)
    await #expect(throws: ProperationsError.blockingOnMainQueue) { try await promise.value }
    #expect(try await Promises.run { 2 }.value == 2)
  }

  @Test("On a private queue, made from the main actor: its closure runs on main, no deadlock")
  @MainActor
  func fromTheMainActor() async throws {
    let queue = OperationQueue.make()
    let promise = Promises.makeBlocking(in: queue, promising: Int.self) { promise in
      MainActor.assertIsolated()
      promise.succeed(with: 3)
    }
    #expect(try await promise.value == 3)
  }

  @Test("An ordinary pending promise on the main queue: blocks nobody, settles")
  func ordinaryOnMain() async throws {
    let promise = Promises.make(promising: Int.self, in: .main)
    #expect(try await Promises.run { 1 }.value == 1)
    promise.succeed(with: 2)
    #expect(try await promise.value == 2)
    #expect(await eventually { promise.isFinished })
  }
}
