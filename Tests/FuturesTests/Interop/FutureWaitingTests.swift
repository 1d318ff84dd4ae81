import Foundation
import Futures
import TestSupport
import Testing

@Suite("Blocking waits", .timeLimit(.minutes(5)), .oneAtATime)
struct FutureWaitingTests {
  /// Runs a closure on a thread of its own, with a limit.
  private func onThread<Output: Sendable>(
    _ body: @escaping @Sendable () throws -> Output
  ) async throws -> Output {
    try await SmallStackThread.running(body)
  }

  @Test func `waiting for a settled future returns its value, and throws its error`() async throws {
    let success = Promises.makeSucceeded(with: 1)
    let failure = Promises.makeFailed(with: TestError.first, promising: Int.self)
    #expect(try await onThread { try success.wait() } == 1)
    await #expect(throws: TestError.first) { try await onThread { try failure.wait() } }
  }

  @Test func `waiting for a pending future returns when it is settled`() async throws {
    let promise = Promise<Int>()
    async let value = onThread { try promise.mapToValue(on: .inline) { $0 + 1 }.wait() }
    promise.succeed(with: 1)
    #expect(try await value == 2)
  }

  @Test func `waiting for a future that is cancelled throws cancelled`() async throws {
    let promise = Promise<Int>()
    async let result = onThread { Result { try promise.wait() } }
    promise.cancel()
    #expect(try await result.failureValue as? ProperationsError == .cancelled)
  }

  @Test(.guarantee(9), arguments: [Duration.zero, .seconds(-1), .milliseconds(10)])
  func `waiting too long throws timedOut and leaves the future alone`(_ timeout: Duration)
    async throws
  {
    let promise = Promise<Int>()
    await #expect(throws: ProperationsError.timedOut(after: timeout)) {
      try await onThread { try promise.wait(timeout: timeout) }
    }
    #expect(!promise.isFulfilled)
    promise.succeed(with: 1)
    #expect(promise.result?.successValue == 1)
  }

  @Test(arguments: [Duration.seconds(Int64.max), .seconds(3600 * 24 * 365 * 1000)])
  func `waiting with a huge limit returns when the future is settled`(_ timeout: Duration)
    async throws
  {
    let promise = Promise<Int>()
    async let value = onThread { try promise.wait(timeout: timeout) }
    #expect(await hasWaiter(promise))
    promise.succeed(with: 1)
    #expect(try await value == 1)
  }

  @Test func `waiting for a future in its own closure is refused, and for one below it too`()
    async throws
  {
    let box = TestLock<Future<Int>?>(nil)
    let promise = Promise<Int>()
    let future = promise.mapToValue(on: .global()) { value -> Int in
      let own = box.withLock { $0 }!
      let below = own.mapToValue(on: .inline) { $0 }
      #expect(throws: ProperationsError.cycle(createdAt: own.createdAt)) { try own.wait() }
      #expect(throws: ProperationsError.cycle(createdAt: below.createdAt)) { try below.wait() }
      return value
    }
    box.withLock { $0 = future }
    promise.succeed(with: 1)
    #expect(try await future.value == 1)
    box.withLock { $0 = nil }
  }

  /// A closure waits for what another closure makes from the future of the first; what the wait
  /// comes to.
  private func waitInOwnClosure(
    for make: (Future<Int>) -> Future<Int>,
    _ isWaiting: (_ awaited: Future<Int>, _ outcome: Future<Int>) async -> Void
  ) async -> FutureResult<Int> {
    let (start, awaited) = (Promise<Int>(), Box<Future<Int>?>(nil))
    let outcome = Promise<Int>()
    let future = start.mapToValue(on: ThreadContext()) { value -> Int in
      outcome.fulfill(with: FutureResult { try awaited.value?.wait(timeout: Event.patience) ?? 0 })
      return value
    }
    let made = make(future)
    awaited.value = made
    start.succeed(with: 1)
    await isWaiting(made, outcome)
    defer { awaited.value = nil }
    _ = await future.completion
    return await outcome.completion
  }

  @Test func `waiting in its own closure for a race of a future that another one wins: the value`()
    async
  {
    let other = Promise<Int>()
    let result = await waitInOwnClosure {
      Promises.race([$0.mapToValue(on: .inline) { $0 }, other], cancellingLosers: false)
    } _: { race, outcome in
      #expect(await eventually { race.hasWaiters })
      #expect(!(await eventually(within: .milliseconds(50)) { outcome.isSettled }))
      other.succeed(with: 7)
    }
    #expect(result.successValue == 7)
  }

  @Test func `waiting in its own closure for a race of a future whose other input fails: a cycle`()
    async
  {
    let other = Promise<Int>()
    let site = Box<CreationSite?>(nil)
    let result = await waitInOwnClosure {
      Promises.race([$0.mapToValue(on: .inline) { $0 }, other], cancellingLosers: false)
    } _: { race, outcome in
      site.value = race.createdAt
      #expect(!(await eventually(within: .milliseconds(50)) { outcome.isSettled }))
      other.fail(with: TestError.first)
    }
    #expect(
      result.failureValue as? ProperationsError == site.value.map { .cycle(createdAt: $0) })
  }

  @Test func `waiting in its own closure for a future with a time limit: what the limit gives`()
    async
  {
    let result = await waitInOwnClosure {
      $0.timeout(after: .milliseconds(100), fallback: 7)
    } _: { _, _ in
    }
    #expect(result.successValue == 7)
  }

  @Test func `waiting in its own closure for 100 layers of races of the future alone: a cycle`()
    async
  {
    let result = await waitInOwnClosure {
      (0..<100).reduce($0) { future, _ in Promises.race([future, future]) }
    } _: { _, _ in
    }
    guard case .cycle? = result.failureValue as? ProperationsError else {
      Issue.record("\(result)")
      return
    }
  }

  @Test func `waiting in its own closure for the first of 150,000 inputs of a collection: a cycle`()
    async
  {
    let others = (0..<150_000).map { _ in Promise<Int>() }
    let result = await waitInOwnClosure { future in
      let links = ([future] + others).map { $0.mapToValue(on: .inline) { $0 } }
      return Promises.collect(links).mapToValue(on: .inline) { $0.count }
    } _: { _, _ in
    }
    guard case .cycle? = result.failureValue as? ProperationsError else {
      Issue.record("\(result)")
      return
    }
    for other in others { other.cancel() }
  }

  @Test func `waiting on main for async work isolated to the main actor is refused`() async throws {
    let future = await MainActor.run {
      let future = Promises.async { @MainActor in 1 }
      let below = future.mapToValue(on: .inline) { $0 + 1 }
      #expect(throws: ProperationsError.wouldDeadlock(queue: "the main queue")) {
        try below.wait()
      }
      return future
    }
    #expect(try await future.value == 1)
  }

  @Test(.guarantee(11))
  func `waiting on a serial operation queue for a future that needs it is refused`() async {
    let queue = OperationQueue()
    queue.name = "narrow"
    queue.maxConcurrentOperationCount = 1
    let thrown = Box<(any Error)?>(nil)
    let done = Event()
    queue.addOperation {
      let needed = Promises.makeSucceeded(with: 1).mapToValue(on: queue) { $0 }
        .mapToValue(on: .inline) { $0 }
      thrown.value = Result { try needed.wait(timeout: Event.patience) }.failureValue
      done.signal()
    }
    #expect(await done.opened())
    #expect(
      thrown.value as? ProperationsError
        == .wouldDeadlock(queue: "the operation queue \"narrow\""))
  }

  @Test func `waiting in a future's closure for one on the same serial queue is refused`() async {
    let queue = OperationQueue()
    queue.name = "narrow"
    queue.maxConcurrentOperationCount = 1
    let future = Promises.run(on: queue) {
      try Promises.run(on: queue) { 1 }.mapToValue(on: .inline) { $0 }.wait(timeout: Event.patience)
    }
    let error = await future.completion.failureValue
    #expect(
      error as? ProperationsError
        == .wouldDeadlock(queue: "the operation queue \"narrow\""))
  }

  @Test func `waiting in a future's closure on a serial dispatch queue for one there is refused`()
    async
  {
    let queue = DispatchQueue(label: "narrow")
    let future = Promises.run(on: queue) {
      try Promises.run(on: queue) { 1 }.mapToValue(on: .inline) { $0 }.wait(timeout: Event.patience)
    }
    let error = await future.completion.failureValue
    #expect(
      error as? ProperationsError == .wouldDeadlock(queue: "the dispatch queue \"narrow\""))
  }

  @Test func `waiting in a future's closure on a concurrent queue for one there returns`() async {
    let future = Promises.run(on: .global()) {
      try Promises.run(on: .global()) { 1 }.mapToValue(on: .inline) { $0 }.wait(
        timeout: Event.patience)
    }
    #expect(await future.completion.successValue == 1)
  }

  @Test func `waiting on a serial queue for a future that does not need it returns`() async {
    let queue = OperationQueue()
    queue.maxConcurrentOperationCount = 1
    let future = Promises.run(on: queue) {
      try Promises.run(on: .global()) { 1 }.wait(timeout: Event.patience)
    }
    #expect(await future.completion.successValue == 1)
  }

  @Test func `waiting on the main queue for a future that needs it is refused`() async {
    let error = await MainActor.run { () -> (any Error)? in
      let needed = Promises.makeSucceeded(with: 1).mapToValue { $0 }.mapToValue(on: .global()) {
        $0
      }
      return Result { try waitSynchronously(needed) }.failureValue
    }
    #expect(error as? ProperationsError == .wouldDeadlock(queue: "the main queue"))
  }

  @Test func `waiting in a main-actor closure for a future that needs the main queue is refused`()
    async
  {
    let future = Promises.run {
      try waitSynchronously(Promises.run { 1 }.mapToValue(on: .inline) { $0 })
    }
    let error = await future.completion.failureValue
    #expect(error as? ProperationsError == .wouldDeadlock(queue: "the main queue"))
  }

  @Test func `waiting on the main queue for a future that does not need it returns`() async {
    let value = await MainActor.run {
      Result { try waitSynchronously(Promises.run(on: .global()) { 1 }) }.successValue
    }
    #expect(value == 1)
  }

  @Test func `waiting in an inline closure for another inline closure returns`() async {
    let outer = Promises.makeSucceeded(with: 1).mapToValue(on: .inline) { value in
      try Promises.makeSucceeded(with: value).mapToValue(on: .inline) { $0 + 1 }
        .wait(timeout: Event.patience)
    }
    #expect(await outer.completion.successValue == 2)
  }

  @Test func `waiting in an inline handler for a handler attached after it to the same future`()
    async throws
  {
    let promise = Promise<Int>()
    let second = Box<Future<Int>?>(nil)
    let first = promise.mapToValue(on: .inline) { value in
      try (second.value?.wait(timeout: Event.patience) ?? 0) + value
    }
    second.value = promise.mapToValue(on: .inline) { $0 * 10 }
    async let _ = onThread { promise.succeed(with: 1) }
    #expect(await first.completion.successValue == 11)
  }

  @Test func `100 threads that wait for one future all return`() async {
    let promise = Promise<Int>()
    let sum = Counter()
    let done = Event()
    for _ in 0..<100 {
      Thread {
        if sum.add((try? promise.wait()) ?? 0) == 100 { done.signal() }
      }.start()
    }
    promise.succeed(with: 1)
    #expect(await done.opened())
  }
}

/// `wait` is kept out of async code; main-actor closures are not async.
private func waitSynchronously<Value>(_ future: Future<Value>) throws -> Value {
  try future.wait(timeout: Event.patience)
}
