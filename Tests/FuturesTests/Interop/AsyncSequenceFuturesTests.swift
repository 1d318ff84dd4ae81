import Foundation
import Futures
import TestSupport
import Testing

@Suite("Futures of async sequences", .timeLimit(.minutes(5)), .oneAtATime)
struct AsyncSequenceFuturesTests {
  /// A sequence that reports when it is asked for an element and when it is cancelled.
  private struct Endless: AsyncSequence, Sendable {
    let asked = Event()
    let cancelled = Event()

    struct Iterator: AsyncIteratorProtocol {
      let sequence: Endless

      func next() async throws -> Int? {
        sequence.asked.signal()
        do {
          try await Task.sleep(for: .seconds(3600))
        } catch {
          sequence.cancelled.signal()
          throw error
        }
        return nil
      }
    }

    func makeAsyncIterator() -> Iterator { Iterator(sequence: self) }
  }

  private static func stream(_ elements: [Int]) -> AsyncStream<Int> {
    AsyncStream { continuation in
      for element in elements { continuation.yield(element) }
      continuation.finish()
    }
  }

  private static func failing(after elements: [Int]) -> AsyncThrowingStream<Int, any Error> {
    AsyncThrowingStream { continuation in
      for element in elements { continuation.yield(element) }
      continuation.finish(throwing: TestError.first)
    }
  }

  @Test func `the first element, all elements, and none`() async throws {
    #expect(try await Self.stream([3, 4]).firstFuture().value == 3)
    #expect(try await Self.stream([3, 4]).collectFuture().value == [3, 4])
    #expect(try await Self.stream([]).firstFuture().value == nil)
    #expect(try await Self.stream([]).collectFuture().value == [])
    let doubled = Self.stream([3, 4]).map { $0 * 2 }
    #expect(try await doubled.collectFuture().value == [6, 8])
  }

  @Test func `what the sequence throws fails the future, unless it has the first element`()
    async throws
  {
    let failed = await Self.failing(after: [1]).collectFuture().completion
    #expect(failed.failureValue as? TestError == .first)
    #expect(try await Self.failing(after: [1]).firstFuture().value == 1)
    let none = await Self.failing(after: []).firstFuture().completion
    #expect(none.failureValue as? TestError == .first)
  }

  @Test func `cancelling the future cancels the task that iterates`() async {
    let sequence = Endless()
    let future = sequence.collectFuture()
    #expect(await sequence.asked.opened())
    future.cancel()
    #expect(future.isCancelled && future.isFinished)
    #expect(await sequence.cancelled.opened())
    let second = Endless()
    let first = second.firstFuture()
    let derived = first.mapToVoid()
    #expect(await second.asked.opened())
    derived.cancel()
    #expect(await second.cancelled.opened())
    #expect(first.isCancelled)
  }

  @Test func `completions of futures are such a sequence`() async throws {
    let futures = (0..<3).map { Promises.makeSucceeded(with: $0) }
    let all = Promises.completions(of: futures).collectFuture()
    #expect(try await all.value.map(\.index) == [0, 1, 2])
  }

  @Test func `100,000 elements`() async throws {
    let future = Self.stream(Array(0..<100_000)).collectFuture()
    #expect(try await future.value.count == 100_000)
  }
}
