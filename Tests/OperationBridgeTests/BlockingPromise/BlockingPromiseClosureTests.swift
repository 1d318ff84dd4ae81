import Foundation
import Futures
import OperationBridge
import TestSupport
import Testing

@Suite("The closure of a blocking promise", .timeLimit(.minutes(5)), .oneAtATime)
struct BlockingPromiseClosureTests {
  @Test("No context named: runs on the main actor")
  func mainByDefault() async throws {
    let queue = OperationQueue.make()
    let byFactory = Promises.makeBlocking(in: queue, promising: Int.self) { promise in
      MainActor.assertIsolated()
      promise.succeed(with: 1)
    }
    let byHand = BlockingPromise<Int> { promise in
      MainActor.assertIsolated()
      promise.succeed(with: 2)
    }
    try queue.addFuture(byHand)
    #expect(try await byFactory.value == 1)
    #expect(try await byHand.value == 2)
  }

  @Test("An operation queue named: runs on that queue, not in the slot")
  func onGivenQueue() async throws {
    let (queue, other) = (OperationQueue.make(), OperationQueue.make("other"))
    let promise = Promises.makeBlocking(
      in: queue, promising: String?.self, on: other
    ) { $0.succeed(with: OperationQueue.current?.name) }
    #expect(try await promise.value == "other")
  }

  @Test("A dispatch queue named: runs on that queue")
  func onDispatchQueue() async throws {
    let queue = OperationQueue.make()
    let target = DispatchQueue(label: "target")
    let promise = Promises.makeBlocking(
      in: queue, promising: Void.self, on: target
    ) {
      dispatchPrecondition(condition: .onQueue(target))
      $0.succeed()
    }
    try await promise.value
  }

  @Test("The promise's own queue named as context: settles, does not wait for its own slot")
  func onItsOwnQueue() async throws {
    let queue = OperationQueue.make()
    let promise = Promises.makeBlocking(
      in: queue, promising: Int.self, on: queue
    ) { $0.succeed(with: 1) }
    // With the value or an error that names the mistake, but it settles.
    #expect(await eventually { promise.isFulfilled })
    promise.cancel()
    #expect(await queue.isEmptyEventually())
  }

  @Test("Throws: the promise fails with that error, and the queue goes on")
  func throwing() async throws {
    let queue = OperationQueue.make()
    let promise = Promises.makeBlocking(
      in: queue, promising: Int.self, on: .inline
    ) { _ in throw Oops() }
    await #expect(throws: Oops.self) { try await promise.value }
    #expect(try await queue.run { "next" }.value == "next")
  }

  @Test("Throws after it has settled the promise: the settlement holds")
  func throwingTooLate() async throws {
    let queue = OperationQueue.make()
    let promise = Promises.makeBlocking(
      in: queue, promising: Int.self, on: .inline
    ) {
      $0.succeed(with: 1)
      throw Oops()
    }
    #expect(try await promise.value == 1)
  }

  @Test("Everybody loses the promise: it is broken, names its place, and the queue goes on")
  func lostPromise() async throws {
    let queue = OperationQueue.make()
    let consumer = Promises.makeBlocking(
      in: queue, promising: Int.self, on: .global()
    ) { _ in }.mapToValue(on: .inline) { $0 }
    let line = #line - 3
    let error = await consumer.completion.failureValue as? ProperationsError
    guard case .brokenPromise(let site)? = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(site.valueType == "Int")
    #expect(site.fileID.hasSuffix("BlockingPromiseClosureTests.swift"))
    #expect(site.line == line)
    #expect(try await queue.run { 2 }.value == 2)
  }

  @Test("Everybody loses the promise later, on another thread: broken as well")
  func lostLater() async throws {
    let queue = OperationQueue.make()
    let consumer = Promises.makeBlocking(in: queue, promising: Int.self) { promise in
      DispatchQueue.global().async { withExtendedLifetime(promise) {} }
    }.mapToValue(on: .inline) { $0 }
    let error = await consumer.completion.failureValue as? ProperationsError
    guard case .brokenPromise? = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(await queue.isEmptyEventually())
  }

  @Test("Ignores its promise, and somebody outside settles it: that counts, the queue goes on")
  func settledOutside() async throws {
    let queue = OperationQueue.make()
    let started = Event()
    let promise = Promises.makeBlocking(
      in: queue, promising: Int.self, on: .inline
    ) { _ in started.signal() }
    let next = queue.run { 2 }
    await started.opened()
    #expect(!promise.isFulfilled && promise.isExecuting && !next.isFulfilled)
    promise.succeed(with: 1)
    #expect(try await promise.value == 1)
    #expect(try await next.value == 2)
  }

  @Test("By a plain addOperation, ignores its promise, settled from outside: that counts")
  func settledOutsideAfterAddOperation() async throws {
    let queue = OperationQueue.make()
    let started = Event()
    let promise = BlockingPromise<Int>(on: .inline) { _ in started.signal() }
    queue.addOperation(promise)
    await started.opened()
    promise.succeed(with: 1)
    #expect(try await promise.value == 1)
    #expect(await queue.isEmptyEventually())
  }

  @Test("It is given the very promise that was made: settling here and there, the first wins")
  func samePromise() async throws {
    let queue = OperationQueue.make()
    let given = Protected<Promise<Int>?>(nil)
    let started = Event()
    let promise = Promises.makeBlocking(
      in: queue, promising: Int.self, on: .inline
    ) { promise in
      given.change { $0 = promise }
      started.signal()
    }
    await started.opened()
    #expect(given.value === promise)
    #expect(promise.succeed(with: 1))
    #expect(given.value?.succeed(with: 2) == false)
    #expect(try await promise.value == 1)
  }

  @Test("Its context drops the closure while the promise is held: fails, and the queue goes on")
  func droppedByContext() async throws {
    struct Dropping: ExecutionContext {
      func execute(_ operation: Operation) {}
    }
    let queue = OperationQueue.make()
    let promise = Promises.makeBlocking(
      in: queue, promising: Int.self, on: Dropping()
    ) { $0.succeed(with: 1) }
    let error = await promise.completion.failureValue as? ProperationsError
    guard case .brokenPromise? = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(try await queue.run { 2 }.value == 2)
  }

  @Test("Its promise is fulfilled from another future: the blocking promise follows")
  func fulfilledFromFuture() async throws {
    let queue = OperationQueue.make()
    let source = Promises.make(promising: Int.self)
    let started = Event()
    let promise = Promises.makeBlocking(
      in: queue, promising: Int.self, on: .inline
    ) {
      $0.fulfill(from: source)
      started.signal()
    }
    await started.opened()
    #expect(!promise.isFulfilled)
    #expect(queue.operationCount == 1)
    source.succeed(with: 3)
    #expect(try await promise.value == 3)
  }

  @Test("start() is called again by hand while it runs: the closure runs once")
  func startedTwice() async throws {
    let queue = OperationQueue.make()
    let (runs, started, goOn) = (Log<Int>(), Event(), Event())
    let promise = Promises.makeBlocking(
      in: queue, promising: Void.self, on: .global()
    ) {
      runs.append(1)
      started.signal()
      goOn.wait()
      $0.succeed()
    }
    await started.opened()
    promise.start()
    promise.start()
    goOn.signal()
    try await promise.value
    promise.start()
    #expect(runs.count == 1)
    #expect(await queue.isEmptyEventually())
  }

  @Test("Started by hand, in no queue: runs, settles and finishes")
  func startedByHand() async throws {
    let promise = BlockingPromise<Int>(on: .inline) { $0.succeed(with: 5) }
    let completed = Event()
    promise.completionBlock = { completed.signal() }
    promise.start()
    #expect(promise.result?.successValue == 5)
    #expect(promise.isFinished)
    await completed.opened()
    #expect(completed.isOpen)
  }
}
