import Foundation
import Futures
import FuturesTestSupport
import TestSupport
import Testing

@Suite("expectSettled and expectReleased", .timeLimit(.minutes(5)), .oneAtATime)
struct ExpectationTests {
  private func thrown(_ body: () async throws -> Void) async -> (any Error)? {
    do {
      try await body()
      return nil
    } catch {
      return error
    }
  }

  @Test func `a settled future gives its result, whatever it is`() async throws {
    #expect(try expectSettled(Promises.makeSucceeded(with: 1)).successValue == 1)
    let cancelled = Promises.make(promising: Int.self)
    cancelled.cancel()
    #expect(try expectSettled(cancelled).failureValue as? ProperationsError == .cancelled)
    let failed: Future<Int> = Promises.makeFailed(with: TestError.first)
    let result = try await expectSettled(failed, within: .zero)
    #expect(result.failureValue is TestError)
  }

  @Test func `a pending future fails with its description and the place`() throws {
    let promise = Promises.make(promising: Int.self)
    do {
      try expectSettled(promise)
      Issue.record("nothing was thrown")
    } catch let error as NotSettled {
      #expect(error.future == promise.description)
      #expect(error.patience == nil)
      #expect(error.description.contains(promise.description))
      #expect(error.description.contains("ExpectationTests.swift:"))
      #expect(error.localizedDescription == error.description)
    }
    #expect(!promise.isSettled)
  }

  @Test func `a future that settles in time ends the wait`() async throws {
    let promise = Promises.make(promising: Int.self)
    async let result = expectSettled(promise, within: Event.patience)
    promise.succeed(with: 3)
    #expect(try await result.successValue == 3)
  }

  @Test func `a future that does not settle in time fails, and stays pending`() async {
    let promise = Promises.make(promising: Int.self)
    for patience in [Duration.milliseconds(1), .zero, .seconds(-1)] {
      let error = await thrown { try await expectSettled(promise, within: patience) }
      #expect((error as? NotSettled)?.patience == patience)
    }
    #expect(!promise.isSettled)
    #expect(!promise.isCancelled)
  }

  @Test func `a wait that was in vain leaves the future as it was`() async {
    let promise = Promises.make(promising: Int.self)
    _ = await thrown { try await expectSettled(promise, within: .milliseconds(1)) }
    #expect(!promise.hasWaiters)
  }

  @Test func `a cancelled wait throws CancellationError and leaves the future alone`() async {
    let promise = Promises.make(promising: Int.self)
    let task = Task { _ = try await expectSettled(promise, within: Event.patience) }
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(!promise.isSettled)
  }

  @Test func `asking starts no lazy future`() async {
    let started = Log<Int>()
    let lazy = Promises.lazy(on: .inline) { () -> Future<Int> in
      started.append(1)
      return Promises.makeSucceeded(with: 1)
    }
    let error = await thrown { try await expectSettled(lazy, within: .milliseconds(1)) }
    #expect(error is NotSettled)
    #expect(started.entries == [])
  }

  @Test func `objects that go with the scope pass, and the scope's value is returned`()
    async throws
  {
    let value = try await expectReleased { leaks in
      let promise = leaks.track(Promises.make(promising: Int.self))
      promise.onSuccess(on: .inline) { _ in }
      return 5
    }
    #expect(value == 5)
  }

  @Test func `objects that stay are named`() async {
    let kept = Log<Future<Int>>()
    for patience in [Duration.milliseconds(2), .zero, .seconds(-1)] {
      let error = await thrown {
        try await expectReleased(within: patience) { leaks in
          kept.append(leaks.track(Promises.makeSucceeded(with: 1), "the \"kept\" one"))
          kept.append(leaks.track(Promises.makeSucceeded(with: 1)))
          leaks.track(Promises.makeSucceeded(with: 1), "the released one")
        }
      }
      let names = (error as? NotReleased)?.names
      #expect(names?.count == 2)
      #expect(names?.first == "the \"kept\" one")
      #expect(names?.last?.contains("ExpectationTests.swift:") == true)
      #expect(error?.localizedDescription.contains("the \"kept\" one") == true)
    }
  }

  @Test func `objects that another thread releases a little later pass`() async throws {
    let kept = TestLock<Future<Int>?>(nil)
    try await expectReleased(within: Event.patience) { leaks in
      let future = leaks.track(Promises.makeSucceeded(with: 1))
      kept.withLock { $0 = future }
      DispatchQueue.global().asyncAfter(deadline: .now() + 0.005) {
        let last = kept.withLock { $0.take() }
        withExtendedLifetime(last) {}
      }
    }
    #expect(kept.withLock { $0 == nil })
  }

  @Test func `the error of the scope passes`() async {
    let error = await thrown { try await expectReleased { _ in throw TestError.first } }
    #expect(error is TestError)
  }
}
