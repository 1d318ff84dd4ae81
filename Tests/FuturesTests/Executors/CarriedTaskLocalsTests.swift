import Foundation
import TestSupport
import Testing

@testable import Futures

private enum Tracing {
  @TaskLocal static var span = "none"
  @TaskLocal static var depth = 0
  @TaskLocal static var other = "none"
}

@Suite("Task-locals that travel", .timeLimit(.minutes(5)), .oneAtATime)
struct CarriedTaskLocalsTests {
  private let queue = OperationQueue()

  init() {
    Promises.carry(Tracing.$span, Tracing.$depth)
    Promises.carry(Tracing.$span)
  }

  @Test func `a closure has the values of the place where it was attached`() async throws {
    let promise = Promise<Int>()
    let queue = queue
    let link = Tracing.$span.withValue("attached") {
      Tracing.$depth.withValue(2) {
        promise.mapToValue(on: queue) { _ in "\(Tracing.span) \(Tracing.depth)" }
      }
    }
    let plain = promise.mapToValue(on: .inline) { _ in Tracing.span }
    Tracing.$span.withValue("settled") { _ = promise.succeed(with: 1) }
    #expect(try await link.value == "attached 2")
    #expect(try await plain.value == "none")
    #expect(Tracing.span == "none")
  }

  @Test func `the closure of a batcher has the values of the place where it was made`()
    async throws
  {
    let queue = queue
    let batcher = Tracing.$span.withValue("made") {
      Batcher<Int, String>(maxSize: 1, maxDelay: .zero, on: queue) { batch in
        Promises.makeSucceeded(with: batch.map { _ in Tracing.span })
      }
    }
    let added = Tracing.$span.withValue("added") { batcher.add(1) }
    #expect(try await added.value == "made")
    #expect(try await batcher.add(2).value == "made")
  }

  @Test func `a task-local that is not registered does not travel`() async throws {
    let queue = queue
    let link = Tracing.$other.withValue("attached") {
      Promises.run(on: queue) { Tracing.other }
    }
    #expect(try await link.value == "none")
  }

  @Test func `each closure of a chain has its own values, also in one batch`() async throws {
    let queue = queue
    let promise = Promise<Int>()
    let log = Log<String>()
    let links = Tracing.$span.withValue("a") {
      let first = promise.mapToValue(on: queue) { value in
        log.append(Tracing.span)
        return value
      }
      return Tracing.$span.withValue("b") {
        first.mapToValue(on: queue) { value in
          log.append(Tracing.span)
          return value
        }
      }
    }
    let chain = links.onSuccess(on: queue) { _ in log.append(Tracing.span) }
    promise.succeed(with: 1)
    _ = try await chain.value
    // The handler comes after the result of its future.
    #expect(await eventually { log.count == 3 })
    #expect(log.entries == ["a", "b", "none"])
  }

  @Test func `values travel across timers, and into what a closure attaches`() async throws {
    let queue = queue
    let future = Tracing.$span.withValue("request") {
      Promises.delay(for: .milliseconds(1)).mapToFuture(on: queue) { _ in
        Promises.delay(for: .milliseconds(1)).mapToValue(on: queue) { _ in Tracing.span }
      }
    }
    #expect(try await future.value == "request")
  }

  @Test func `every attempt of a retry has the values`() async throws {
    let spans = Log<String>()
    let queue = queue
    let future = Tracing.$span.withValue("request") {
      Promises.retry(RetryPolicy(attempts: 3, delay: .constant(.milliseconds(1))), on: queue) {
        attempt in
        spans.append(Tracing.span)
        if attempt < 3 { throw TestError.first }
        return Promises.makeSucceeded(with: attempt)
      }
    }
    #expect(try await future.value == 3)
    #expect(spans.entries == ["request", "request", "request"])
  }

  @Test
  func `every attempt of a hedge, every element of a traversal and a release have the values`()
    async throws
  {
    let spans = Log<String>()
    let queue = queue
    let last = Promise<Int>()
    let (hedged, traversed, used) = Tracing.$span.withValue("request") {
      (
        Promises.hedge(after: .zero, attempts: 3, on: queue) { attempt in
          spans.append(Tracing.span)
          if attempt == 3 { last.succeed(with: 3) }
          return last
        },
        Promises.traverse(1...5, on: queue, maxConcurrent: 1) { number in
          spans.append(Tracing.span)
          return Promises.delay(for: .milliseconds(1)).mapToValue(on: .inline) { number }
        },
        Promises.using(
          acquire: Promises.delay(for: .milliseconds(1)),
          release: { _ in spans.append(Tracing.span) }, on: queue
        ) { _ in
          spans.append(Tracing.span)
          return Promises.delay(for: .milliseconds(1))
        }
      )
    }
    _ = try await hedged.value
    _ = try await traversed.value
    _ = try await used.value
    #expect(spans.entries == Array(repeating: "request", count: 10))
  }

  @Test func `a handler of cancellation has the values`() {
    let span = Log<String>()
    let promise = Promise<Int>()
    Tracing.$span.withValue("request") {
      promise.onCancellationRequest { span.append(Tracing.span) }
    }
    promise.cancel()
    #expect(span.entries == ["request"])
  }

  @Test func `an error that a closure throws passes through`() async {
    let future = Tracing.$span.withValue("request") {
      Promises.run(on: .inline) { () -> Int in throw TestError.first }
    }
    await #expect(throws: TestError.first) { try await future.value }
  }

  @Test func `a chain of 100,000 links carries the values without using the stack`() async throws {
    let promise = Promise<Int>()
    let last = Tracing.$span.withValue("request") {
      var last: Future<Int> = promise
      for _ in 0..<100_000 {
        last = last.mapToValue(on: .inline) { Tracing.span == "request" ? $0 + 1 : $0 }
      }
      return last
    }
    promise.succeed(with: 0)
    #expect(try await last.value == 100_000)
  }

  @Test func `values are released with the closure`() async throws {
    final class Token: Sendable {}
    enum Carrier { @TaskLocal static var token: Token? }
    Promises.carry(Carrier.$token)
    weak var last: Token?
    do {
      let token = Token()
      last = token
      let future = Carrier.$token.withValue(token) { Promises.run(on: .inline) { 1 } }
      #expect(try await future.value == 1)
    }
    #expect(await eventually { last == nil })
  }
}
