import Foundation
import Futures
import OperationBridge
import TestSupport
import Testing

@Suite("Cancelling a blocking promise", .timeLimit(.minutes(5)), .oneAtATime)
struct BlockingPromiseCancellationTests {
  /// A blocking promise that runs and waits for somebody to settle it.
  private struct Running {
    let queue = OperationQueue.make()
    let started = Event()
    let producerWasTold = Event()
    let write = Protected<Promise<Int>?>(nil)
    let promise: BlockingPromise<Int>

    init() async {
      promise = Promises.makeBlocking(
        in: queue, promising: Int.self, on: .global()
      ) { [write, started, producerWasTold] promise in
        promise.onCancellationRequest { producerWasTold.signal() }
        write.change { $0 = promise }
        started.signal()
      }
      await started.opened()
    }
  }

  @Test("Queued behind another: settles at once, its closure never runs, the queue empties")
  func whileQueued() async throws {
    let running = await Running()
    let runs = Log<Int>()
    let queued = Promises.makeBlocking(
      in: running.queue, promising: Int.self, on: .inline
    ) {
      runs.append(1)
      $0.succeed(with: 1)
    }
    queued.cancel()
    #expect(queued.isFulfilled)
    #expect(queued.isCancelled)
    #expect(queued.result?.failureValue as? ProperationsError == .cancelled)
    running.write.value?.succeed(with: 0)
    #expect(await running.queue.isEmptyEventually())
    #expect(runs.count == 0)
    #expect(queued.isFinished)
  }

  @Test("Running: settles at once, tells the closure's producer, and frees the queue")
  func whileRunning() async throws {
    let running = await Running()
    let next = running.queue.run { "next" }
    running.promise.cancel()
    #expect(running.promise.result?.failureValue as? ProperationsError == .cancelled)
    #expect(running.producerWasTold.isOpen)
    #expect(running.write.value?.succeed(with: 1) == false)
    #expect(try await next.value == "next")
    #expect(await running.queue.isEmptyEventually())
  }

  @Test("Running, and its closure watches the promise it was given: the producer is told")
  func whileTheClosureWatches() async throws {
    let queue = OperationQueue.make()
    let (started, told) = (Event(), Event())
    let promise = Promises.makeBlocking(
      in: queue, promising: Int.self, on: .global()
    ) { promise in
      promise.onCancellationRequest { told.signal() }
      promise.onCompletion(on: .inline) { _ in }
      DispatchQueue.global().async {
        started.signal()
        // Holds the write end until it is told to stop, or for too long.
        _ = eventuallyBlocking { promise.isFulfilled }
      }
    }
    await started.opened()
    promise.cancel()
    #expect(await eventually { told.isOpen })
  }

  @Test("A consumer of it, the only one, is cancelled: the producer is told, the queue freed")
  func throughAConsumer() async throws {
    let running = await Running()
    let consumer = running.promise.mapToValue(on: .inline) { $0 + 1 }
    consumer.cancel()
    #expect(running.promise.isCancelled)
    #expect(running.producerWasTold.isOpen)
    #expect(await running.queue.isEmptyEventually())
  }

  // (Cancelling the running one frees its slot, so the queue may just start the
  // next before the cancellation gets to it.)
  @Test("cancelAllOperations with one running and five queued: all settle, the queue empties")
  func cancelAll() async throws {
    let running = await Running()
    let runs = Log<Int>()
    let queued = (0..<5).map { number in
      Promises.makeBlocking(in: running.queue, promising: Int.self, on: .inline) {
        runs.append(number)
        $0.succeed(with: number)
      }
    }
    running.queue.cancelAllOperations()
    #expect(running.promise.isCancelled)
    #expect(running.producerWasTold.isOpen)
    #expect(await running.queue.isEmptyEventually())
    #expect(queued.allSatisfy { $0.isFulfilled })
    #expect(queued.count { $0.isCancelled } + runs.count >= 5)
  }

  @Test("cancelAllOperations on a suspended queue: all settle at once, finish on resumption")
  func cancelAllSuspended() async throws {
    let queue = OperationQueue.make(isSuspended: true)
    let promises = (0..<5).map { number in
      Promises.makeBlocking(in: queue, promising: Int.self, on: .inline) {
        $0.succeed(with: number)
      }
    }
    queue.cancelAllOperations()
    #expect(promises.allSatisfy { $0.isCancelled && $0.isFulfilled })
    queue.isSuspended = false
    #expect(await queue.isEmptyEventually())
    #expect(promises.allSatisfy { $0.isFinished })
  }

  @Test("Started, and the closure still waits for its context: it never runs, and is released")
  func whileTheClosureWaits() async throws {
    let (queue, context) = (OperationQueue.make(), OperationQueue.make("late", isSuspended: true))
    let runs = Log<Int>()
    var canary: Canary? = Canary()
    let reference = WeakReference(canary!)
    let promise = Promises.makeBlocking(
      in: queue, promising: Int.self, on: context
    ) { [canary] promise in
      canary?.sing()
      runs.append(1)
      promise.succeed(with: 1)
    }
    canary = nil
    #expect(await eventually { context.operationCount == 1 })
    promise.cancel()
    #expect(await queue.isEmptyEventually())
    #expect(await eventually { reference.isGone })
    context.isSuspended = false
    #expect(await context.isEmptyEventually())
    #expect(runs.count == 0)
  }

  @Test("Settled from outside before it starts: keeps that value, the closure never runs")
  func settledBeforeItStarts() async throws {
    let queue = OperationQueue.make(isSuspended: true)
    let runs = Log<Int>()
    let promise = Promises.makeBlocking(
      in: queue, promising: Int.self, on: .inline
    ) {
      runs.append(1)
      $0.succeed(with: 1)
    }
    #expect(promise.succeed(with: 7))
    queue.isSuspended = false
    #expect(await queue.isEmptyEventually())
    #expect(try await promise.value == 7)
    #expect(runs.count == 0)
  }

  @Test("Settled from outside while it runs: frees the queue, the closure's settlement is refused")
  func settledWhileItRuns() async throws {
    let running = await Running()
    #expect(running.promise.succeed(with: 7))
    #expect(await running.queue.isEmptyEventually())
    #expect(running.write.value?.succeed(with: 1) == false)
    #expect(try await running.promise.value == 7)
  }

  @Test("Cancelled before it is added by hand: addFuture takes it, and nothing runs")
  func cancelledBeforeAdded() async throws {
    let queue = OperationQueue.make()
    let runs = Log<Int>()
    let promise = BlockingPromise<Int>(on: .inline) {
      runs.append(1)
      $0.succeed(with: 1)
    }
    promise.cancel()
    #expect(promise.isFinished)
    try queue.addFuture(promise)
    #expect(queue.operationCount == 0)
    #expect(runs.count == 0)
  }

  @Test("Its closure, or one that a queue runs, throws CancellationError: it is cancelled")
  func thrownCancellation() async {
    let queue = OperationQueue.make()
    let futures: [Future<Int>] = [
      Promises.makeBlocking(in: queue, promising: Int.self, on: .inline) { _ in
        throw CancellationError()
      },
      queue.run { throw CancellationError() },
    ]
    for future in futures {
      #expect(await future.completion.failureValue as? ProperationsError == .cancelled)
      #expect(future.isCancelled)
    }
    #expect(await queue.isEmptyEventually())
  }
}
