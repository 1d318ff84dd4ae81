import Foundation
import Futures
import OperationBridge
import TestSupport
import Testing

/// What is behind a barrier waits for it, whatever other threads do to the queue.
@Suite("What a barrier holds back", .timeLimit(.minutes(5)), .oneAtATime)
struct BarrierHoldTests {
  /// An operation whose cancellation takes until something has happened, or a little longer.
  private final class SlowlyCancelled: Operation, @unchecked Sendable {
    // Sendable: nothing changes after init.
    private let event: Event
    init(until event: Event) { self.event = event }
    override func cancel() {
      super.cancel()
      _ = event.wait(.milliseconds(20))
    }
  }

  /// Goes on after a promise has settled, whether or not the task is cancelled.
  @Sendable private static func wait(for promise: Promise<Int>) async {
    await withCheckedContinuation { continuation in
      promise.onSuccess(on: .inline) { _ in continuation.resume() }
    }
  }

  @Test("A queue is suspended while a barrier is added: it stays suspended")
  func suspendedMeanwhile() async {
    let lost = await race(rounds: 2_000) { _ in
      OperationQueue.make(limit: -1)
    } _: {
      thread, queue in
      if thread == 0 { queue.isSuspended = true }
      if thread == 1 { _ = queue.run(barrier: true) {} }
    } isRight: { queue in
      let isSuspended = queue.isSuspended
      queue.isSuspended = false
      return isSuspended && eventuallyBlocking { queue.operationCount == 0 }
    }
    #expect(lost == nil)
  }

  @Test("Everything is cancelled while an async barrier runs: nothing behind it begins")
  func cancelledWhileItRuns() async {
    let (queue, begun, end, log) = (
      OperationQueue.make(limit: -1), Event(), Promise<Int>(), Log<Int>()
    )
    let barrier = queue.run(barrier: true) { () async in
      begun.signal()
      await Self.wait(for: end)
      log.append(0)
    }
    #expect(await begun.opened())
    let hasBegun = Event()
    let note = { @Sendable (number: Int) in
      log.append(number)
      hasBegun.signal()
    }
    queue.addOperation(SlowlyCancelled(until: hasBegun))
    queue.addOperation { note(1) }
    let closure = queue.run { note(2) }
    let other = queue.run { () async in note(3) }
    let blocking = BlockingPromise<Int>(on: .inline) { _ in note(4) }
    let add = { queue.addOperations([blocking], waitUntilFinished: false) }
    add()
    queue.cancelAllOperations()
    #expect(log.entries == [])
    #expect(barrier.isCancelled && closure.isCancelled && other.isCancelled)
    let last = queue.run { log.append(5) }
    end.succeed(with: 1)
    _ = await last.completion
    #expect(log.entries == [0, 5])
    #expect(await queue.isEmptyEventually())
  }

  @Test("Everything is cancelled behind an async closure that runs: later work waits for its end")
  func cancelledWhileItWaits() async {
    for count in [1, 2, 20] {
      let (queue, begun, end, log) = (
        OperationQueue.make(limit: -1), Event(), Promise<Int>(), Log<Int>()
      )
      _ = queue.run { () async in
        begun.signal()
        await Self.wait(for: end)
        log.append(0)
      }
      #expect(await begun.opened())
      let barriers = (0..<count).map { _ in queue.run(barrier: true) { log.append(1) } }
      queue.addOperation(SlowlyCancelled(until: Event()))
      queue.addOperation { log.append(2) }
      for _ in 0..<3 { queue.cancelAllOperations() }
      let last = queue.run { log.append(3) }
      #expect(!(await eventually(within: .milliseconds(20)) { last.isFulfilled }))
      end.succeed(with: 1)
      _ = await last.completion
      #expect(barriers.allSatisfy { $0.isCancelled })
      #expect(log.entries == [0, 3])
      #expect(await queue.isEmptyEventually())
    }
  }

  @Test("20 barriers one behind the other in a suspended queue: few operations, in their order")
  func row() async throws {
    let queue = OperationQueue.make(limit: 1, isSuspended: true)
    let log = Log<Int>()
    let barriers = (0..<20).map { number in queue.run(barrier: true) { log.append(number) } }
    #expect(queue.operationCount < 40)
    queue.isSuspended = false
    for barrier in barriers { try await barrier.value }
    #expect(log.entries == Array(0..<20))
    #expect(await queue.isEmptyEventually())
  }

  @Test("A queue is suspended between two barriers: the second one waits")
  func suspendedBetween() async throws {
    let queue = OperationQueue.make(limit: -1)
    let (goOn, begun, log) = (Event(), Event(), Log<Int>())
    queue.addOperation { _ = goOn.wait() }
    let first = queue.run(barrier: true) {
      queue.isSuspended = true
      begun.signal()
    }
    let second = queue.run(barrier: true) { log.append(2) }
    goOn.signal()
    try await first.value
    #expect(!(await eventually(within: .milliseconds(20)) { second.isFulfilled }))
    queue.isSuspended = false
    try await second.value
    #expect(await queue.isEmptyEventually())
  }
}
