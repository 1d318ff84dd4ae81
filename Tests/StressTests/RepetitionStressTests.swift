import Foundation
import Futures
import TestSupport
import Testing

/// Functions that repeat work can repeat it a million times on a small stack.
@Suite(.enabled(if: isStressing), .timeLimit(.minutes(5)), .serialized)
struct RepetitionStressTests {
  private static let million = 1_000_000

  @Test func `a loop of 1,000,000 turns takes neither stack nor memory`() async throws {
    let before = ResidentMemory.bytes
    let value = try await SmallStackThread.running(within: .seconds(240)) {
      Promises.loop(0, on: .inline) { number in
        Promises.makeSucceeded(
          with: number < Self.million ? LoopStep.next(number + 1) : .done(number))
      }.result?.successValue
    }
    #expect(value == Self.million)
    ResidentMemory.expectGrowth(since: before, below: 100_000_000)
  }

  @Test func `a loop of 1,000,000 turns, each settled by another thread`() async throws {
    let before = ResidentMemory.bytes
    let future = Promises.loop(0, on: .inline) { number in
      Promises.run(on: .global()) {
        number < Self.million ? LoopStep.next(number + 1) : .done(number)
      }
    }
    #expect(try await future.value == Self.million)
    ResidentMemory.expectGrowth(since: before, below: 100_000_000)
  }

  @Test func `1,000,000 elements are searched, and 1,000,000 futures reduced`() async throws {
    let (found, sum) = try await SmallStackThread.running(within: .seconds(240)) {
      let one = Promises.makeSucceeded(with: 1)
      return (
        Promises.find(in: 1..., on: .inline) { Promises.makeSucceeded(with: $0 == Self.million) }
          .result?.successValue,
        Promises.reduce(repeatElement(one, count: Self.million), 0, on: .inline) { $0 + $1 }
          .result?.successValue
      )
    }
    #expect(found == .some(Self.million))
    #expect(sum == Self.million)
  }

  @Test func `1,000,000 elements are traversed`() async throws {
    let count = try await SmallStackThread.running(within: .seconds(240)) {
      let one = Promises.makeSucceeded(with: 1)
      return Promises.traverse(0..<Self.million, on: .inline, maxConcurrent: 3) { _ in one }
        .result?.successValue?.count
    }
    #expect(count == Self.million)
  }

  @Test func `1,000,000 attempts take neither stack nor memory`() async throws {
    let before = ResidentMemory.bytes
    let policy = RetryPolicy(attempts: Self.million)
    let value = try await SmallStackThread.running(within: .seconds(240)) {
      Promises.retry(policy, on: .inline) { attempt in
        attempt < Self.million
          ? Promises.makeFailed(with: TestError.first) : Promises.makeSucceeded(with: attempt)
      }.result?.successValue
    }
    #expect(value == Self.million)
    ResidentMemory.expectGrowth(since: before, below: 100_000_000)
  }

  @Test func `1,000,000 attempts, each settled by another thread, take no memory`() async throws {
    let before = ResidentMemory.bytes
    let future = Promises.retry(RetryPolicy(attempts: Self.million), on: .inline) { attempt in
      Promises.run(on: .global()) {
        if attempt < Self.million { throw TestError.first }
        return attempt
      }
    }
    #expect(try await future.value == Self.million)
    ResidentMemory.expectGrowth(since: before, below: 100_000_000)
  }
}
