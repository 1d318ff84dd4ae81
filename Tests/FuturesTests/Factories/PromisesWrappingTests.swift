import Foundation
import Futures
import TestSupport
import Testing

@Suite("Wrapping functions with handlers", .timeLimit(.minutes(5)), .oneAtATime)
struct PromisesWrappingTests {
  /// Old functions, as other libraries have them.
  private func fetchValue(_ done: @escaping @Sendable (Int) -> Void) {
    DispatchQueue.global().async { done(1) }
  }

  private func fetchPair(
    _ value: Int?, _ error: (any Error)?, _ done: @escaping @Sendable (Int?, (any Error)?) -> Void
  ) {
    DispatchQueue.global().async { done(value, error) }
  }

  private func store(
    _ error: (any Error)?, _ done: @escaping @Sendable ((any Error)?) -> Void
  ) {
    DispatchQueue.global().async { done(error) }
  }

  private func fetchResult(
    _ result: Result<Int, TestError>,
    _ done: @escaping @Sendable (Result<Int, TestError>) -> Void
  ) {
    DispatchQueue.global().async { done(result) }
  }

  @Test func `a handler with a value gives that value`() async {
    let future = Promises.wrap { fetchValue($0) }
    #expect(await future.completion.successValue == 1)
  }

  @Test func `a handler with value or error gives the value, or the error`() async {
    #expect(await Promises.wrap { fetchPair(1, nil, $0) }.completion.successValue == 1)
    let failed = await Promises.wrap { fetchPair(nil, TestError.first, $0) }.completion
    #expect(failed.failureValue as? TestError == .first)
  }

  @Test func `a handler with value and error gives the error`() async {
    let both = await Promises.wrap { fetchPair(1, TestError.first, $0) }.completion
    #expect(both.failureValue as? TestError == .first)
  }

  @Test func `a handler with neither fails and names the place`() async {
    let future = Promises.wrap { fetchPair(nil, nil, $0) }
    let line = #line - 1
    guard
      case .neitherValueNorError(let site)? = await future.completion.failureValue
        as? ProperationsError
    else {
      Issue.record("\(future)")
      return
    }
    #expect(site.line == line)
    #expect(site.valueType == "Int")
  }

  @Test func `a handler with an error only gives success for nil`() async {
    #expect(await Promises.wrap { store(nil, $0) }.completion.isSuccess)
    let failed = await Promises.wrap { store(TestError.first, $0) }.completion
    #expect(failed.failureValue as? TestError == .first)
  }

  @Test func `a handler with a result gives that result`() async {
    #expect(await Promises.wrap { fetchResult(.success(1), $0) }.completion.successValue == 1)
    let failed = await Promises.wrap { fetchResult(.failure(.second), $0) }.completion
    #expect(failed.failureValue as? TestError == .second)
  }

  @Test func `a handler called twice counts once`() {
    let future: Future<Int> = Promises.wrap { (done: @escaping @Sendable (Int) -> Void) in
      done(1)
      done(2)
    }
    #expect(future.result?.successValue == 1)
  }

  @Test func `a handler called after its future was cancelled is ignored`() {
    let kept = Box<(@Sendable (Int) -> Void)?>(nil)
    let future: Future<Int> = Promises.wrap { kept.value = $0 }
    future.cancel()
    kept.value?(1)
    #expect(future.isCancelled)
  }

  @Test func `a function that throws before it calls back fails the future`() {
    let future: Future<Int> = Promises.wrap { (_: @escaping @Sendable (Int) -> Void) in
      throw TestError.first
    }
    #expect(future.result?.failureValue as? TestError == .first)
  }

  // MARK: Handlers of three arguments

  /// Calls back, as `URLSession` does.
  private func call(
    _ first: Int?, _ second: String?, _ error: (any Error)?,
    _ handler: @Sendable (Int?, String?, (any Error)?) -> Void
  ) { handler(first, second, error) }

  @Test("a handler of two values and an error: a pair, the error, or a clear failure")
  func twoValues() async throws {
    #expect(try await Promises.wrap { call(1, "two", nil, $0) }.value == (1, "two"))
    await #expect(throws: TestError.first) {
      try await Promises.wrap { call(1, "two", TestError.first, $0) }.value
    }
    for (first, second) in [(1, nil), (nil, "two"), (nil, nil)] as [(Int?, String?)] {
      let future = Promises.wrap { call(first, second, nil, $0) }
      do {
        _ = try await future.value
        Issue.record("it succeeded")
      } catch ProperationsError.neitherValueNorError(let site) {
        #expect(site.line == future.createdAt.line)
      }
    }
  }

  @Test("a handler of three arguments that is dropped breaks the promise")
  func twoValuesDropped() async {
    let future: Future<(Int, String)> = Promises.wrap {
      (_: @Sendable (Int?, String?, (any Error)?) -> Void) in
    }
    do {
      _ = try await future.value
      Issue.record("it succeeded")
    } catch ProperationsError.brokenPromise {
    } catch {
      Issue.record(error)
    }
  }

  // MARK: A future and its resolver

  @Test("a future and its resolver: the first settlement counts, and cancelling is told")
  func resolver() async throws {
    let (future, resolver) = Promises.makeResolver(promising: Int.self)
    #expect(!future.isFulfilled && !resolver.isFulfilled)
    #expect(resolver.succeed(with: 1) && !resolver.fail(with: TestError.first))
    #expect(try await future.value == 1)
    let (second, other) = Promises.makeResolver(promising: Int.self)
    let told = Counter()
    other.onCancellationRequest { told.add() }
    second.cancel()
    #expect(told.value == 1 && other.isFulfilled)
  }

  @Test("a resolver that is dropped breaks its future, which names where they were made")
  func resolverDropped() async {
    let line: UInt = #line + 1
    let future = Promises.makeResolver(promising: Int.self).future
    do {
      _ = try await future.value
      Issue.record("it succeeded")
    } catch ProperationsError.brokenPromise(let site) {
      #expect(site.line == line)
    } catch {
      Issue.record(error)
    }
  }
}
