import Foundation
import TestSupport
import Testing

@testable import Futures

/// The next place in a batch, as a pure value.
@Suite("A batch of continuations", .timeLimit(.minutes(5)), .oneAtATime)
struct BatchTests {
  private final class Place: BatchPlaceholder {
    var current: AnyFuture?
    var next: AnyFuture?
    var isCancelled = false
  }

  private let queue = OperationQueue()
  private var context: ContextReference { ContextReference(queue) }
  private let future = Promise<Int>()
  private var link: Continuation { .link(future, reading: future) }
  private var handler: Continuation {
    .handler(of: future, reading: future, Work { _, _ in })
  }

  private func batch(_ place: Place? = nil) -> Batch { Batch(on: context, place, nesting: 0) }

  /// Whether one of many batches answers so: each lasts a millisecond only, and a
  /// thread may be held up longer.
  private func isAnswered(_ body: () -> Bool) -> Bool { (0..<1000).contains { _ in body() } }

  @Test func `the next place is free for the very same context only`() {
    #expect(
      isAnswered {
        var batch = self.batch()
        return batch.isOpen(to: context)
      })
    var batch = self.batch()
    let answers = [batch.isOpen(to: ContextReference(OperationQueue())), batch.isOpen(to: .inline)]
    #expect(answers == [false, false])
  }

  @Test func `the next place is given once, until it is taken`() {
    var batch = self.batch()
    batch.setNext(link)
    let whileGiven = batch.isOpen(to: context)
    let first = batch.takeNext()
    let second = batch.takeNext()
    #expect(!whileGiven)
    #expect(first?.future === future)
    #expect(second == nil)
    #expect(
      isAnswered {
        var batch = self.batch()
        guard batch.isOpen(to: context) else { return false }
        batch.setNext(link)
        let isGiven = !batch.isOpen(to: context)
        _ = batch.takeNext()
        return isGiven && batch.isOpen(to: context)
      })
  }

  @Test func `a batch that was closed is open again when the next closure has run`() {
    #expect(
      isAnswered {
        var batch = self.batch()
        batch.close()
        let isClosed = !batch.isOpen(to: context)
        batch.hasRunOne()
        return isClosed && batch.isOpen(to: context)
      })
  }

  @Test
  func `a batch whose queue is suspended is closed, for all that come before the next closure`() {
    #expect(
      isAnswered {
        var batch = self.batch()
        queue.isSuspended = true
        let isClosed = !batch.isOpen(to: context)
        queue.isSuspended = false
        // Later continuations must not overtake the one that went another way.
        let isStillClosed = !batch.isOpen(to: context)
        batch.hasRunOne()
        return isClosed && isStillClosed && batch.isOpen(to: context)
      })
  }

  @Test func `the place of a batch is cancelled: a handler does not run, a link is given back`() {
    let place = Place()
    var batch = batch(place)
    batch.setNext(handler)
    place.isCancelled = true
    let dropped = batch.takeNext()
    batch.setNext(link)
    let kept = batch.takeNext()
    #expect(dropped == nil)
    #expect(kept != nil)
  }

  @Test func `a batch whose place was cancelled takes nothing more`() {
    let place = Place()
    place.isCancelled = true
    #expect(
      !isAnswered {
        var batch = self.batch(place)
        return batch.isOpen(to: context)
      })
  }

  @Test func `the place knows which link comes next, and of no handler`() {
    let place = Place()
    var batch = batch(place)
    batch.setNext(handler)
    #expect(place.next == nil)
    _ = batch.takeNext()
    batch.setNext(link)
    #expect(place.next === future)
  }

  @Test func `a batch ends after 128 closures, if it lasts that long`() {
    var batch = self.batch()
    for _ in 0..<128 { batch.hasRunOne() }
    let isOpen = batch.isOpen(to: context)
    #expect(!isOpen)
  }

  @Test func `a batch ends after a millisecond`() {
    var batch = self.batch()
    let end = DispatchTime.now().uptimeNanoseconds + 1_500_000
    while DispatchTime.now().uptimeNanoseconds < end {}
    let isOpen = batch.isOpen(to: context)
    #expect(!isOpen)
  }

  // MARK: The operation in the queue

  private func operation(_ continuation: Continuation) -> BatchOperation {
    BatchOperation(continuation, on: context)
  }

  private func isBroken(_ future: Future<Int>) -> Bool {
    if case ProperationsError.brokenPromise? = future.anyError as? ProperationsError { return true }
    return false
  }

  @Test func `one that is released unstarted breaks the promise of its link`() {
    do { _ = operation(link) }
    #expect(isBroken(future))
  }

  @Test func `one that is released unstarted leaves a handler's future alone`() {
    do { _ = operation(handler) }
    #expect(!future.isFulfilled)
  }

  @Test func `cancelling one cancels what runs there and what comes next`() {
    let (current, next) = (Promise<Int>(), Promise<Int>())
    let operation = operation(link)
    operation.current = current
    operation.next = next
    operation.cancel()
    #expect(current.isCancelled)
    #expect(next.isCancelled)
    #expect(!future.isFulfilled)
  }

  @Test func `a new one that runs there takes the place of the one that was to come next`() {
    let (current, next) = (Promise<Int>(), Promise<Int>())
    let operation = operation(link)
    operation.next = next
    operation.current = current
    #expect(operation.current === current)
    #expect(operation.next == nil)
  }

  @Test(arguments: [false, true])
  func `a handler's closure runs unless its operation was cancelled`(_ isCancelled: Bool) {
    let ran = TestLock(false)
    let operation = operation(
      .handler(of: future, reading: future, Work { _, _ in ran.withLock { $0 = true } }))
    if isCancelled { operation.cancel() }
    operation.start()
    #expect(ran.withLock { $0 } == !isCancelled)
    #expect(operation.isFinished)
  }

  @Test func `an operation takes name and priority over from its future`() {
    future.name = "named"
    future.queuePriority = .veryHigh
    let operation = operation(link)
    #expect(operation.name == "named")
    #expect(operation.queuePriority == .veryHigh)
  }

  // MARK: In a queue

  @Test
  func `what a closure settles on the side goes to the queue: it may block until that has run`()
    async throws
  {
    queue.maxConcurrentOperationCount = 2
    let (start, side, ran) = (Promise<Int>(), Promise<Int>(), DispatchSemaphore(value: 0))
    let consumer = side.mapToValue(on: queue) { _ in _ = ran.signal() }
    let link = start.mapToValue(on: queue) { _ in
      side.succeed(with: 1)
      return ran.wait(timeout: .now() + 60) == .success
    }
    start.succeed(with: 1)
    #expect(try await link.value)
    try await consumer.value
  }

  @Test func `the place knows, link by link, whose closure runs in it`() {
    let isOneBatch = isAnswered {
      let (start, context, links) = (Promise<Int>(), ManualContext(), Box<[AnyFuture]>([]))
      let seen = Log<[Bool]>()
      var last: Future<Int> = start
      for _ in 0..<3 {
        last = last.mapToValue(on: context) { number in
          seen.append(links.value.map { WorkLoop.isPlaceOccupied(by: $0) })
          return number
        }
        links.value += [last]
      }
      start.succeed(with: 1)
      context.runAll()
      #expect(
        seen.entries == [[true, false, false], [false, true, false], [false, false, true]])
      links.value = []
      return context.executeCount == 1
    }
    #expect(isOneBatch)
  }
}
