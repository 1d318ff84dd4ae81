import Foundation
import Futures
import OperationBridge
import TestSupport
import Testing

/// Any code may read `isReady`, and on Apple's platforms a queue that takes an operation is
/// such a reader, too.
@Suite("A future whose isReady is read", .timeLimit(.minutes(5)), .oneAtATime)
struct ReadReadinessTests {
  @Test("Read while pending: the result is there at once, and it finishes without a queue")
  func publishes() async {
    let promise = Promise<Int>()
    #expect(!promise.isReady)
    let below = promise.mapToValue(on: .inline) { $0 + 1 }
    promise.succeed(with: 1)
    #expect(promise.isFulfilled && below.result?.successValue == 2)
    #expect(await eventually { promise.isFinished })
  }

  @Test("Read before, between and after: addFuture throws for the second queue only")
  func addFuture() async throws {
    let (queue, other) = (OperationQueue.make(), OperationQueue.make())
    let promise = Promise<Int>()
    for _ in 0..<3 { #expect(!promise.isReady) }
    try queue.addFuture(promise)
    #expect(!promise.isReady)
    #expect(throws: ProperationsError.self) { try other.addFuture(promise) }
    promise.succeed(with: 1)
    #expect(promise.isReady)
    #expect(await queue.isEmptyEventually())
    #expect(promise.isFinished)
  }

  @Test("Read while pending, and settled: addFuture still does not throw")
  func addedSettled() async throws {
    let queue = OperationQueue.make()
    let promise = Promise<Int>()
    #expect(!promise.isReady)
    promise.succeed(with: 1)
    try queue.addFuture(promise)
    #expect(await queue.isEmptyEventually())
    #expect(await eventually { promise.isFinished })
  }

  @Test("Its dependency finishes, which the library posts: it finishes the moment it settles")
  func postedByTheLibrary() {
    let (promise, dependency) = (Promise<Int>(), BlockOperation {})
    promise.addDependency(dependency)
    dependency.start()
    promise.succeed(with: 1)
    #expect(promise.isFinished)
  }

  /// Returns when a future that only was read has finished: later than one that settled
  /// before it and finishes as late.
  private func delayOfReadFuture() async {
    for _ in 0..<2 {
      let other = Promise<Int>()
      _ = other.isReady
      other.succeed(with: 1)
      #expect(await eventually { other.isFinished })
    }
  }

  @Test("Settled in a suspended queue: it finishes when the queue starts it, and not before")
  func suspendedQueue() async {
    let queue = OperationQueue.make(isSuspended: true)
    let promise = Promise<Int>()
    queue.addOperation(promise)
    promise.succeed(with: 1)
    await delayOfReadFuture()
    #expect(promise.isFulfilled && !promise.isFinished && queue.operationCount == 1)
    queue.isSuspended = false
    #expect(await queue.isEmptyEventually())
    #expect(promise.isFinished)
  }

  @Test("Added in an array of futures: each finishes when the suspended queue starts it")
  func addedInAnArray() async {
    let queue = OperationQueue.make(isSuspended: true)
    let (number, text) = (Promise<Int>(), Promise<String>())
    queue.addBoth(number, text)
    number.succeed(with: 1)
    text.succeed(with: "one")
    await delayOfReadFuture()
    #expect(number.isFulfilled && !number.isFinished && text.isFulfilled && !text.isFinished)
    #expect(queue.operationCount == 2)
    queue.isSuspended = false
    #expect(await queue.isEmptyEventually())
    #expect(number.isFinished && text.isFinished)
  }

  @Test("An array of futures is added: the call waits for all, also for one that is lazy")
  func waitsForAnArray() async {
    let (queue, done) = (OperationQueue.make(), Event())
    let promise = Promise<Int>()
    let lazy = Promises.lazy(on: .inline) { Promises.makeSucceeded(with: 2) }
    let areFinished = Box(false)
    Thread {
      queue.addOperations([promise, lazy], waitUntilFinished: true)
      areFinished.value = promise.isFinished && lazy.isFinished
      done.signal()
    }.start()
    #expect(await eventually { lazy.isFulfilled })
    #expect(!done.isOpen)
    promise.succeed(with: 1)
    #expect(await done.opened())
    #expect(areFinished.value)
  }

  @Test("Cancelled in a busy queue: it finishes when the queue starts it, and not before")
  func busyQueue() async {
    let queue = OperationQueue.make()
    let goOn = Event()
    queue.addOperation { goOn.wait() }
    let promise = Promise<Int>()
    queue.addOperation(promise)
    promise.cancel()
    await delayOfReadFuture()
    #expect(promise.isFulfilled && !promise.isFinished && queue.operationCount == 2)
    goOn.signal()
    #expect(await queue.isEmptyEventually())
    #expect(promise.isFinished)
  }
}

extension OperationQueue {
  /// For async code, where `addOperations(_:waitUntilFinished:)` is refused.
  fileprivate func addBoth(_ first: Promise<Int>, _ second: Promise<String>) {
    addOperations([first, second], waitUntilFinished: false)
  }
}

#if canImport(Darwin) || PROPERATIONS_AS_ON_DARWIN
  extension ReadReadinessTests {
    @Test("As on Apple's platforms, nothing tells who reads: it finishes after a delay")
    func finishesLate() async {
      let promise = Promise<Int>()
      #expect(!promise.isReady)
      let start = ContinuousClock.now
      promise.succeed(with: 1)
      // (A busy machine may hold this thread up for longer than the delay.)
      let isLate = !promise.isFinished || ContinuousClock.now - start > .milliseconds(50)
      #expect(promise.isFulfilled && isLate)
      #expect(await eventually { promise.isFinished })
    }
  }
#endif
