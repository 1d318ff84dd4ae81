import Foundation
import Futures
import OperationBridge
import TestSupport
import Testing

@Suite("A blocking promise as an operation", .timeLimit(.minutes(5)), .oneAtATime)
struct BlockingPromiseOperationTests {
  @Test("Queued, running, settled: isReady, isExecuting, isFinished and result agree")
  func states() async throws {
    let queue = OperationQueue.make(isSuspended: true)
    let (started, goOn) = (Event(), Event())
    let promise = BlockingPromise<Int>(on: .global()) {
      started.signal()
      goOn.wait()
      $0.succeed(with: 1)
    }
    #expect(promise.isAsynchronous)
    try queue.addFuture(promise)
    #expect(promise.isReady)
    #expect(!promise.isExecuting && !promise.isFinished && promise.result == nil)
    queue.isSuspended = false
    await started.opened()
    #expect(promise.isExecuting && !promise.isFinished && promise.result == nil)
    goOn.signal()
    _ = try await promise.value
    #expect(await eventually { promise.isFinished })
    #expect(!promise.isExecuting)
    #expect(promise.result?.successValue == 1)
    #expect(!promise.isCancelled)
  }

  @Test("Enqueued by a plain addOperation: runs, completes and leaves the queue")
  func plainAddOperation() async throws {
    let queue = OperationQueue.make()
    let completed = Event()
    let promise = BlockingPromise<Int>(on: .global()) { $0.succeed(with: 4) }
    promise.completionBlock = { completed.signal() }
    queue.addOperation(promise)
    #expect(try await promise.value == 4)
    await completed.opened()
    #expect(completed.isOpen)
    #expect(await queue.isEmptyEventually())
  }

  @Test("addOperations, several and waiting: returns when all have settled")
  func addOperationsWaiting() async throws {
    let queue = OperationQueue.make()
    let promises = (0..<5).map { number in
      BlockingPromise<Int>(on: .global()) { $0.succeed(with: number) }
    }
    let done = Event()
    Thread.detachNewThread {
      queue.addOperations(promises, waitUntilFinished: true)
      done.signal()
    }
    await done.opened()
    #expect(promises.map { $0.result?.successValue } == [0, 1, 2, 3, 4])
  }

  @Test("As a dependency of a plain operation on another queue: that one runs after it")
  func asADependency() async throws {
    let (queue, other) = (OperationQueue.make(), OperationQueue.make("other"))
    let (write, started) = (Protected<Promise<Void>?>(nil), Event())
    let promise = Promises.makeBlocking(
      in: queue, promising: Void.self, on: .global()
    ) { promise in
      write.change { $0 = promise }
      started.signal()
    }
    let ran = Event()
    let dependent = BlockOperation { ran.signal() }
    dependent.addDependency(promise)
    other.addOperation(dependent)
    await started.opened()
    #expect(!dependent.isReady)
    write.value?.succeed()
    await ran.opened()
    #expect(ran.isOpen)
  }

  @Test("With a dependency of its own: the closure waits for it")
  func withADependency() async throws {
    let queue = OperationQueue.make(limit: 2)
    let (goOn, log) = (Event(), Log<String>())
    let before = BlockOperation {
      goOn.wait()
      log.append("before")
    }
    let promise = BlockingPromise<Void>(on: .inline) {
      log.append("promise")
      $0.succeed()
    }
    promise.addDependency(before)
    try queue.addFuture(promise)
    queue.addOperation(before)
    #expect(!promise.isReady)
    goOn.signal()
    try await promise.value
    #expect(log.entries == ["before", "promise"])
    #expect(await eventually { promise.dependencies.isEmpty })
  }

  @Test("With a dependency that is pending, cancelled: settles and leaves the queue")
  func cancelledWithADependency() async throws {
    let queue = OperationQueue.make()
    let never = BlockOperation {}
    let promise = BlockingPromise<Void>(on: .inline) { $0.succeed() }
    promise.addDependency(never)
    try queue.addFuture(promise)
    promise.cancel()
    #expect(await queue.isEmptyEventually())
    #expect(promise.isFinished)
  }

  @Test("waitUntilAllOperationsAreFinished with ten: returns when all have settled")
  func waitUntilAll() async throws {
    let queue = OperationQueue.make()
    let promises = (0..<10).map { number in
      Promises.makeBlocking(in: queue, promising: Int.self, on: .inline) {
        promise in
        DispatchQueue.global().async { promise.succeed(with: number) }
      }
    }
    let done = Event()
    Thread.detachNewThread {
      queue.waitUntilAllOperationsAreFinished()
      done.signal()
    }
    await done.opened()
    #expect(promises.allSatisfy { $0.isFulfilled })
  }

  @Test("Completion block of each of 300: runs exactly once")
  func completionBlocks() async throws {
    let queue = OperationQueue.make(limit: 4)
    let completions = Log<Int>()
    for number in 0..<300 {
      let promise = BlockingPromise<Void>(on: .inline) { $0.succeed() }
      promise.completionBlock = { completions.append(number) }
      if number % 3 == 0 { queue.addOperation(promise) } else { try queue.addFuture(promise) }
      if number % 5 == 0 { promise.cancel() }
    }
    #expect(await eventually { completions.count == 300 })
    #expect(Set(completions.entries).count == 300)
    #expect(await queue.isEmptyEventually())
    #expect(completions.count == 300)
  }

  @Test("A name: is the operation's and appears in the description")
  func named() async throws {
    let promise = BlockingPromise<Int>(name: "compress", on: .inline) {
      $0.succeed(with: 1)
    }
    #expect(promise.name == "compress")
    #expect(promise.debugDescription.contains("compress"))
    promise.cancel()
  }
}
