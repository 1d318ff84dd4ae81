import Foundation
import Futures
import OperationBridge
import TestSupport
import Testing

@Suite("A future of an operation", .timeLimit(.minutes(5)), .oneAtATime)
struct AwaitingOperationTests {
  /// An operation with something to show for itself.
  final class Render: Operation, @unchecked Sendable {
    private let output = Protected<Int?>(nil)
    let goOn = Event()
    let started = Event()
    var image: Int? { output.value }

    override func main() {
      started.signal()
      goOn.wait()
      output.change { $0 = 42 }
    }
  }

  @Test("Finished before: the closure gets the operation, its value is the result")
  func finishedBefore() async throws {
    let render = Render()
    render.goOn.signal()
    render.start()
    #expect(render.isFinished)
    let future = Promises.make(awaitingCompletionOf: render, on: .global()) { $0.image }
    #expect(try await future.value == 42)
    #expect(render.future.isFulfilled)
  }

  @Test("Running: settles when it has finished, not before")
  func running() async throws {
    let (queue, render) = (OperationQueue.make(), Render())
    queue.addOperation(render)
    await render.started.opened()
    let future = Promises.make(awaitingCompletionOf: render, on: .global()) { $0.image }
    #expect(!future.isFulfilled)
    render.goOn.signal()
    #expect(try await future.value == 42)
  }

  @Test("Started later: settles then")
  func later() async throws {
    let (queue, render) = (OperationQueue.make(), Render())
    let future = Promises.make(awaitingCompletionOf: render, on: .inline) { $0.image }
    render.goOn.signal()
    queue.addOperation(render)
    #expect(try await future.value == 42)
  }

  @Test("No context named: the closure runs on the main actor")
  func mainByDefault() async throws {
    let (queue, render) = (OperationQueue.make(), Render())
    render.goOn.signal()
    let future = Promises.make(awaitingCompletionOf: render) { render in
      MainActor.assertIsolated()
      return render.image
    }
    queue.addOperation(render)
    #expect(try await future.value == 42)
  }

  @Test("The closure throws: the future fails with that error")
  func throwing() async throws {
    let queue = OperationQueue.make()
    let operation = BlockOperation {}
    let future: Future<Int> = Promises.make(awaitingCompletionOf: operation, on: .inline) { _ in
      throw Oops()
    }
    queue.addOperation(operation)
    await #expect(throws: Oops.self) { try await future.value }
  }

  @Test("Cancelled while queued: the future is cancelled, the closure does not run")
  func cancelledWhileQueued() async throws {
    let queue = OperationQueue.make(isSuspended: true)
    let (operation, runs) = (BlockOperation {}, Log<Int>())
    let future = Promises.make(awaitingCompletionOf: operation, on: .inline) { _ in runs.append(1) }
    queue.addOperation(operation)
    operation.cancel()
    queue.isSuspended = false
    #expect(await future.completion.failureValue as? ProperationsError == .cancelled)
    #expect(future.isCancelled)
    #expect(runs.count == 0)
  }

  @Test("Cancelled and never enqueued: pending until somebody starts it, then cancelled")
  func cancelledNeverEnqueued() async throws {
    let operation = BlockOperation {}
    let future = operation.future
    operation.cancel()
    operation.start()
    #expect(await future.completion.failureValue as? ProperationsError == .cancelled)
  }

  @Test("Cancelled, but it does not care and finishes: the future is cancelled")
  func cancelledWhileRunning() async throws {
    let (queue, render) = (OperationQueue.make(), Render())
    let future = Promises.make(awaitingCompletionOf: render, on: .inline) { $0.image }
    queue.addOperation(render)
    await render.started.opened()
    render.cancel()
    #expect(!future.isFulfilled)
    render.goOn.signal()
    #expect(await future.completion.failureValue as? ProperationsError == .cancelled)
  }

  @Test("The future is cancelled: the operation is left alone, and runs")
  func futureCancelled() async throws {
    let (queue, render) = (OperationQueue.make(), Render())
    let future = render.future
    future.cancel()
    #expect(!render.isCancelled)
    render.goOn.signal()
    queue.addOperation(render)
    #expect(await eventually { render.image == 42 })
    #expect(future.isCancelled)
  }

  @Test("An operation that is itself a future: settles when that one does, or is cancelled with it")
  func futureOfFuture() async throws {
    let (promise, other) = (Promises.make(promising: Int.self), Promises.make(promising: Int.self))
    let (future, cancelled) = (promise.future, other.future)
    let value = Promises.make(awaitingCompletionOf: promise, on: .inline) {
      $0.result?.successValue
    }
    promise.succeed(with: 3)
    other.cancel()
    try await future.value
    #expect(try await value.value == 3)
    #expect(await cancelled.completion.failureValue as? ProperationsError == .cancelled)
  }

  @Test("Several futures of one operation: all settle")
  func several() async throws {
    let (queue, operation) = (OperationQueue.make(), BlockOperation {})
    let futures = (0..<100).map { _ in operation.future }
    queue.addOperation(operation)
    _ = try await Promises.collect(futures).value
  }

  @Test("10,000 operations: every future settles")
  func many() async throws {
    let queue = OperationQueue.make(limit: 4)
    let operations = (0..<10_000).map { _ in BlockOperation {} }
    let futures = operations.map { $0.future }
    // In portions: the queue itself is slow with many.
    for start in stride(from: 0, to: operations.count, by: 100) {
      for operation in operations[start..<start + 100] { queue.addOperation(operation) }
      #expect(await queue.isEmptyEventually())
    }
    _ = try await Promises.collect(futures).value
    #expect(operations.allSatisfy { $0.isFinished })
    #expect(operations.allSatisfy { $0.dependencies.isEmpty })
  }
}
