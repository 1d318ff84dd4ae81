import Foundation
import Futures
import TestSupport
import Testing

/// Ways to settle a promise, each with a result that tells it apart.
enum Settling: CaseIterable, Sendable {
  case fulfill, succeed, fail, cancel, failWithCancelled, fulfillFromSettled, fulfillFromFailed

  /// Settles; what the call returned, if it returns anything.
  func perform(on promise: Promise<Int>) -> Bool? {
    switch self {
    case .fulfill: return promise.fulfill(with: .success(1))
    case .succeed: return promise.succeed(with: 2)
    case .fail: return promise.fail(with: TestError.first)
    case .cancel:
      promise.cancel()
      return nil
    case .failWithCancelled: return promise.fail(with: ProperationsError.cancelled)
    case .fulfillFromSettled: return promise.fulfill(from: Promises.makeSucceeded(with: 3))
    case .fulfillFromFailed:
      return promise.fulfill(from: Promises.makeFailed(with: TestError.second))
    }
  }

  func describes(_ result: FutureResult<Int>?) -> Bool {
    switch self {
    case .fulfill: result?.successValue == 1
    case .succeed: result?.successValue == 2
    case .fail: result?.failureValue as? TestError == .first
    case .cancel, .failWithCancelled: result?.failureValue as? ProperationsError == .cancelled
    case .fulfillFromSettled: result?.successValue == 3
    case .fulfillFromFailed: result?.failureValue as? TestError == .second
    }
  }
}

@Suite("Promise", .timeLimit(.minutes(5)), .oneAtATime)
struct PromiseTests {
  @Test(.guarantee(1), arguments: Settling.allCases, Settling.allCases)
  func `of two settlements the first wins, and only it returns true`(
    _ first: Settling, _ second: Settling
  ) {
    let promise = Promise<Int>()
    let handled = Counter()
    promise.onCompletion(on: .inline) { _ in handled.add() }
    #expect(first.perform(on: promise) != false)
    #expect(first.describes(promise.result))
    #expect(second.perform(on: promise) != true)
    #expect(first.describes(promise.result))
    #expect(handled.value == 1)
    #expect(promise.isCancelled == (first == .cancel || first == .failWithCancelled))
  }

  @Test func `settling a promise of Void needs no value`() {
    let promise = Promise<Void>()
    #expect(promise.succeed())
    #expect(!promise.succeed())
    #expect(promise.result?.isSuccess == true)
  }

  @Test(.guarantee(1)) func `8 threads that settle one promise: one wins, 2,000 rounds`() async {
    let wins = Counter()
    let handled = Counter()
    let ended = await RaceHarness(threads: 8, rounds: 2_000).run { _ in
      let promise = Promise<Int>()
      promise.onCompletion(on: .inline) { _ in handled.add() }
      return promise
    } act: { promise, thread in
      switch thread % 4 {
      case 0: if promise.succeed(with: thread) { wins.add() }
      case 1: if promise.fail(with: TestError.first) { wins.add() }
      case 2: if promise.fail(with: ProperationsError.cancelled) { wins.add() }
      default: if promise.fulfill(from: Promises.makeSucceeded(with: thread)) { wins.add() }
      }
    }
    #expect(ended)
    #expect(wins.value == 2_000)
    #expect(handled.value == 2_000)
  }

  // MARK: Cancellation requests

  @Test func `a cancellation handler runs once, when the promise is cancelled`() {
    let promise = Promise<Int>()
    let count = Counter()
    promise.onCancellationRequest { count.add() }
    #expect(count.value == 0)
    promise.cancel()
    promise.cancel()
    #expect(count.value == 1)
  }

  @Test func `a cancellation handler added after the cancellation runs at once`() {
    let promise = Promise<Int>()
    promise.cancel()
    let count = Counter()
    promise.onCancellationRequest { count.add() }
    #expect(count.value == 1)
  }

  @Test func `a cancellation handler of a promise settled otherwise never runs`() {
    let count = Counter()
    let (success, failure) = (Promise<Int>(), Promise<Int>())
    success.onCancellationRequest { count.add() }
    failure.onCancellationRequest { count.add() }
    success.succeed(with: 1)
    failure.fail(with: TestError.first)
    success.cancel()
    failure.cancel()
    success.onCancellationRequest { count.add() }
    failure.onCancellationRequest { count.add() }
    #expect(count.value == 0)
  }

  @Test func `several cancellation handlers run in order`() {
    let promise = Promise<Int>()
    let log = Log<Int>()
    for index in 0..<10 { promise.onCancellationRequest { log.append(index) } }
    promise.cancel()
    #expect(log.entries == Array(0..<10))
  }

  @Test func `a cancellation handler finds the promise settled`() {
    let promise = Promise<Int>()
    let seen = Box(false)
    promise.onCancellationRequest { [unowned promise] in
      seen.value = promise.isCancelled && promise.isFinished && !promise.succeed(with: 1)
    }
    promise.cancel()
    #expect(seen.value)
  }

  // MARK: Settling like another future

  @Test(arguments: Ending.allCases)
  func `a promise settles like a pending future as soon as that settles`(_ ending: Ending) {
    let (promise, source) = (Promise<Int>(), Promise<Int>())
    #expect(promise.fulfill(from: source))
    #expect(!promise.isFulfilled)
    ending.settle(source)
    #expect(promise.isFulfilled)
    #expect(promise.result?.successValue == source.result?.successValue)
    #expect(promise.isCancelled == source.isCancelled)
  }

  @Test func `a promise that is to settle like a broken one fails with that one's place`() {
    let promise = Promise<Int>()
    let line = #line + 1
    do { promise.fulfill(from: Promise<Int>()) }
    guard case .brokenPromise(let site)? = promise.result?.failureValue as? ProperationsError
    else {
      Issue.record("\(promise)")
      return
    }
    #expect(site.line == line)
  }

  @Test func `a settled promise refuses to settle like another, which stays as it is`() {
    let (promise, source) = (Promise<Int>(), Promise<Int>())
    promise.succeed(with: 1)
    #expect(!promise.fulfill(from: source))
    #expect(!source.isFulfilled)
  }

  @Test func `settling a linked promise otherwise cancels the future it was linked to`() {
    let (promise, source) = (Promise<Int>(), Promise<Int>())
    promise.fulfill(from: source)
    promise.succeed(with: 1)
    #expect(source.isCancelled)
  }

  @Test func `settling a linked promise otherwise leaves a future that others want`() {
    let (promise, source) = (Promise<Int>(), Promise<Int>())
    let other = source.mapToValue(on: .inline) { $0 }
    promise.fulfill(from: source)
    promise.cancel()
    #expect(!source.isCancelled)
    source.succeed(with: 1)
    #expect(other.result?.successValue == 1)
  }

  @Test func `a chain of 100,000 linked promises settles from its end`() async throws {
    let result = try await SmallStackThread.running {
      let promises = (0..<100_000).map { _ in Promise<Int>() }
      for (promise, next) in zip(promises, promises.dropFirst()) { promise.fulfill(from: next) }
      promises[99_999].succeed(with: 1)
      return promises[0].result?.successValue
    }
    #expect(result == 1)
  }

  @Test func `100,000 promises linked in a row and dropped hand the result on`() async throws {
    let result = try await SmallStackThread.running {
      let first = Promise<Int>()
      var last = first
      for _ in 0..<100_000 {
        let next = Promise<Int>()
        last.fulfill(from: next)
        last = next
      }
      last.succeed(with: 1)
      return first.result?.successValue
    }
    #expect(result == 1)
  }

  // MARK: Cycles

  private func isCycle(_ future: Future<Int>, line: Int) -> Bool {
    guard case .cycle(let site)? = future.result?.failureValue as? ProperationsError else {
      return false
    }
    return site.line == line
  }

  @Test(.guarantee(11)) func `a promise that is to settle like itself fails with its place`() {
    let promise = Promise<Int>()
    let line = #line - 1
    promise.fulfill(from: promise)
    #expect(isCycle(promise, line: line))
  }

  @Test func `a promise that is to settle like its descendant fails, and so does that`() {
    let promise = Promise<Int>()
    let line = #line - 1
    let descendant = promise.mapToValue(on: .inline) { $0 }.mapToFuture(on: .inline) { _ in
      Promise<Int>()
    }.onSuccess(on: .inline) { _ in }
    promise.fulfill(from: descendant)
    #expect(isCycle(promise, line: line))
    #expect(isCycle(descendant, line: line))
  }

  @Test(.guarantee(11)) func `promises that are to settle like each other in a ring fail`() {
    let promises = (0..<5).map { _ in Promise<Int>() }
    for index in 0..<5 { promises[index].fulfill(from: promises[(index + 1) % 5]) }
    #expect(promises.allSatisfy { $0.isFulfilled })
  }

  @Test func `a promise that is to settle like a join of itself fails`() {
    let promise = Promise<Int>()
    let line = #line - 1
    let sum = Promises.collect([promise, promise]).mapToValue(on: .inline) { $0.reduce(0, +) }
    promise.fulfill(from: sum)
    #expect(isCycle(promise, line: line))
    #expect(sum.isFulfilled)
  }

  @Test func `a mapping whose closure returns the mapping itself fails`() {
    let promise = Promise<Int>()
    let own = Box<Future<Int>?>(nil)
    let future = promise.mapToFuture(on: .inline) { _ in
      own.value ?? Promises.makeSucceeded(with: 0)
    }
    let line = #line - 3
    own.value = future
    promise.succeed(with: 1)
    #expect(isCycle(future, line: line))
  }

  @Test func `a mapping whose closure returns its own descendant fails`() {
    let promise = Promise<Int>()
    let own = Box<Future<Int>?>(nil)
    let future = promise.mapToFuture(on: .inline) { _ in
      own.value ?? Promises.makeSucceeded(with: 0)
    }
    let line = #line - 3
    own.value = future.mapToValue(on: .inline) { $0 }.timeout(after: .seconds(100))
    promise.succeed(with: 1)
    #expect(isCycle(future, line: line))
    #expect(own.value?.isFulfilled == true)
  }

  @Test func `two promises linked to each other at once never hang: 1,000 rounds`() async {
    let pending = Counter()
    let ended = await RaceHarness(threads: 2, rounds: 1_000).run { _ in
      [Promise<Int>(), Promise<Int>()]
    } act: { (promises: [Promise<Int>], thread: Int) in
      promises[thread].fulfill(from: promises[1 - thread])
    } check: { promises, _ in
      if !promises.allSatisfy({ $0.isFulfilled }) { pending.add() }
    }
    #expect(ended)
    #expect(pending.value == 0)
  }
}
