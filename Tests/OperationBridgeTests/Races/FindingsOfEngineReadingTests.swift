import Foundation
import Futures
import FuturesTestSupport
import OperationBridge
import TestSupport
import Testing

@Suite("What a reading of the engine found", .timeLimit(.minutes(5)), .oneAtATime)
struct FindingsOfEngineReadingTests {
  @Test("DispatchQueue.main, read twice, is one context: handlers run in their order")
  func mainQueueIsOne() async {
    let (promise, log) = (Promise<Int>(), Log<Int>())
    let main = DispatchQueue.main
    let future = promise.mapToValue(on: main) { $0 }
    let first = future.onSuccess(on: DispatchQueue.main) { _ in log.append(1) }
    let second = future.onSuccess(on: main) { _ in log.append(2) }
    promise.succeed(with: 1)
    _ = await (first.completion, second.completion)
    #expect(await eventually { log.count == 2 })
    #expect(log.entries == [1, 2])
  }

  private final class Shown: Promise<Int>, CustomReflectable, @unchecked Sendable {
    // Sendable: has no state.
    var customMirror: Mirror {
      Mirror(self, children: ["x": 1], ancestorRepresentation: .suppressed)
    }
  }

  @Test("A promise with a mirror of its own, whose readiness was read: finishes")
  func customMirror() async {
    let promise = Shown()
    _ = promise.isReady
    promise.succeed(with: 1)
    #expect(await eventually { promise.isFinished })
  }

  @Test("Scopes inside each other are released: the outer one cancels the future")
  func releasedInnerScopes() {
    let (promise, outer) = (Promise<Int>(), CancellationScope())
    do {
      let inner = outer.makeChild().makeChild()
      promise.cancelled(by: inner)
    }
    #expect(!promise.isCancelled)
    outer.cancel()
    #expect(promise.isCancelled)
  }

  private actor Ledger {
    nonisolated let executor: QueueSerialExecutor
    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }
    init(on queue: OperationQueue) { executor = queue.serialExecutor }
    func hold(_ begun: Event, _ gate: Event) {
      begun.signal()
      _ = gate.wait()
    }
  }

  @Test("An operation from the time of a higher limit runs beside an actor: it is not isolated")
  func operationBesideActor() async throws {
    let queue = OperationQueue.make(limit: 2)
    let ledger = Ledger(on: queue)
    let (jobBegun, operationBegun, ask, gate) = (Event(), Event(), Event(), Event())
    let operation = queue.run { () -> Bool? in
      operationBegun.signal()
      _ = ask.wait()
      return ledger.executor.isIsolatingCurrentContext()
    }
    #expect(await operationBegun.opened())
    let job = Task.detached { await ledger.hold(jobBegun, gate) }
    #expect(await jobBegun.opened())
    queue.maxConcurrentOperationCount = 1
    ask.signal()
    #expect(try await operation.value == false)
    gate.signal()
    await job.value
    #expect(try await queue.run { ledger.executor.isIsolatingCurrentContext() }.value == true)
  }

  @Test("Work is added while an empty queue is shut down: it runs before the end, or never")
  func addedMeanwhile() async {
    struct Subject: Sendable {
      let queue = OperationQueue.make()
      let isOver = Counter()
      let late = Counter()
    }
    let wrong = await race(rounds: 1_000) { _ in
      Subject()
    } _: { thread, subject in
      if thread == 0 {
        _ = subject.queue.run { if subject.isOver.value > 0 { subject.late.add() } }
      } else if thread == 1 {
        let left = try? subject.queue.shutDown(within: .seconds(10)).wait()
        if left?.isEmpty == true { subject.isOver.add() }
      }
    } isRight: { subject in
      eventuallyBlocking { subject.queue.operationCount == 0 } && subject.late.value == 0
    }
    #expect(wrong == nil)
  }
}
