import Foundation
import Futures
import TestSupport
import Testing

/// What becomes of the other elements when the future of one fails.
@Suite("mapElementsToFuture with failing elements", .timeLimit(.minutes(5)), .oneAtATime)
struct FailingElementsTests {
  private static func errors(_ future: Future<[Int]>) -> [(any Error)?] {
    guard
      case .multipleErrors(let errors) = future.result?.failureValue as? ProperationsError
    else { return [] }
    return errors
  }

  /// Both combinators, with a closure that makes a future of an index.
  private static func both(
    of count: Int, maxConcurrent limit: Int? = nil, failingFast: Bool,
    _ make: @escaping @Sendable (Int) throws -> Future<Int>
  ) -> [Future<[Int]>] {
    let indices = Promises.makeSucceeded(with: 0..<count)
    return [
      indices.mapElementsToFuture(
        on: .inline, maxConcurrent: limit, failingFast: failingFast, using: make),
      indices.compactMapElementsToFuture(
        on: .inline, maxConcurrent: limit, failingFast: failingFast
      ) { index in try make(index).mapToValue(on: .inline) { $0 as Int? } },
    ]
  }

  @Test func `not failing fast, all are waited for and the errors are given by position`() {
    let inner = (0..<4).map { _ in Promise<Int>() }
    let futures = Self.both(of: 4, failingFast: false) { inner[$0].shielded() }
    inner[1].fail(with: TestError.first)
    inner[2].cancel()
    #expect(futures.allSatisfy { !$0.isFulfilled })
    #expect(!inner[0].isCancelled)
    inner[3].succeed(with: 3)
    #expect(futures.allSatisfy { !$0.isFulfilled })
    inner[0].succeed(with: 0)
    for future in futures {
      #expect(
        future.result?.failureValue as? ProperationsError
          == .multipleErrors([nil, TestError.first, ProperationsError.cancelled, nil]))
      #expect(!future.isCancelled)
    }
  }

  @Test func `not failing fast with a limit, the elements after a failure are started too`() {
    let started = Log<Int>()
    let inner = (0..<6).map { _ in Promise<Int>() }
    let future = Promises.makeSucceeded(with: 0..<6)
      .mapElementsToFuture(on: .inline, maxConcurrent: 2, failingFast: false) { index in
        started.append(index)
        return inner[index]
      }
    inner[0].fail(with: TestError.numbered(0))
    #expect(started.entries == [0, 1, 2])
    for index in 1..<6 { inner[index].succeed(with: index) }
    #expect(started.entries == Array(0..<6))
    let errors = Self.errors(future)
    #expect(errors.count == 6)
    #expect(errors.first as? TestError == .numbered(0))
    #expect(errors.dropFirst().allSatisfy { $0 == nil })
  }

  @Test func `not failing fast, what the closure throws is the error of that position`() {
    let futures = Self.both(of: 3, failingFast: false) { index in
      if index == 1 { throw TestError.second }
      return Promises.makeSucceeded(with: index)
    }
    for future in futures {
      #expect(
        future.result?.failureValue as? ProperationsError
          == .multipleErrors([nil, TestError.second, nil]))
    }
  }

  @Test func `not failing fast, without a failure the values come in order`() {
    for future in Self.both(of: 5, failingFast: false, { Promises.makeSucceeded(with: $0) }) {
      #expect(future.result?.successValue == Array(0..<5))
    }
  }

  @Test func `failing fast, the first error is given as it is and the others are cancelled`() {
    let inner = (0..<3).map { _ in Promise<Int>() }
    let future = Promises.makeSucceeded(with: 0..<3)
      .mapElementsToFuture(on: .inline, failingFast: true) { inner[$0] }
    inner[1].fail(with: TestError.first)
    #expect(future.result?.failureValue as? TestError == .first)
    #expect(inner[0].isCancelled)
    #expect(inner[2].isCancelled)
  }

  @Test func `failing fast with a limit, nothing is started after the first failure`() {
    let started = Counter()
    let inner = (0..<6).map { _ in Promise<Int>() }
    let future = Promises.makeSucceeded(with: 0..<6)
      .compactMapElementsToFuture(on: .inline, maxConcurrent: 2, failingFast: true) { index in
        started.add()
        return inner[index].mapToValue(on: .inline) { $0 as Int? }
      }
    inner[0].fail(with: TestError.first)
    #expect(future.result?.failureValue as? TestError == .first)
    #expect(started.value == 2)
    #expect(inner[1].isCancelled)
  }

  @Test func `not failing fast, cancelling the result cancels what is pending`() {
    let inner = (0..<3).map { _ in Promise<Int>() }
    let future = Promises.makeSucceeded(with: 0..<3)
      .mapElementsToFuture(on: .inline, failingFast: false) { inner[$0] }
    inner[0].fail(with: TestError.first)
    future.cancel()
    #expect(future.isCancelled)
    #expect(inner[1].isCancelled)
    #expect(inner[2].isCancelled)
  }

  @Test func `on the main queue both ways exist too`() async {
    let values = Promises.makeSucceeded(with: [1, 2])
    let all = values.mapElementsToFuture(maxConcurrent: 1, failingFast: false) {
      value -> Future<Int> in
      throw TestError.numbered(value)
    }
    #expect(
      await all.completion.failureValue as? ProperationsError
        == .multipleErrors([TestError.numbered(1), TestError.numbered(2)]))
    let first = values.compactMapElementsToFuture(maxConcurrent: 1, failingFast: true) {
      value -> Future<Int?> in
      throw TestError.numbered(value)
    }
    #expect(await first.completion.failureValue as? TestError == .numbered(1))
  }

  @Test func `100,000 elements that fail, not failing fast, need no stack`() async throws {
    let count = try await SmallStackThread.running { () -> Int in
      let future = Promises.makeSucceeded(with: 0..<100_000)
        .mapElementsToFuture(on: .inline, maxConcurrent: 1, failingFast: false) { index in
          Promises.makeFailed(with: TestError.numbered(index), promising: Int.self)
        }
      return Self.errors(future).count
    }
    #expect(count == 100_000)
  }
}
