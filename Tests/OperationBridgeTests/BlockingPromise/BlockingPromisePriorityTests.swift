import Foundation
import Futures
import OperationBridge
import TestSupport
import Testing

@Suite("The priority of a blocking promise", .timeLimit(.minutes(5)), .oneAtATime)
struct BlockingPromisePriorityTests {
  /// Makes blocking promises that note their numbers when their closures run.
  private static func promises(_ count: Int, _ log: Log<Int>) -> [BlockingPromise<Int>] {
    (0..<count).map { number in
      BlockingPromise<Int>(on: .inline) { promise in
        log.append(number)
        promise.succeed(with: number)
      }
    }
  }

  @Test("Raised or lowered before addFuture: the queue starts them in the order of priority")
  func before() async throws {
    let queue = OperationQueue.make(isSuspended: true)
    let log = Log<Int>()
    let promises = Self.promises(3, log)
    promises[0].queuePriority = .veryLow
    promises[2].queuePriority = .veryHigh
    for promise in promises { try queue.addFuture(promise) }
    queue.isSuspended = false
    #expect(await queue.isEmptyEventually())
    #expect(log.entries == [2, 1, 0])
  }

  @Test("Raised or lowered after addFuture: the queue starts them in the order of priority")
  func after() async throws {
    let queue = OperationQueue.make(isSuspended: true)
    let log = Log<Int>()
    let promises = Self.promises(3, log)
    for promise in promises { try queue.addFuture(promise) }
    promises[0].queuePriority = .veryLow
    promises[2].queuePriority = .veryHigh
    #expect(promises[2].queuePriority == .veryHigh)
    queue.isSuspended = false
    #expect(await queue.isEmptyEventually())
    #expect(log.entries == [2, 1, 0])
  }

  @Test("Raised after makeBlocking, behind a running closure: starts before the others")
  func afterMakeBlocking() async throws {
    let queue = OperationQueue.make()
    let (started, goOn, log) = (Event(), Event(), Log<Int>())
    queue.addOperation {
      started.signal()
      goOn.wait()
    }
    #expect(await started.opened())
    let promises = (0..<3).map { number in
      Promises.makeBlocking(in: queue, promising: Int.self, on: .inline) { promise in
        log.append(number)
        promise.succeed(with: number)
      }
    }
    promises[2].queuePriority = .high
    goOn.signal()
    #expect(await queue.isEmptyEventually())
    #expect(log.entries == [2, 0, 1])
  }

  @Test("A block operation raised after it was added: Foundation starts it first, as a measure")
  func blockOperations() async throws {
    let queue = OperationQueue.make(isSuspended: true)
    let log = Log<Int>()
    let operations = (0..<3).map { number in BlockOperation { log.append(number) } }
    for operation in operations { queue.addOperation(operation) }
    operations[2].queuePriority = .veryHigh
    queue.isSuspended = false
    #expect(await queue.isEmptyEventually())
    #expect(log.entries == [2, 0, 1])
  }
}
