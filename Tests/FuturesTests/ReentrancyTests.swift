import Foundation
import Futures
import TestSupport
import Testing

@Suite("Reentrancy", .timeLimit(.minutes(5)), .oneAtATime)
struct ReentrancyTests {
  @Test func `a handler that settles another promise has that one's inline handlers run after it`()
  {
    let (one, two) = (Promise<Int>(), Promise<Int>())
    let log = Log<String>()
    two.onSuccess(on: .inline) { _ in log.append("two") }
    one.onSuccess(on: .inline) { _ in
      log.append("one begins")
      two.succeed(with: 2)
      #expect(two.isFinished)
      log.append("one ends")
    }
    one.succeed(with: 1)
    #expect(log.entries == ["one begins", "one ends", "two"])
  }

  @Test func `a handler that settles its own promise again changes nothing`() {
    let promise = Promise<Int>()
    let answers = Log<Bool>()
    promise.onCompletion(on: .inline) { _ in
      answers.append(promise.succeed(with: 2))
      answers.append(promise.fail(with: TestError.first))
      promise.cancel()
    }
    promise.succeed(with: 1)
    #expect(answers.entries == [false, false])
    #expect(promise.result?.successValue == 1)
  }

  @Test func `a handler that attaches to the same and other futures has all of them run`() {
    let promise = Promise<Int>()
    let other = Promises.makeSucceeded(with: 2)
    let log = Log<String>()
    promise.onSuccess(on: .inline) { _ in
      promise.onSuccess(on: .inline) { _ in log.append("same") }
      other.onSuccess(on: .inline) { _ in log.append("other") }
    }
    promise.succeed(with: 1)
    #expect(log.entries.sorted() == ["other", "same"])
  }

  @Test func `a closure that cancels its own future settles it, and its value is dropped`() {
    let own = Box<Future<Int>?>(nil)
    let promise = Promise<Int>()
    own.value = promise.mapToValue(on: .inline) { value in
      own.value?.cancel()
      #expect(own.value?.isFinished == false)
      return value
    }
    promise.succeed(with: 1)
    #expect(own.value?.isCancelled == true)
    #expect(own.value?.isFinished == true)
    own.value = nil
  }

  @Test func `a handler that cancels a sibling keeps that one's closure from running`() {
    let promise = Promise<Int>()
    let sibling = Box<Future<Int>?>(nil)
    let ran = Counter()
    promise.onSuccess(on: .inline) { _ in sibling.value?.cancel() }
    sibling.value = promise.mapToValue(on: .inline) { ran.add($0) }
    promise.succeed(with: 1)
    #expect(sibling.value?.isCancelled == true)
    #expect(ran.value == 0)
    sibling.value = nil
  }

  @Test func `a cancellation handler may settle, cancel and attach`() {
    let (one, two, three) = (Promise<Int>(), Promise<Int>(), Promise<Int>())
    let log = Log<String>()
    one.onCancellationRequest {
      two.succeed(with: 2)
      three.cancel()
      one.onCancel(on: .inline) { log.append("attached") }
      one.onCancellationRequest { log.append("again") }
    }
    one.cancel()
    #expect(two.result?.successValue == 2)
    #expect(three.isCancelled)
    #expect(log.entries.sorted() == ["again", "attached"])
  }

  @Test func `a cancellation handler may wait for what it settles on another queue`() async {
    let (one, two) = (Promise<Int>(), Promise<Int>())
    let answer = Box<Int?>(nil)
    let below = two.mapToValue(on: .global()) { $0 + 1 }
    one.onCancellationRequest {
      two.succeed(with: 1)
      answer.value = Result { try below.wait(timeout: Event.patience) }.successValue
    }
    await withCheckedContinuation { continuation in
      Thread {
        one.cancel()
        continuation.resume()
      }.start()
    }
    #expect(answer.value == 2)
  }

  @Test func `a handler may wait for a consumer of the promise it settles, on any context`() async {
    let manual = DispatchQueue(label: "consumer")
    for inline in [true, false] {
      let (one, two) = (Promise<Int>(), Promise<Int>())
      let below =
        inline
        ? two.mapToValue(on: .inline) { $0 + 1 } : two.mapToValue(on: manual) { $0 + 1 }
      let answer = Box<Int?>(nil)
      let done = Event()
      one.onSuccess(on: .inline) { value in
        two.succeed(with: value)
        answer.value = Result { try below.wait(timeout: Event.patience) }.successValue
        done.signal()
      }
      Thread { one.succeed(with: 1) }.start()
      #expect(await done.opened())
      #expect(answer.value == 2)
    }
  }

  @Test(arguments: [true, false])
  func `a closure may block by its own means on a consumer of the promise it settles`(
    _ isOnTheSameQueue: Bool
  ) async throws {
    // (`wait()` knows what its thread has still to do; a semaphore does not.)
    let queue = OperationQueue()
    let (promise, other) = (Promise<Int>(), Promise<Int>())
    let consumed = Event()
    other.onSuccess(on: queue) { _ in consumed.signal() }
    let blocking: @Sendable (Int) -> Bool = { _ in
      other.succeed(with: 1)
      return consumed.wait()
    }
    let hasHeard =
      isOnTheSameQueue
      ? promise.mapToValue(on: queue, using: blocking)
      : promise.mapToValue(on: .inline, using: blocking)
    _ = try await SmallStackThread.running { promise.succeed(with: 1) }
    #expect(try await hasHeard.value)
  }

  @Test func `a handler that its context starts at once may wait for what it attaches itself`()
    async throws
  {
    struct Immediate: ExecutionContext {
      func execute(_ operation: Operation) { operation.start() }
    }
    let value = try await SmallStackThread.running {
      let promise = Promise<Int>()
      let queue = OperationQueue()
      let seen = Box<Int?>(nil)
      promise.onSuccess(on: Immediate()) { _ in
        // Those who wait for the promise are being told at this moment, by this
        // very thread.
        let late = promise.mapToValue(on: queue) { $0 + 1 }
        seen.value = try? late.wait(timeout: Event.patience)
      }
      promise.succeed(with: 1)
      return seen.value
    }
    #expect(value == 2)
  }

  @Test func `a deinit may settle, cancel, attach and wait`() async {
    final class Guard: Sendable {
      let promise: Promise<Int>
      let log: Log<String>
      init(_ promise: Promise<Int>, _ log: Log<String>) {
        self.promise = promise
        self.log = log
      }
      deinit {
        let log = log
        promise.onSuccess(on: .inline) { log.append("\($0)") }
        promise.succeed(with: 1)
        promise.cancel()
        let below = promise.mapToValue(on: .global()) { $0 + 1 }
        log.append("\(Result { try below.wait(timeout: Event.patience) }.successValue ?? 0)")
      }
    }
    for ending in Ending.allCases {
      let (promise, other) = (Promise<Int>(), Promise<Int>())
      let log = Log<String>()
      do {
        // The closure owns the last reference; settling releases it.
        let object = Guard(promise, log)
        _ = other.mapToValue(on: .inline) { _ in withExtendedLifetime(object) {} }
      }
      await withCheckedContinuation { continuation in
        Thread {
          ending.settle(other)
          continuation.resume()
        }.start()
      }
      #expect(await eventually { log.count == 2 })
      #expect(log.entries.sorted() == ["1", "2"])
    }
  }

  @Test func `a handler that releases the last reference to its own future goes on`() {
    let held = Box<AnyFuture?>(nil)
    let log = Log<Int>()
    let promise = Promise<Int>()
    held.value = promise.onSuccess(on: .inline) { value in
      held.value = nil
      log.append(value)
    }
    promise.succeed(with: 1)
    #expect(log.entries == [1])
  }

  @Test func `a handler that releases the promise that settled goes on`() {
    let held = Box<Promise<Int>?>(Promise<Int>())
    let log = Log<Int>()
    held.value?.onSuccess(on: .inline) { value in
      held.value = nil
      log.append(value)
    }
    let promise = held.value
    promise?.succeed(with: 1)
    #expect(log.entries == [1])
  }

  @Test func `handlers that settle the next of 100,000 promises need no stack`() async throws {
    let last = try await SmallStackThread.running {
      let promises = (0...100_000).map { _ in Promise<Int>() }
      for (promise, next) in zip(promises, promises.dropFirst()) {
        promise.onSuccess(on: .inline) { next.succeed(with: $0 + 1) }
      }
      promises[0].succeed(with: 0)
      return promises[100_000].result?.successValue
    }
    #expect(last == 100_000)
  }

  @Test func `cancellation handlers that cancel the next of 100,000 promises need no stack`()
    async throws
  {
    let isCancelled = try await SmallStackThread.running {
      let promises = (0...100_000).map { _ in Promise<Int>() }
      for (promise, next) in zip(promises, promises.dropFirst()) {
        promise.onCancellationRequest { next.cancel() }
      }
      promises[0].cancel()
      return promises[100_000].isCancelled
    }
    #expect(isCancelled)
  }

  @Test func `a chain built and settled from inside its own handlers ends: 10,000 steps`() {
    let done = Counter()
    @Sendable func step(_ count: Int) {
      guard count > 0 else { return }
      Promises.makeSucceeded(with: count).onSuccess(on: .inline) { value in
        done.add()
        step(value - 1)
      }
    }
    step(10_000)
    #expect(done.value == 10_000)
  }

  @Test func `a recursion through mapToFuture of 100,000 steps needs no stack`() async throws {
    let value = try await SmallStackThread.running {
      @Sendable func count(_ n: Int) -> Future<Int> {
        Promises.makeSucceeded(with: n).mapToFuture(on: .inline) {
          $0 == 0 ? Promises.makeSucceeded(with: 0) : count($0 - 1)
        }
      }
      return count(100_000).result?.successValue
    }
    #expect(value == 0)
  }
}
