import Foundation
import Futures
import OperationBridge
import TestSupport
import Testing

@Suite("Futures among the operations of a queue", .timeLimit(.minutes(5)), .oneAtATime)
struct QueueCitizenshipTests {
  @Test("cancelAllOperations with a hundred pending futures: all are cancelled, the queue empties")
  func cancelAll() async throws {
    let queue = OperationQueue.make()
    let promises = (0..<100).map { _ in Promises.make(promising: Int.self, in: queue) }
    queue.cancelAllOperations()
    #expect(promises.allSatisfy { $0.result?.failureValue as? ProperationsError == .cancelled })
    #expect(await queue.isEmptyEventually())
  }

  @Test("cancelAllOperations, then another future: that one is not cancelled")
  func afterCancelAll() async throws {
    let queue = OperationQueue.make()
    let first = Promises.make(promising: Int.self, in: queue)
    queue.cancelAllOperations()
    let second = Promises.make(promising: Int.self, in: queue)
    #expect(first.isCancelled)
    #expect(!second.isFulfilled)
    second.succeed(with: 1)
    #expect(await queue.isEmptyEventually())
  }

  @Test("waitUntilAllOperationsAreFinished with pending futures: returns after they settle")
  func waitUntilAll() async throws {
    let queue = OperationQueue.make()
    let promises = (0..<10).map { _ in Promises.make(promising: Int.self, in: queue) }
    let (waiting, log) = (Event(), Log<String>())
    let done = Event()
    Thread.detachNewThread {
      waiting.signal()
      queue.waitUntilAllOperationsAreFinished()
      log.append(promises.allSatisfy { $0.isFinished } ? "all finished" : "too early")
      done.signal()
    }
    await waiting.opened()
    for promise in promises { promise.succeed(with: 1) }
    await done.opened()
    #expect(log.entries == ["all finished"])
  }

  @Test("A suspended queue: futures settle and finish at once, the queue empties on resumption")
  func suspended() async throws {
    let queue = OperationQueue.make(isSuspended: true)
    let promises = (0..<10).map { _ in Promises.make(promising: Int.self, in: queue) }
    for promise in promises { promise.succeed(with: 1) }
    #expect(promises.allSatisfy { $0.isFulfilled && $0.isFinished })
    queue.isSuspended = false
    #expect(await queue.isEmptyEventually())
  }

  @Test("Futures and plain operations added by four threads: all finish, the queue empties")
  func mixedWithPlain() async throws {
    let queue = OperationQueue.make(limit: 3)
    let ran = Log<Int>()
    let completions = Log<Int>()
    let threads = 4
    let done = (0..<threads).map { _ in Event() }
    for thread in 0..<threads {
      Thread.detachNewThread {
        for number in 0..<200 {
          switch (number + thread) % 4 {
          case 0:
            queue.addOperation { ran.append(number) }
          case 1:
            let promise = Promises.make(promising: Int.self)
            promise.completionBlock = { completions.append(number) }
            try? queue.addFuture(promise)
            DispatchQueue.global().async { promise.succeed(with: number) }
          case 2:
            let promise = Promises.make(promising: Int.self)
            promise.completionBlock = { completions.append(number) }
            queue.addOperation(promise)
            DispatchQueue.global().async { promise.succeed(with: number) }
          default:
            _ = queue.run { ran.append(number) }
          }
        }
        done[thread].signal()
      }
    }
    for event in done { await event.opened() }
    #expect(await eventually { ran.count == 400 && completions.count == 400 })
    #expect(await queue.isEmptyEventually())
    #expect(completions.count == 400)
  }

  @Test("Cancelling all against settling, from eight threads, 500 rounds: every future finishes")
  func raceCancelAll() async throws {
    struct Subject: Sendable {
      let queue = OperationQueue.make(limit: 2)
      let promises: Log<Promise<Int>> = Log()
      let blocking: Log<BlockingPromise<Int>> = Log()
    }
    let wrong = await race(rounds: 500) { _ in
      Subject()
    } _: { thread, subject in
      switch thread {
      case 0, 1:
        subject.queue.cancelAllOperations()
      case 2, 3:
        subject.blocking.append(
          Promises.makeBlocking(
            in: subject.queue, promising: Int.self, on: .global()
          ) { $0.succeed(with: thread) })
      default:
        let promise = Promises.make(promising: Int.self, in: subject.queue)
        subject.promises.append(promise)
        promise.succeed(with: thread)
      }
    } isRight: { subject in
      eventuallyBlocking {
        subject.queue.operationCount == 0 && subject.promises.entries.allSatisfy { $0.isFinished }
          && subject.blocking.entries.allSatisfy { $0.isFinished && $0.isFulfilled }
      }
    }
    #expect(wrong == nil)
  }

  @Test("A dependent plain operation in the same serial queue as a pending future: runs after it")
  func dependent() async throws {
    let queue = OperationQueue.make()
    let promise = Promises.make(promising: Int.self, in: queue)
    let ran = Event()
    let dependent = BlockOperation { ran.signal() }
    dependent.addDependency(promise)
    queue.addOperation(dependent)
    #expect(!dependent.isReady)
    promise.succeed(with: 1)
    await ran.opened()
    #expect(await queue.isEmptyEventually())
  }

  @Test("A future in a queue with a pending dependency, cancelled: leaves the queue")
  func cancelledWithDependency() async throws {
    let queue = OperationQueue.make()
    let never = BlockOperation {}
    let promise = Promises.make(promising: Int.self)
    promise.addDependency(never)
    try queue.addFuture(promise)
    promise.cancel()
    #expect(await eventually { queue.operationCount == 0 })
    #expect(promise.isFinished)
  }

  @Test("A future that settles while a queue takes it: leaves the queue")
  func settledWhileAdded() async {
    final class Hasty: Promise<Int>, @unchecked Sendable {
      private let reads = Counter()

      override var isReady: Bool {
        if reads.add() == 1 { succeed(with: 1) }
        return super.isReady
      }
    }
    let queue = OperationQueue.make()
    let promise = Hasty()
    queue.addOperation(promise)
    #expect(await queue.isEmptyEventually())
    #expect(promise.isFinished)
  }
}
