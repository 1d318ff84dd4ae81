import Foundation
import Futures
import TestSupport
import Testing

@Suite("Cancellation", .timeLimit(.minutes(5)), .oneAtATime)
struct CancellationTests {
  @Test func `cancelled while its closure returns a future: that is cancelled, 10,000 rounds`()
    async
  {
    let forgotten = Counter()
    let isDone = await RaceHarness(threads: 2, rounds: 10_000).run { _ in
      let (source, inner, isReturning) = (Promise<Int>(), Promise<Int>(), Box(false))
      let future = source.mapToFuture(on: .inline) { _ in
        isReturning.value = true
        return inner
      }
      return (source, inner, isReturning, future)
    } act: { subject, index in
      if index == 0 {
        subject.0.succeed(with: 1)
      } else {
        // (Yielding: else a busy machine runs this thread for a whole turn in vain.)
        while !subject.2.value { sched_yield() }
        subject.3.cancel()
      }
    } check: { subject, _ in
      if !subject.1.isCancelled { forgotten.add() }
    }
    #expect(isDone)
    #expect(forgotten.value == 0)
  }

  @Test func `cancelling a promise cancels everything below it`() {
    let promise = Promise<Int>()
    let map = promise.mapToValue(on: .inline) { $0 }
    let flat = map.mapToFuture(on: .inline) { Promises.makeSucceeded(with: $0) }
    let observer = flat.onSuccess(on: .inline) { _ in }
    let recovered = observer.recover(on: .inline) { _ in 0 }
    let late = recovered.delay(for: .seconds(100))
    promise.cancel()
    for future in [promise, map, flat, observer, recovered, late] {
      #expect(future.isCancelled)
      #expect(future.isFinished)
      #expect(future.result?.failureValue as? ProperationsError == .cancelled)
    }
  }

  @Test func `cancelling the last link cancels everything above it`() {
    let promise = Promise<Int>()
    let requests = Counter()
    promise.onCancellationRequest { requests.add() }
    let map = promise.mapToValue(on: .inline) { $0 }
    let last = map.mapToValue(on: .inline) { $0 }.onSuccess(on: .inline) { _ in }
    last.cancel()
    #expect(map.isCancelled)
    #expect(promise.isCancelled)
    #expect(requests.value == 1)
  }

  @Test(.guarantee(8)) func `cancelling one of two consumers leaves the promise alone`() {
    let promise = Promise<Int>()
    let one = promise.mapToValue(on: .inline) { $0 }
    let two = promise.mapToValue(on: .inline) { $0 }
    one.cancel()
    #expect(!promise.isCancelled)
    #expect(!two.isCancelled)
    two.cancel()
    #expect(promise.isCancelled)
  }

  @Test(arguments: 1...4)
  func `cancelling the only consumer of a chain of onCancel observers cancels the promise`(
    observers: Int
  ) {
    let promise = Promise<Int>()
    var last: Future<Int> = promise
    for _ in 0..<observers { last = last.onCancel(on: .inline) {} }
    let consumer = last.mapToValue(on: .inline) { $0 }
    consumer.cancel()
    #expect(promise.isCancelled)
  }

  @Test(arguments: 1...4)
  func `a consumer behind onCancel observers keeps the promise when another one goes`(
    observers: Int
  ) {
    let promise = Promise<Int>()
    var last: Future<Int> = promise
    for _ in 0..<observers { last = last.onCancel(on: .inline) {} }
    let consumer = last.mapToValue(on: .inline) { $0 }
    promise.mapToValue(on: .inline) { $0 }.cancel()
    #expect(!promise.isCancelled)
    promise.succeed(with: 1)
    #expect(consumer.result?.successValue == 1)
  }

  @Test func `an onCancel observer does not keep the promise when the last consumer goes`() {
    let promise = Promise<Int>()
    let cancelled = Counter()
    promise.onCancel(on: .inline) { cancelled.add() }
    promise.mapToValue(on: .inline) { $0 }.cancel()
    #expect(promise.isCancelled)
    #expect(cancelled.value == 1)
  }

  @Test func `an onSuccess observer keeps the promise when another consumer goes`() {
    let promise = Promise<Int>()
    promise.onSuccess(on: .inline) { _ in }
    promise.mapToValue(on: .inline) { $0 }.cancel()
    #expect(!promise.isCancelled)
  }

  @Test func `an awaiting task keeps the promise when the last other consumer goes`() async throws {
    let promise = Promise<Int>()
    let link = promise.mapToValue(on: .inline) { $0 }
    let waiting = Task { try await link.value }
    #expect(await hasWaiter(link))
    link.mapToValue(on: .inline) { $0 }.cancel()
    #expect(!link.isCancelled)
    promise.succeed(with: 7)
    #expect(try await waiting.value == 7)
  }

  @Test(.guarantee(8)) func `cancelling again changes nothing`() {
    let promise = Promise<Int>()
    let requests = Counter()
    promise.onCancellationRequest { requests.add() }
    promise.cancel()
    promise.cancel()
    promise.mapToValue(on: .inline) { $0 }.cancel()
    #expect(requests.value == 1)
    #expect(promise.result?.failureValue as? ProperationsError == .cancelled)
  }

  @Test(.guarantee(8)) func `cancelling a settled future keeps its result`() {
    let success = Promises.makeSucceeded(with: 1)
    let failure = Promises.makeFailed(with: TestError.first, promising: Int.self)
    success.cancel()
    failure.cancel()
    #expect(success.result?.successValue == 1)
    #expect(!success.isCancelled)
    #expect(failure.result?.failureValue as? TestError == .first)
    #expect(!failure.isCancelled)
  }

  @Test(.guarantee(8))
  func `cancelling a link whose closure runs settles at once and finishes afterwards`()
    async
  {
    let started = Event()
    let go = Event()
    let future = Promises.run(on: DispatchQueue(label: "running")) {
      started.signal()
      go.wait()
      return 1
    }
    let below = future.mapToValue(on: .inline) { $0 }
    #expect(await started.opened())
    #expect(future.isExecuting)
    future.cancel()
    #expect(future.isCancelled)
    #expect(future.result?.failureValue as? ProperationsError == .cancelled)
    #expect(below.isCancelled)
    #expect(!future.isFinished)
    go.signal()
    #expect(await eventually { future.isFinished })
    #expect(!future.isExecuting)
    #expect(future.result?.failureValue as? ProperationsError == .cancelled)
  }

  @Test func `cancelling a running link never lets a serial queue run two closures`() async {
    let queue = OperationQueue()
    queue.maxConcurrentOperationCount = 1
    let running = Counter()
    let last = Event()
    for index in 0..<50 {
      let started = Event()
      let future = Promises.run(on: queue) {
        running.add()
        started.signal()
        usleep(200)
        running.add(-1)
      }
      _ = await started.opened()
      future.cancel()
      if index == 49 { _ = Promises.run(on: queue) { last.signal() } }
    }
    #expect(await last.opened())
    #expect(running.highest == 1)
  }

  @Test func `a closure that has not started never runs once its future is cancelled`() {
    let context = ManualContext()
    let promise = Promise<Int>()
    let ran = Counter()
    let future = promise.mapToValue(on: context) { _ in ran.add() }
    promise.succeed(with: 1)
    #expect(context.count == 1)
    future.cancel()
    context.runAll()
    #expect(ran.value == 0)
    #expect(future.isCancelled)
    #expect(!promise.isCancelled)
  }

  @Test func `a future made by a cancelled mapping's closure is cancelled`() async {
    let inner = Promise<Int>()
    let (started, go) = (Event(), Event())
    let future = Promises.makeSucceeded(with: 1).mapToFuture(on: .global()) { _ in
      started.signal()
      go.wait()
      return inner
    }
    #expect(await started.opened())
    future.cancel()
    go.signal()
    #expect(await eventually { inner.isCancelled })
  }

  @Test func `a future made by a cancelled mapping's closure is cancelled though it is watched`()
    async
  {
    let inner = Promise<Int>()
    let cancelled = Event()
    inner.onCancel(on: .inline) { cancelled.signal() }
    let (started, go) = (Event(), Event())
    let future = Promises.makeSucceeded(with: 1).mapToFuture(on: .global()) { _ in
      started.signal()
      go.wait()
      return inner
    }
    #expect(await started.opened())
    future.cancel()
    go.signal()
    #expect(await cancelled.opened())
  }

  @Test func `cancelling a future that waits for an inner one cancels the inner one`() {
    let inner = Promise<Int>()
    let future = Promises.makeSucceeded(with: 1).mapToFuture(on: .inline) { _ in inner }
    future.cancel()
    #expect(inner.isCancelled)
  }

  @Test func `shielded keeps a consumer's cancellation to itself`() {
    let promise = Promise<Int>()
    let shield = promise.shielded()
    let consumer = shield.mapToValue(on: .inline) { $0 }
    consumer.cancel()
    #expect(shield.isCancelled)
    #expect(!promise.isCancelled)
  }

  @Test func `shielded passes the cancellation from above on`() {
    let promise = Promise<Int>()
    let shield = promise.shielded()
    promise.cancel()
    #expect(shield.isCancelled)
  }
}
