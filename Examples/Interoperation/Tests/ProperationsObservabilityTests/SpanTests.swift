import InMemoryTracing
import Properations
import ProperationsObservability
import TestSupport
import Testing
import Tracing

@Suite("Spans of futures", .timeLimit(.minutes(1)))
struct SpanTests {
  private let tracer = InMemoryTracer()

  init() { Promises.carryServiceContext() }

  private func finished(_ name: String) throws -> FinishedInMemorySpan {
    try #require(tracer.finishedSpans.first { $0.operationName == name })
  }

  @Test("The example of the page: spans nest across hops")
  func nesting() async throws {
    let tracer = tracer
    let page = Promises.withSpan("load page", tracer: tracer) { _ in
      Promises.delay(for: .milliseconds(1))
        .mapToFuture(on: .global()) {
          Promises.withSpan("parse", tracer: tracer) { span in
            span.attributes["page.size"] = 7
            return Promises.makeSucceeded(with: "<html>")
          }
        }
    }
    #expect(try await page.value == "<html>")

    let (outer, inner) = try (finished("load page"), finished("parse"))
    #expect(outer.parentSpanID == nil)
    #expect(inner.parentSpanID == outer.spanID)
    #expect(inner.traceID == outer.traceID)
    #expect(inner.attributes.get("page.size") == .int64(7))
    #expect(tracer.activeSpans.isEmpty)
  }

  @Test("A span in a closure has the parent of the place where the closure was attached")
  func attached() async throws {
    let promise = Promise<Int>()
    let child = tracer.withSpan("parent") { _ in
      promise.mapToFuture(on: .global()) { [tracer] value in
        Promises.withSpan("child", tracer: tracer) { _ in Promises.makeSucceeded(with: value) }
      }
    }
    tracer.withSpan("other") { _ in _ = promise.succeed(with: 2) }
    #expect(try await child.value == 2)
    #expect(try finished("child").parentSpanID == finished("parent").spanID)
  }

  @Test("Each further attempt is an event with its number and the error before")
  func retries() async throws {
    let policy = RetryPolicy(attempts: 3)
    let value = Promises.retry(policy, span: "fetch", tracer: tracer, on: .global()) {
      attempt -> Future<Int> in
      if attempt == 1 { throw TestError.first }
      if attempt == 2 { return Promises.makeFailed(with: TestError.second) }
      return Promises.makeSucceeded(with: attempt)
    }
    #expect(try await value.value == 3)

    let span = try finished("fetch")
    #expect(span.events.map(\.name) == ["retry", "retry"])
    #expect(span.events.map { $0.attributes.get("retry.attempt") } == [.int64(2), .int64(3)])
    #expect(
      span.events.map { $0.attributes.get("retry.error") } == [.string("first"), .string("second")])
    #expect(span.errors.isEmpty)
    #expect(span.status == nil)
  }

  @Test("The error of the last attempt is the error of the span")
  func retriesInVain() async throws {
    let value: Future<Int> = Promises.retry(
      RetryPolicy(attempts: 2), span: "fetch", tracer: tracer, on: .inline
    ) { attempt in Promises.makeFailed(with: TestError.numbered(attempt)) }
    await #expect(throws: TestError.numbered(2)) { try await value.value }
    let span = try finished("fetch")
    #expect(span.events.count == 1)
    #expect(span.errors.map { $0.error as? TestError } == [.numbered(2)])
    #expect(span.status?.code == .error)
  }

  @Test("A closure that throws ends the span with its error")
  func throwing() async throws {
    let future: Future<Int> = Promises.withSpan("work", tracer: tracer) { _ in
      throw TestError.first
    }
    await #expect(throws: TestError.first) { try await future.value }
    #expect(try finished("work").errors.count == 1)
    #expect(tracer.activeSpans.isEmpty)
  }

  @Test("Cancelling the future ends the span with an event, and cancels the work")
  func cancellation() throws {
    let promise = Promise<Int>()
    let future = Promises.withSpan("work", tracer: tracer) { _ in
      promise.mapToValue(on: .inline) { $0 }
    }
    #expect(tracer.activeSpans.count == 1)
    future.cancel()
    let span = try finished("work")
    #expect(span.events.map(\.name) == ["cancelled"])
    #expect(span.errors.isEmpty)
    #expect(promise.isCancelled)
  }

  @Test("Work that is cancelled ends the span with an event")
  func cancelledWork() throws {
    let promise = Promise<Int>()
    let future = Promises.withSpan("work", tracer: tracer) { _ in promise }
    promise.cancel()
    #expect(future.isCancelled)
    #expect(try finished("work").events.map(\.name) == ["cancelled"])
  }

  @Test("A future that has settled before has a span that has ended")
  func settledBefore() throws {
    let future = Promises.withSpan("work", tracer: tracer) { _ in Promises.makeSucceeded(with: 1) }
    #expect(try future.result?.get() == 1)
    #expect(try finished("work").events.isEmpty)
  }

  @Test("A promise that is dropped ends the span with an error")
  func broken() async throws {
    let future = Promises.withSpan("work", tracer: tracer) { _ in
      Promise<Int>().mapToValue(on: .inline) { $0 }
    }
    await #expect(throws: ProperationsError.self) { try await future.value }
    #expect(try finished("work").errors.count == 1)
  }
}
