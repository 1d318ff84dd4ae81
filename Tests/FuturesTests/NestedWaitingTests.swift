import Foundation
import Futures
import TestSupport
import Testing

/// How long a wait may take that the library has to end.
private let patience = Event.patience

@Suite("Closures that wait on one stack", .timeLimit(.minutes(5)), .oneAtATime)
struct NestedWaitingTests {
  /// A closure waits for a pending promise; what another closure on the same
  /// future gets, which waits for the first closure's future.
  ///
  /// The pending promise is settled when the second closure has its answer.
  private func secondOfTwo(
    waitingFor target: @escaping @Sendable (Future<Int>) -> Future<Int> = { $0 }
  ) async throws -> (second: FutureResult<Int>, first: Future<Int>) {
    let promise = Promise<Int>()
    let pending = Promise<Int>()
    let answer = Promise<Int>()
    let first = promise.mapToValue(on: .inline) { _ in
      try pending.wait(timeout: patience * 3)
    }
    let awaited = target(first)
    promise.onSuccess(on: .inline) { _ in
      answer.fulfill(with: FutureResult { try awaited.wait(timeout: patience) })
    }
    answer.onCompletion(on: .global()) { _ in pending.succeed(with: 7) }
    Thread { promise.succeed(with: 1) }.start()
    return (await answer.completion, first)
  }

  private func isCycle(_ result: FutureResult<Int>, of future: AnyFuture) -> Bool {
    result.failureValue as? ProperationsError == .cycle(createdAt: future.createdAt)
  }

  @Test
  func `the second of two inline closures waits for the first, which waits: fails with cycle`()
    async throws
  {
    let (second, first) = try await secondOfTwo()
    #expect(isCycle(second, of: first))
    #expect(await first.completion.successValue == 7)
  }

  @Test func `the second waits for a future made from the first: fails with cycle`() async throws {
    let below = Box<Future<Int>?>(nil)
    let (second, first) = try await secondOfTwo { first in
      let made = first.mapToValue(on: .inline) { $0 + 1 }.mapToValue(on: .inline) { $0 }
      below.value = made
      return made
    }
    let awaited = try #require(below.value)
    #expect(isCycle(second, of: awaited))
    #expect(await first.completion.successValue == 7)
    #expect(await awaited.completion.successValue == 8)
    below.value = nil
  }

  @Test func `the third of three waits for the first, both before it wait: fails with cycle`()
    async throws
  {
    let promise = Promise<Int>()
    let pending = Promise<Int>()
    let answer = Promise<Int>()
    let first = promise.mapToValue(on: .inline) { _ in try pending.wait(timeout: patience * 3) }
    let second = promise.mapToValue(on: .inline) { _ in try pending.wait(timeout: patience * 3) }
    promise.onSuccess(on: .inline) { _ in
      answer.fulfill(with: FutureResult { try first.wait(timeout: patience) })
    }
    answer.onCompletion(on: .global()) { _ in pending.succeed(with: 7) }
    Thread { promise.succeed(with: 1) }.start()
    let third = await answer.completion
    #expect(isCycle(third, of: first))
    #expect(await first.completion.successValue == 7)
    #expect(await second.completion.successValue == 7)
  }

  @Test
  func `an inline closure waits, and one of another promise on top of it waits for it: cycle`()
    async throws
  {
    let (one, two) = (Promise<Int>(), Promise<Int>())
    let pending = Promise<Int>()
    let answer = Promise<Int>()
    let first = Box<Future<Int>?>(nil)
    two.onSuccess(on: .inline) { _ in
      answer.fulfill(
        with: FutureResult { try first.value?.wait(timeout: patience) ?? 0 })
    }
    let waiting = one.mapToValue(on: .inline) { value in
      two.succeed(with: value)
      return try pending.wait(timeout: patience * 3)
    }
    first.value = waiting
    answer.onCompletion(on: .global()) { _ in pending.succeed(with: 7) }
    Thread { one.succeed(with: 1) }.start()
    let second = await answer.completion
    #expect(isCycle(second, of: waiting))
    #expect(await waiting.completion.successValue == 7)
    first.value = nil
  }

  @Test func `the first waits for what the second settles: both get their values`() async throws {
    let promise = Promise<Int>()
    let other = Promise<Int>()
    let first = promise.mapToValue(on: .inline) { _ in try other.wait(timeout: patience) }
    let second = promise.mapToValue(on: .inline) { value in
      other.succeed(with: value)
      return value
    }
    Thread { promise.succeed(with: 1) }.start()
    #expect(await first.completion.successValue == 1)
    #expect(await second.completion.successValue == 1)
  }
}
