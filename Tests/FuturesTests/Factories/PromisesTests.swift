import Foundation
import Futures
import TestSupport
import Testing

@Suite("Making futures", .timeLimit(.minutes(5)), .oneAtATime)
struct PromisesTests {
  @available(*, deprecated)
  @Test func `a made promise is pending and sits in no queue`() {
    let promise = Promises.make(promising: Int.self)
    #expect(!promise.isFulfilled)
    #expect(Promises.defaultOperationQueue.operations.allSatisfy { $0 !== promise })
    #expect(!Promise<String>.make().isFulfilled)
  }

  @Test func `futures made settled are settled and finished`() {
    let success = Promises.makeSucceeded(with: 1)
    #expect(success.result?.successValue == 1)
    #expect(success.isFinished)
    let failure = Promises.makeFailed(with: TestError.first, promising: Int.self)
    #expect(failure.result?.failureValue as? TestError == .first)
    let inferred: Future<String> = Promises.makeFailed(with: TestError.first)
    #expect(inferred.isFinished)
    let cancelled = Promises.makeFailed(with: ProperationsError.cancelled, promising: Int.self)
    #expect(cancelled.isCancelled)
    #expect(Promises.makeFulfilled(with: FutureResult<Int>.success(2)).result?.successValue == 2)
  }

  // MARK: run

  @Test func `run succeeds with what the closure returns and fails with what it throws`() async {
    #expect(await Promises.run(on: .global()) { 1 }.completion.successValue == 1)
    let failed = Promises.run(on: .global()) { () throws -> Int in throw TestError.first }
    #expect(await failed.completion.failureValue as? TestError == .first)
    #expect(Promises.run(on: .inline) { 1 }.result?.successValue == 1)
  }

  @Test func `run without a context runs on the main actor`() async {
    let future = Promises.run {
      MainActor.assertIsolated()
      return 1
    }
    #expect(await future.completion.successValue == 1)
  }

  @Test func `run never runs before the call returns, unless inline`() async {
    let context = ManualContext()
    let ran = Counter()
    let future = Promises.run(on: context) { ran.add() }
    #expect(ran.value == 0)
    context.runAll()
    #expect(future.isFulfilled)
  }

  @Test func `run cancelled before it starts never runs`() {
    let context = ManualContext()
    let ran = Counter()
    let future = Promises.run(on: context) { ran.add() }
    future.cancel()
    context.runAll()
    #expect(ran.value == 0)
    #expect(future.isCancelled)
  }

  // MARK: async

  @Test func `async succeeds with what the work returns and fails with what it throws`() async {
    let success = Promises.async {
      await Task.yield()
      return 1
    }
    #expect(await success.completion.successValue == 1)
    let failure = Promises.async { () async throws -> Int in throw TestError.first }
    #expect(await failure.completion.failureValue as? TestError == .first)
  }

  @Test func `async work that throws CancellationError counts as cancelled`() async {
    let future = Promises.async { () async throws -> Int in throw CancellationError() }
    _ = await future.completion
    #expect(future.isCancelled)
    #expect(future.result?.failureValue as? ProperationsError == .cancelled)
  }

  @Test func `cancelling an async future cancels its task and settles at once`() async {
    let (started, stopped) = (Event(), Event())
    let future = Promises.async {
      started.signal()
      try? await Task.sleep(for: .seconds(1_000))
      if Task.isCancelled { stopped.signal() }
      return 1
    }
    #expect(await started.opened())
    future.cancel()
    #expect(future.isCancelled)
    #expect(await stopped.opened())
  }

  @Test func `a cancelled async future finishes as an operation when its closure returns`() async {
    let (end, dependentRan) = (Event(), Event())
    let queue = OperationQueue()
    let future = Promises.async { await end.opened() }
    let dependent = BlockOperation { dependentRan.signal() }
    dependent.addDependency(future)
    queue.addOperation(dependent)
    #expect(!future.isExecuting)
    future.cancel()
    #expect(future.isFulfilled && !future.isFinished && future.isExecuting)
    #expect(!dependent.isReady)
    end.signal()
    #expect(await dependentRan.opened())
    #expect(future.isFinished && !future.isExecuting)
  }

  @Test func `a pending async future takes no slot of a queue that it was added to`() async {
    let (end, ran) = (Event(), Event())
    let queue = OperationQueue()
    queue.maxConcurrentOperationCount = 1
    let future = Promises.async { await end.opened() }
    queue.addOperation(future)
    queue.addOperation { ran.signal() }
    #expect(await ran.opened())
    future.cancel()
    #expect(!future.isFinished)
    end.signal()
    #expect(await eventually { future.isFinished && queue.operationCount == 0 })
  }

  @Test func `cancelling the last consumer of an async future cancels its task`() async {
    let stopped = Event()
    let future = Promises.async {
      await withTaskCancellationHandler {
        _ = try? await Task.sleep(for: .seconds(1_000))
      } onCancel: {
        stopped.signal()
      }
    }
    future.mapToValue(on: .inline) { 1 }.cancel()
    #expect(await stopped.opened())
  }

  @Test func `a task's cancellation handler may settle futures`() async {
    let promise = Promise<Int>()
    let below = promise.mapToValue(on: .inline) { $0 + 1 }
    await cancelTask { promise.succeed(with: 1) }
    #expect(below.result?.successValue == 2)
  }

  @Test func `what a task's cancellation handler settles has settled when the call returns`()
    async
  {
    let promise = Promise<Int>()
    let below = promise.shielded()
    let isSettled = Box(false)
    await cancelTask {
      promise.succeed(with: 1)
      isSettled.value = below.isFulfilled
    }
    #expect(isSettled.value)
  }

  /// Cancels a future of async work that has this handler, while the work goes on.
  private func cancelTask(onCancel: @escaping @Sendable () -> Void) async {
    let started = Event()
    let future = Promises.async {
      await withTaskCancellationHandler {
        started.signal()
        _ = try? await Task.sleep(for: .seconds(1_000))
      } onCancel: {
        onCancel()
      }
    }
    #expect(await started.opened())
    future.cancel()
  }

  @Test func `what a clock settles when its sleep is cancelled has settled when the call returns`()
    async
  {
    let (promise, started) = (Promise<Int>(), Event())
    let below = promise.shielded()
    let isSettled = Box(false)
    let clock = SettlingClock(started: started) {
      promise.succeed(with: 1)
      isSettled.value = below.isFulfilled
    }
    let delay = Promises.delay(for: .seconds(1_000), clock: clock)
    #expect(await started.opened())
    delay.cancel()
    #expect(isSettled.value)
  }

  @Test @MainActor func `async keeps the actor isolation of the place where it is written`() async {
    let future = Promises.async {
      MainActor.assertIsolated()
      await Task.yield()
      MainActor.assertIsolated()
      return 1
    }
    #expect(await future.completion.successValue == 1)
  }

  @Test func `async needs nobody to hold its future`() async {
    let done = Event()
    _ = Promises.async {
      await Task.yield()
      done.signal()
    }
    #expect(await done.opened())
  }

  // MARK: withResolver

  @Test func `a resolver settles its future once`() {
    let kept = Box<Resolver<Int>?>(nil)
    let future = Promises.withResolver(promising: Int.self) { kept.value = $0 }
    #expect(!future.isFulfilled)
    #expect(kept.value?.isFulfilled == false)
    #expect(kept.value?.succeed(with: 1) == true)
    #expect(kept.value?.fail(with: TestError.first) == false)
    #expect(kept.value?.fulfill(with: .success(2)) == false)
    #expect(kept.value?.isFulfilled == true)
    #expect(future.result?.successValue == 1)
  }

  @Test func `a resolver of Void needs no value`() {
    let future = Promises.withResolver(promising: Void.self) { $0.succeed() }
    #expect(future.result?.isSuccess == true)
  }

  @Test func `what withResolver's closure throws fails the future, though the resolver is kept`() {
    let kept = Box<Resolver<Int>?>(nil)
    let future = Promises.withResolver(promising: Int.self) { resolver in
      kept.value = resolver
      throw TestError.first
    }
    #expect(future.result?.failureValue as? TestError == .first)
    #expect(kept.value?.succeed(with: 1) == false)
  }

  @Test func `a resolver hears of the cancellation of its future`() {
    let kept = Box<Resolver<Int>?>(nil)
    let count = Counter()
    let future = Promises.withResolver(promising: Int.self) { resolver in
      kept.value = resolver
      resolver.onCancellationRequest { count.add() }
    }
    future.mapToValue(on: .inline) { $0 }.cancel()
    #expect(future.isCancelled)
    #expect(count.value == 1)
    kept.value?.onCancellationRequest { count.add() }
    #expect(count.value == 2)
    kept.value = nil
    #expect(future.result?.failureValue as? ProperationsError == .cancelled)
  }

  // MARK: delay

  @Test(arguments: [Duration.zero, .seconds(-5), .nanoseconds(1), .milliseconds(1)])
  func `a delay ends`(_ duration: Duration) async {
    #expect(await Promises.delay(for: duration).completion.isSuccess)
    #expect(await Promises.delay(for: duration).completion.isSuccess)
  }

  @Test(arguments: [DispatchTimeInterval.never, .seconds(Int.max), .nanoseconds(Int.max)])
  func `a huge delay is pending until it is cancelled`(_ interval: DispatchTimeInterval) {
    let future = Promises.delay(for: interval)
    #expect(!future.isFulfilled)
    future.cancel()
    #expect(future.isCancelled)
  }

  @Test(arguments: [Duration.seconds(Int64.max), .seconds(Int64.min), .microseconds(Int64.max)])
  func `a delay of any duration can be made`(_ duration: Duration) async {
    let future = Promises.delay(for: duration)
    if duration < .zero { _ = await future.completion }
    #expect(future.isFulfilled == (duration < .zero))
    future.cancel()
  }

  @Test func `a delay never ends early`() async {
    let start = ContinuousClock.now
    _ = await Promises.delay(for: .milliseconds(50)).completion
    #expect(ContinuousClock.now - start >= .milliseconds(49))
  }

  @Test("a future that has succeeded without a value")
  func succeededWithoutValue() async throws {
    let future: Future<Void> = Promises.makeSucceeded()
    #expect(future.isFulfilled && future.error == nil)
    try await future.value
  }

  @available(*, deprecated)
  @Test("a promise in a queue belongs to it in either spelling, and to none without one")
  func membership() async throws {
    for make: @Sendable (OperationQueue) -> Promise<Int> in [
      { Promises.make(promising: Int.self, in: $0) },
      { Promises.make(promising: Int.self, in: $0) },
      { Promise<Int>.make(in: $0) }, { Promise<Int>.make(in: $0) },
    ] {
      let queue = OperationQueue()
      let promise = make(queue)
      queue.cancelAllOperations()
      #expect(promise.isCancelled)
    }
    let free = Promises.make(promising: Int.self)
    #expect(free.succeed(with: 1))
    #expect(Promise<Int>.make().succeed(with: 1))
  }
}

/// A clock whose sleeps end when they are cancelled, and tell it.
private struct SettlingClock: Clock {
  typealias Instant = ContinuousClock.Instant
  let started: Event
  let cancelled: @Sendable () -> Void

  var now: Instant { .now }
  var minimumResolution: Duration { .nanoseconds(1) }

  func sleep(until deadline: Instant, tolerance: Duration?) async throws {
    try await withTaskCancellationHandler {
      started.signal()
      try await Task.sleep(for: .seconds(1_000))
    } onCancel: {
      cancelled()
    }
  }
}
