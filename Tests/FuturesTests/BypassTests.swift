import Foundation
import Futures
import TestSupport
import Testing

/// A future that waits for another one may be released early, because its
/// waiters can wait for the other one themselves.
///
/// Nobody may notice.
@Suite("A future that stands for another one", .timeLimit(.minutes(5)), .oneAtATime)
struct BypassTests {
  @Test func `a released mapToFuture still hands its inner result on`() {
    let promise = Promise<Int>()
    let inner = Promise<Int>()
    let last = promise.mapToFuture(on: .inline) { _ in inner }.mapToValue(on: .inline) { $0 + 1 }
    promise.succeed(with: 1)
    inner.succeed(with: 2)
    #expect(last.result?.successValue == 3)
  }

  @Test func `a scope cancels a chain through a mapToFuture that nobody holds`() {
    let scope = CancellationScope()
    let promise = Promise<Int>()
    let inner = Promise<Int>()
    let values = Log<Int>()
    promise.mapToFuture(on: .inline) { _ in inner }
      .cancelled(by: scope)
      .onSuccess(on: .inline) { values.append($0) }
    promise.succeed(with: 1)
    scope.cancel()
    #expect(inner.isCancelled)
    inner.succeed(with: 2)
    #expect(values.entries == [])
  }

  @Test func `a completion block set while the inner future is pending runs`() async {
    let promise = Promise<Int>()
    let inner = Promise<Int>()
    let ran = Event()
    promise.succeed(with: 1)
    do {
      let flat = promise.mapToFuture(on: .inline) { _ in inner }
      flat.completionBlock = { ran.signal() }
    }
    inner.succeed(with: 2)
    #expect(await ran.opened())
  }

  @Test func `a completion block set before the inner future is known runs`() async {
    let promise = Promise<Int>()
    let inner = Promise<Int>()
    let ran = Event()
    do {
      let flat = promise.mapToFuture(on: .inline) { _ in inner }
      flat.completionBlock = { ran.signal() }
    }
    promise.succeed(with: 1)
    inner.succeed(with: 2)
    #expect(await ran.opened())
  }

  @Test func `a producer that left a cancellation handler hears of it though its promise is gone`()
  {
    let inner = Promise<Int>()
    let stopped = Counter()
    let consumer: Future<Int>
    do {
      let promise = Promise<Int>()
      promise.onCancellationRequest { stopped.add() }
      consumer = promise.mapToValue(on: .inline) { $0 }
      promise.fulfill(from: inner)
    }
    consumer.cancel()
    #expect(inner.isCancelled)
    #expect(stopped.value == 1)
  }

  @Test func `two futures to settle like: the first that settles wins, the other is cancelled`() {
    let promise = Promise<Int>()
    let (one, two) = (Promise<Int>(), Promise<Int>())
    promise.fulfill(from: one)
    promise.fulfill(from: two)
    two.succeed(with: 2)
    #expect(promise.result?.successValue == 2)
    #expect(one.isCancelled)
  }

  @Test func `two futures to settle like: the earlier one may win as well`() {
    let promise = Promise<Int>()
    let (one, two) = (Promise<Int>(), Promise<Int>())
    promise.fulfill(from: one)
    promise.fulfill(from: two)
    one.succeed(with: 1)
    #expect(promise.result?.successValue == 1)
    #expect(two.isCancelled)
  }

  @Test func `two futures to settle like, and the promise cancelled: both are cancelled`() {
    let promise = Promise<Int>()
    let (one, two) = (Promise<Int>(), Promise<Int>())
    promise.fulfill(from: one)
    promise.fulfill(from: two)
    promise.cancel()
    #expect(one.isCancelled)
    #expect(two.isCancelled)
  }

  @Test func `cancelling below a released mapToFuture cancels its inner future`() {
    let inner = Promise<Int>()
    let last = Promises.makeSucceeded(with: 1)
      .mapToFuture(on: .inline) { _ in inner }.mapToValue(on: .inline) { $0 }
    last.cancel()
    #expect(inner.isCancelled)
  }

  @Test func `breaking the inner promise fails those below, with the inner promise's place`() {
    var inner: Promise<Int>? = Promise<Int>()
    let line = #line - 1
    let last = Promises.makeSucceeded(with: 1)
      .mapToFuture(on: .inline) { [weak inner] _ in inner ?? Promise<Int>() }
      .mapToValue(on: .inline) { $0 }
    #expect(!last.isFulfilled)
    inner = nil
    guard case .brokenPromise(let site)? = last.result?.failureValue as? ProperationsError else {
      Issue.record("\(last)")
      return
    }
    #expect(site.line == line)
  }
}
