import Foundation
import Futures
import OperationBridge
import TestSupport
import Testing

@Suite("The names of Properations, for operations", .timeLimit(.minutes(5)), .oneAtATime)
struct SeedNamesTests {
  /// The five ways to make a blocking promise, keyed by the text after `makeBlocking`.
  @available(*, deprecated)
  private func blockingPromises(
    in queue: OperationQueue, _ task: @escaping @Sendable (Promise<Int>) -> Void
  ) -> [String: Promise<Int>] {
    let other = OperationQueue()
    return [
      "(on:promising:executionQueue:executionTask:)": Promises.makeBlocking(
        on: queue, promising: Int.self, executionQueue: other, executionTask: task),
      "(on:promising:executionTask:)": Promises.makeBlocking(
        on: queue, promising: Int.self, executionTask: task),
      "(on:executionQueue:executionTask:)": Promise<Int>.makeBlocking(
        on: queue, executionQueue: other, executionTask: task),
      "(on:executionTask:)": Promise<Int>.makeBlocking(on: queue, executionTask: task),
    ]
  }

  @available(*, deprecated)
  @Test("A blocking promise occupies its queue until it is settled, one at a time")
  func blocking() async throws {
    let (queue, overlap) = (OperationQueue.make(), Overlap())
    let promises = blockingPromises(in: queue) { promise in
      overlap.enter()
      DispatchQueue.global().async {
        overlap.leave()
        promise.succeed(with: 1)
      }
    }
    for (spelling, promise) in promises {
      #expect(try await promise.value == 1, "makeBlocking\(spelling)")
    }
    #expect(overlap.most == 1)
    #expect(await queue.isEmptyEventually())
  }

  @available(*, deprecated)
  @Test("Its task runs on the execution queue, which is the main queue by default")
  func executionQueue() async throws {
    let (queue, other) = (OperationQueue.make(), OperationQueue.make("other"))
    let named = Promises.makeBlocking(
      on: queue, promising: String?.self, executionQueue: other
    ) { promise in promise.succeed(with: OperationQueue.current?.name) }
    #expect(try await named.value == "other")
    let main = Promises.makeBlocking(
      on: queue, promising: Bool.self,
      executionTask: { promise in
        MainActor.assertIsolated()
        promise.succeed(with: OperationQueue.current === OperationQueue.main)
      })
    #expect(try await main.value)
  }

  @available(*, deprecated)
  @Test("Without a task it occupies the queue until other code settles it")
  func noTask() async throws {
    let (queue, next) = (OperationQueue.make(), Event())
    let promise = Promises.makeBlocking(on: queue, promising: Int.self, executionTask: { _ in })
    let behind = queue.run { next.signal() }
    #expect(await eventually { promise.isExecuting })
    #expect(!next.isOpen)
    promise.succeed(with: 1)
    try await behind.value
    #expect(next.isOpen)
  }

  @available(*, deprecated)
  @Test("The class's old name and initialiser: the block runs where the promise executes")
  func executionBlock() async throws {
    let queue = OperationQueue.make("own")
    let promise = BlockingPromiseOperation<String?>(executionBlock: { promise in
      promise.succeed(with: OperationQueue.current?.name)
    })
    try queue.addFuture(promise)
    #expect(try await promise.value == "own")
  }

  /// The two ways to make a future of an operation's outcome.
  @available(*, deprecated)
  private func outcomes<Success: Sendable>(
    of operation: Operation, on queue: OperationQueue? = nil, executionQueue: OperationQueue,
    _ outcome: @escaping @Sendable (Operation) throws -> Success
  ) -> [Future<Success>] {
    [
      Promises.make(
        on: queue, awaitingCompletionOf: operation, executionQueue: executionQueue,
        completionHandler: outcome),
      Promise<Success>.make(
        on: queue, awaitingCompletionOf: operation, executionQueue: executionQueue,
        completionHandler: outcome),
    ]
  }

  @available(*, deprecated)
  @Test("The outcome of an operation is what the handler returns or throws, on its queue")
  func outcome() async throws {
    let (queue, other) = (OperationQueue.make(), OperationQueue.make("other"))
    let operation = BlockOperation {}
    let names = outcomes(of: operation, executionQueue: other) { finished in
      finished.isFinished ? OperationQueue.current?.name : nil
    }
    let failures = outcomes(of: operation, executionQueue: other) { _ -> Int in
      throw TestError.first
    }
    queue.addOperation(operation)
    for name in names { #expect(try await name.value == "other") }
    for failure in failures {
      #expect(await failure.completion.failureValue as? TestError == .first)
    }
  }

  @available(*, deprecated)
  @Test("The handler runs for a cancelled operation, too")
  func cancelledOperation() async throws {
    let queue = OperationQueue.make(isSuspended: true)
    let operation = BlockOperation {}
    let outcomes = outcomes(of: operation, executionQueue: .make()) { $0.isCancelled }
    queue.addOperation(operation)
    operation.cancel()
    queue.isSuspended = false
    for outcome in outcomes { #expect(try await outcome.value) }
  }

  @available(*, deprecated)
  @Test("The future belongs to the queue that is named, and runs nothing once cancelled")
  func membership() async throws {
    let (queue, ran) = (OperationQueue.make(), Counter())
    let (operation, other) = (BlockOperation {}, OperationQueue.make())
    let futures = outcomes(of: operation, on: queue, executionQueue: other) { _ in ran.add() }
    queue.cancelAllOperations()
    #expect(futures.map(\.isCancelled) == [true, true])
    try await Promises.run(on: other) { operation.start() }.value
    _ = try await other.run(barrier: true) {}.value
    #expect(ran.value == 0)
  }

  @available(*, deprecated)
  @Test("Without labels of queues the form of today is taken, and the handler runs on main")
  func defaults() async throws {
    let operation = BlockOperation {}
    let future = Promises.make(
      awaitingCompletionOf: operation,
      completionHandler: { _ in OperationQueue.current === OperationQueue.main })
    OperationQueue.make().addOperation(operation)
    #expect(try await future.value)
  }

  @available(*, deprecated)
  @Test("What combines operations waits for all, successful or not, then calls the handler")
  func byCombining() async throws {
    let (queue, promise) = (OperationQueue.make(), Promises.make(promising: Int.self))
    let (first, second) = (BlockOperation {}, BlockOperation {})
    let future = Promises.makeFuture(byCombining: [first, promise, second]) {
      [first.isFinished, promise.isFinished, second.isCancelled]
    }
    second.cancel()
    queue.addOperation(first)
    queue.addOperation(second)
    _ = try await queue.run(barrier: true) {}.value
    #expect(!future.isFulfilled)
    promise.fail(with: TestError.first)
    #expect(try await future.value == [true, true, true])

    let failed = Promises.makeFuture(byCombining: []) { () throws -> Int in throw TestError.second }
    #expect(await failed.completion.failureValue as? TestError == .second)
  }
}
