import Foundation
import Futures
import OperationBridge
import TestSupport
import Testing
import TypedTasks

/// What `explain()` says of work that the library itself runs.
@Suite("Explanations of work of the library", .timeLimit(.minutes(5)), .oneAtATime)
struct ExplainedWorkTests {
  @Test("an async closure that runs is no promise without a producer")
  func asyncClosure() async throws {
    let gate = Promise<Int>()
    let future = Promises.async { try await gate.value }
    let reason = try #require(future.explain().steps[0].reasons.first)
    #expect(reason.kind == .runningClosure && reason.description.contains("has not returned"))
    #expect(gate.explain().steps[0].reasons.first?.kind == .promise)
    gate.succeed(with: 1)
    _ = try await future.value
  }

  @Test("a closure behind an async closure names it, and the barriers that have not run")
  func holder() async throws {
    let queue = OperationQueue()
    queue.maxConcurrentOperationCount = 1
    let gate = Promise<Int>()
    let first = queue.run { try await gate.value }
    let barrier = queue.run(barrier: true) {}
    let last = queue.run {}
    #expect(await eventually { first.isExecuting })
    let state = try #require(last.explain().steps[0].reasons.first?.queue)
    #expect(state.holders.count == 1)
    #expect(state.holders.first?.contains("the closure of Future<Int>") == true)
    #if !canImport(Darwin)
      #expect(state.barriers.count == 1 && state.barriers[0].contains("the closure of"))
    #endif
    gate.succeed(with: 1)
    try await last.value
    try await barrier.value
  }

  @Test("a queue that is being shut down says how many operations have not finished")
  func shutDown() async throws {
    let queue = OperationQueue()
    queue.name = "uploads"
    let gate = Promise<Int>()
    let work = queue.run { try await gate.value }
    #expect(await eventually { work.isExecuting })
    let left = queue.shutDown(within: .seconds(60))
    let text = left.explain().description
    #expect(text.contains("\"uploads\" is being shut down: 1 operation has not finished"))
    gate.succeed(with: 1)
    #expect(try await left.value.isEmpty)
  }

  @Test("a limiter that is paused says for how long")
  func pause() {
    let limiter = RateLimiter(permits: 1, per: .seconds(1))
    limiter.pause(for: .seconds(60))
    let permit = limiter.acquire()
    #expect(permit.explain().description.contains("The limiter is paused for another"))
    permit.cancel()
  }
}
