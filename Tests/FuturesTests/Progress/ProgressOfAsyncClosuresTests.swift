import FuturesTestSupport
import TestSupport
import Testing

@testable import Futures

@Suite("Progress of async closures", .timeLimit(.minutes(5)), .oneAtATime)
struct ProgressOfAsyncClosuresTests {
  /// Reports without knowing the caller.
  private func step(_ number: Int, of count: Int) async {
    await Task.yield()
    Promises.report(completed: number, of: count)
  }

  @Test func `an async closure reports: its future and futures made from it follow`() async throws {
    let (goOn, begun) = (Promise<Void>(), Event())
    let future = Promises.async {
      await step(1, of: 4)
      begun.signal()
      try await goOn.value
      await step(3, of: 4)
      return 7
    }
    let end = future.mapToValue(on: .inline) { $0 }
    #expect(await begun.opened())
    #expect(future.currentProgress.completed == 1 && end.currentProgress.total == 4)
    var updates = end.progressUpdates.makeAsyncIterator()
    #expect(await updates.next()?.fractionCompleted == 0.25)
    goOn.succeed()
    var last: Double?
    while let progress = await updates.next() { last = progress.fractionCompleted }
    #expect(last == 1)
    #expect(try await future.value == 7)
  }

  @Test func `outside a closure, and after the future has settled, a report does nothing`() async {
    Promises.report(completed: 1, of: 2)
    let (mayEnd, begun, ended) = (Event(), Event(), Event())
    let future = Promises.async {
      begun.signal()
      _ = await mayEnd.opened()
      Promises.report(completed: 1, of: 2)
      ended.signal()
    }
    #expect(await begun.opened())
    future.cancel()
    mayEnd.signal()
    #expect(await ended.opened())
    #expect(future.currentProgress == .unknown)
    let failed = Promises.async {
      Promises.report(completed: 1, of: 2)
      throw TestError.first
    }
    _ = await failed.completion
    #expect(failed.currentProgress == .unknown)
  }

  @Test func `child tasks report for the closure, and a closure inside another one for itself`()
    async
  {
    let (mayEnd, begun) = (Event(), Event())
    let outer = Promises.async {
      async let child: Void = step(1, of: 2)
      await child
      let inner = Promises.async {
        Promises.report(completed: 1, of: 8)
        _ = await mayEnd.opened()
      }
      while inner.currentProgress.completed != 1 { await Task.yield() }
      begun.signal()
      _ = await mayEnd.opened()
    }
    #expect(await begun.opened())
    #expect(outer.currentProgress.fractionCompleted == 0.5)
    mayEnd.signal()
    _ = await outer.completion
  }

  @Test func `a task that outlives the closure reports for nothing, and does not keep the future`()
    async
  {
    let (mayEnd, ended) = (Event(), Event())
    weak var kept: AnyFuture?
    do {
      let future = Promises.async {
        Task {
          _ = await mayEnd.opened()
          Promises.report(completed: 1, of: 2)
          ended.signal()
        }
      }
      kept = future
      _ = await future.completion
    }
    #expect(await eventually { kept == nil })
    mayEnd.signal()
    #expect(await ended.opened())
  }

  @Test func `attempts of a retry report for one future`() async {
    let (mayEnd, begun) = (Event(), Event())
    let future = Promises.async(retrying: RetryPolicy(attempts: 2)) { attempt in
      if attempt == 1 {
        Promises.report(completed: 3, of: 4)
        throw TestError.first
      }
      Promises.report(completed: 1, of: 4)
      begun.signal()
      _ = await mayEnd.opened()
    }
    #expect(await begun.opened())
    #expect(future.currentProgress.completed == 3)
    mayEnd.signal()
    _ = await future.completion
    #expect(future.currentProgress.fractionCompleted == 1)
  }

  @Test func `work in a permit reports, and an inner half of mapToFuture too`() async {
    let (mayEnd, begun) = (Event(), Event())
    let permits = Permits(1)
    let end = Promises.makeSucceeded(with: 1).mapToFuture(on: .inline) { _ in
      permits.withPermit {
        Promises.report(completed: 1, of: 2)
        begun.signal()
        _ = await mayEnd.opened()
      }
    }
    #expect(await begun.opened())
    #expect(end.currentProgress.fractionCompleted == 0.75)
    mayEnd.signal()
    _ = await end.completion
  }

  @Test func `a closure on an actor reports nothing to the closure that has settled its source`()
    async
  {
    actor Archive: ExecutionContext {}
    let (promise, archive, mayEnd) = (Promise<Int>(), Archive(), Event())
    let filed = promise.mapToValue(on: archive) { _, value in
      Promises.report(completed: 9, of: 10)
      return value
    }
    let cleaned = promise.always { () async in Promises.report(completed: 8, of: 10) }
    let job = Promises.async {
      Promises.report(completed: 1, of: 10)
      promise.succeed(with: 1)
      _ = await mayEnd.opened()
    }
    _ = await (filed.completion, cleaned.completion)
    #expect(job.currentProgress.completed == 1)
    mayEnd.signal()
    _ = await job.completion
  }
}
