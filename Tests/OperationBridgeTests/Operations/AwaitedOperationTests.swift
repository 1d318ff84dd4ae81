import Foundation
import Futures
import OperationBridge
import TestSupport
import Testing

@Suite(
  "An operation that a future waits for is not disturbed", .timeLimit(.minutes(5)), .oneAtATime)
struct AwaitedOperationTests {
  @Test("Its own completion block, set before or after: runs once in either case")
  func completionBlock() async throws {
    for isSetBefore in [true, false] {
      let (queue, operation, runs) = (OperationQueue.make(), BlockOperation {}, Log<Int>())
      if isSetBefore { operation.completionBlock = { runs.append(1) } }
      let future = operation.future
      if !isSetBefore { operation.completionBlock = { runs.append(1) } }
      queue.addOperation(operation)
      try await future.value
      #expect(await eventually { runs.count == 1 })
    }
  }

  @Test("Its dependents and barriers: run after it as without us")
  func dependentsAndBarriers() async throws {
    let queue = OperationQueue.make(limit: 4)
    let (log, goOn, done) = (Log<String>(), Event(), Event())
    let operation = BlockOperation {
      goOn.wait()
      log.append("operation")
    }
    let future = operation.future
    let dependent = BlockOperation { log.append("dependent") }
    dependent.addDependency(operation)
    queue.addOperation(operation)
    queue.addOperation(dependent)
    queue.addBarrierBlock {
      log.append("barrier")
      done.signal()
    }
    goOn.signal()
    await done.opened()
    try await future.value
    #expect(log.entries == ["operation", "dependent", "barrier"])
  }

  @Test("Adds nothing to its queue or its dependencies")
  func addsNothing() async throws {
    let queue = OperationQueue.make(isSuspended: true)
    let operation = BlockOperation {}
    queue.addOperation(operation)
    let future = operation.future
    #expect(queue.operationCount == 1)
    #expect(operation.dependencies.isEmpty)
    queue.isSuspended = false
    try await future.value
    #expect(await queue.isEmptyEventually())
  }

  @Test("Finished, and its future settled: both are released")
  func released() async throws {
    let queue = OperationQueue.make()
    var operation: BlockOperation? = BlockOperation {}
    var future: Future<Void>? = operation!.future
    let references = [WeakReference(operation!), WeakReference(future!)]
    queue.addOperation(operation!)
    try await future!.value
    (operation, future) = (nil, nil)
    #expect(await eventually { references.allSatisfy { $0.isGone } })
  }

  @Test("Never started, and its future cancelled: both are released")
  func releasedUnstarted() async throws {
    var operation: BlockOperation? = BlockOperation {}
    var future: Future<Void>? = operation!.future
    let references = [WeakReference(operation!), WeakReference(future!)]
    future!.cancel()
    (operation, future) = (nil, nil)
    #expect(await eventually { references.allSatisfy { $0.isGone } })
  }

  @Test("Finishing against cancelling the future, 2,000 rounds: settles once, nothing crashes")
  func raceFinishAndCancel() async throws {
    struct Subject: Sendable {
      let operation: BlockOperation
      let futures: [Future<Void>]
      init() {
        operation = BlockOperation {}
        futures = [operation.future, operation.future, operation.future]
      }
    }
    let wrong = await race(rounds: 2000, threads: 4) { _ in
      Subject()
    } _: { thread, subject in
      if thread == 0 { subject.operation.start() } else { subject.futures[thread - 1].cancel() }
    } isRight: { subject in
      subject.operation.isFinished && subject.futures.allSatisfy { $0.isFulfilled }
        && !subject.operation.isCancelled
    }
    #expect(wrong == nil)
  }

  @Test("Asking for futures while it finishes, 8 threads, 2,000 rounds: every one settles")
  func raceAskAndFinish() async throws {
    struct Subject: Sendable {
      let operation = BlockOperation {}
      let futures = Log<Future<Void>>()
    }
    let wrong = await race(rounds: 2000) { _ in
      Subject()
    } _: { thread, subject in
      if thread == 0 {
        subject.operation.start()
      } else {
        subject.futures.append(subject.operation.future)
      }
    } isRight: { subject in
      eventuallyBlocking {
        subject.futures.entries.allSatisfy { $0.isFulfilled }
      }
    }
    #expect(wrong == nil)
  }
}
