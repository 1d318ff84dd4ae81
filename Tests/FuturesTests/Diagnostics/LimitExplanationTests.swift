import Foundation
import Futures
import TestSupport
import Testing

@Suite("Explanations of limits", .timeLimit(.minutes(5)), .oneAtATime)
struct LimitExplanationTests {
  private func root(of future: AnyFuture) -> FutureExplanation.Reason? {
    let explanation = future.explain()
    return explanation.roots.first.flatMap { explanation.steps[$0].reasons.first }
  }

  @Test func `a request for a permit counts the requests in front of it`() {
    let permits = Permits(2)
    let holders = (0..<2).map { _ in permits.acquire() }
    let waiting = (0..<3).map { _ in permits.acquire() }
    #expect(root(of: waiting[2].mapToVoid())?.kind == .limit)
    #expect(
      root(of: waiting[2])?.description
        == "It waits for a permit of 2, which are all in use. 2 other requests are in front of it.")
    waiting[0].cancel()
    #expect(
      root(of: waiting[2])?.description.hasSuffix("1 other request is in front of it.") == true)
    holders[0].result?.successValue?.release()
    #expect(
      root(of: waiting[2])?.description.hasSuffix("0 other requests are in front of it.") == true)
    holders[1].result?.successValue?.release()
    #expect(root(of: waiting[2])?.kind == .settled)
  }

  @Test func `a request to a rate limiter counts the requests under its key`() {
    let limiter = RateLimiter(permits: 1, per: .seconds(3_600))
    _ = (limiter.acquire(for: "a"), limiter.acquire(for: "b"))
    let waiting = (0..<2).map { _ in limiter.acquire(for: "a") }
    let other = limiter.acquire(for: "b")
    #expect(root(of: waiting[1])?.kind == .limit)
    #expect(root(of: waiting[1])?.description.contains(" 1 other request is in front") == true)
    #expect(root(of: other)?.description.contains(" 0 other requests are in front") == true)
    for future in waiting + [other] { future.cancel() }
  }

  @Test func `an element of an open batch says how full it is, of a closed one leads to its work`()
    async throws
  {
    let work = Promise<[Int]>()
    let batcher = Batcher<Int, Int>(maxSize: 3, maxDelay: .seconds(3_600), on: .inline) { _ in work
    }
    let futures = (0..<2).map { batcher.add($0) }
    #expect(root(of: futures[0])?.kind == .limit)
    #expect(root(of: futures[1])?.description.contains("has 2 of at most 3 elements") == true)
    _ = batcher.add(2)
    #expect(root(of: futures[0])?.kind == .promise)
    work.succeed(with: [1, 2, 3])
    #expect(try await futures[1].value == 2)
  }

  @Test func `a caller of a shared load leads to the load`() {
    let flights = SingleFlight<String, Int>()
    let work = Promise<Int>()
    let callers = (0..<2).map { _ in flights.load("key", on: .inline) { work } }
    #expect(root(of: callers[1])?.kind == .promise)
    work.succeed(with: 1)
    #expect(root(of: callers[1])?.kind == .settled)
  }

  @Test func `explaining changes nothing while requests come and go`() async {
    let permits = Permits(1)
    let futures = (0..<200).map { _ in permits.acquire() }
    await withTaskGroup(of: Void.self) { group in
      group.addTask { for future in futures.dropFirst() { future.cancel() } }
      group.addTask { for future in futures { _ = future.explain() } }
    }
    #expect(permits.waitingCount == 0)
    withExtendedLifetime(futures) {}
  }
}
