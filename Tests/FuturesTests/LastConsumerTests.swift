import Foundation
import Futures
import TestSupport
import Testing

/// How long something may take that the library has to do.
private let patience = Event.patience

/// A producer is told to stop when the last consumer has gone.
@Suite("The last one who wants the value", .timeLimit(.minutes(5)), .oneAtATime)
struct LastConsumerTests {
  /// A promise, something that waits for it, and a consumer.
  private struct Scene: Sendable {
    let promise = Promise<Int>()
    let awaited: Future<Int>
    let consumer: Future<Int>
    let told = Event()

    /// - Parameter isLink: Whether what is awaited is made from the promise.
    init(awaitingALink isLink: Bool) {
      let told = told
      promise.onCancellationRequest { told.signal() }
      awaited = isLink ? promise.mapToValue(on: .inline) { $0 } : promise
      consumer = awaited.mapToValue(on: .inline) { $0 }
    }
  }

  /// How a task waits.
  enum Awaiting: CaseIterable, Sendable {
    case value
    case completion

    func wait(for future: Future<Int>) async {
      switch self {
      case .value: _ = try? await future.value
      case .completion: _ = await future.completion
      }
    }
  }

  /// Starts a task that waits, and returns once it does.
  private func task(_ awaiting: Awaiting, for future: Future<Int>) async -> Task<Void, Never> {
    let executor = SuspensionExecutor()
    let task = Task(executorPreference: executor) { await awaiting.wait(for: future) }
    await executor.suspended.opened()
    return task
  }

  @Test(arguments: [false, true])
  func `the consumer cancels first, the blocking wait times out second: the producer is told`(
    _ isLink: Bool
  ) async {
    let scene = Scene(awaitingALink: isLink)
    let (isWaiting, result) = (Event(), Promise<Int>())
    let thread = Thread {
      isWaiting.signal()
      result.fulfill(with: FutureResult { try scene.awaited.wait(timeout: .milliseconds(300)) })
    }
    thread.start()
    #expect(await isWaiting.opened())
    // Without the wait, the last consumer has gone here. That tells the producer too.
    scene.consumer.cancel()
    #expect(await result.completion.isFailure)
    #expect(await scene.told.opened())
    #expect(scene.promise.isCancelled)
  }

  @Test(arguments: Awaiting.allCases, [false, true])
  func `the consumer cancels first, the awaiting task gives up second: the producer is told`(
    _ awaiting: Awaiting, _ isLink: Bool
  ) async {
    let scene = Scene(awaitingALink: isLink)
    let task = await task(awaiting, for: scene.awaited)
    scene.consumer.cancel()
    #expect(!scene.told.isOpen)
    #expect(!scene.promise.isFulfilled)
    task.cancel()
    await task.value
    let isTold = await scene.told.opened(within: patience)
    #expect(isTold)
    #expect(scene.promise.isCancelled)
  }

  @Test(arguments: Awaiting.allCases, [false, true])
  func `the awaiting task gives up first, the consumer cancels second: the producer is told`(
    _ awaiting: Awaiting, _ isLink: Bool
  ) async {
    let scene = Scene(awaitingALink: isLink)
    let task = await task(awaiting, for: scene.awaited)
    task.cancel()
    await task.value
    #expect(!scene.told.isOpen)
    scene.consumer.cancel()
    #expect(scene.told.isOpen)
    #expect(scene.promise.isCancelled)
  }

  @Test
  func `two tasks give up after the consumer has cancelled: the producer is told by the last`()
    async
  {
    let scene = Scene(awaitingALink: false)
    let first = await task(.value, for: scene.awaited)
    let second = await task(.completion, for: scene.awaited)
    scene.consumer.cancel()
    first.cancel()
    await first.value
    #expect(!scene.told.isOpen)
    second.cancel()
    await second.value
    let isTold = await scene.told.opened(within: patience)
    #expect(isTold)
  }

  @Test func `only an awaiting task gives up: the promise stays as it is`() async {
    let promise = Promise<Int>()
    let told = Event()
    promise.onCancellationRequest { told.signal() }
    let task = await task(.value, for: promise)
    task.cancel()
    await task.value
    #expect(!told.isOpen)
    #expect(!promise.isFulfilled)
    promise.succeed(with: 1)
  }

  @Test func `the consumer cancels, the task gives up, a handler still wants it: nobody is told`()
    async
  {
    let scene = Scene(awaitingALink: false)
    scene.promise.onSuccess(on: .inline) { _ in }
    let task = await task(.value, for: scene.awaited)
    scene.consumer.cancel()
    task.cancel()
    await task.value
    #expect(!scene.told.isOpen)
    #expect(!scene.promise.isFulfilled)
    scene.promise.succeed(with: 1)
  }

  // MARK: Handlers of cancellation of a released future

  @Test func `its source takes the place of a released future: its handlers are no consumers`() {
    let (start, inner) = (Promise<Void>(), Promise<Int>())
    var middle: Future<Int>? = start.mapToFuture(on: .inline) { _ in inner }
    let handler = middle!.onCancel(on: .inline) {}
    let handlerOfHandler = handler.onCancel(on: .inline) {}
    let consumer = middle!.mapToValue(on: .inline) { $0 }
    middle = nil
    start.succeed()
    consumer.cancel()
    #expect(inner.isCancelled)
    withExtendedLifetime(handlerOfHandler) {}
  }

  @Test func `a handler of a released future has a consumer: the source goes on for it`() {
    let (start, inner) = (Promise<Void>(), Promise<Int>())
    var middle: Future<Int>? = start.mapToFuture(on: .inline) { _ in inner }
    let handler = middle!.onCancel(on: .inline) {}
    let consumerOfHandler = handler.mapToValue(on: .inline) { $0 }
    let consumer = middle!.mapToValue(on: .inline) { $0 }
    middle = nil
    start.succeed()
    consumer.cancel()
    #expect(!inner.isSettled)
    consumerOfHandler.cancel()
    #expect(inner.isCancelled)
  }

  @Test func `a handler of the cancellation was cancelled: a task that gives up cancels nothing`()
    async
  {
    for isWanted in [false, true] {
      let promise = Promise<Int>()
      let task = Task { await promise.completion }
      #expect(await eventually { promise.isWanted })
      let handler = promise.onCancel(on: .inline) {}
      let below = isWanted ? handler.mapToValue(on: .inline) { $0 } : nil
      if let below { below.cancel() } else { handler.cancel() }
      #expect(handler.isCancelled && !promise.isSettled)
      task.cancel()
      _ = await task.value
      // With a consumer of its own the handler had been one of the promise.
      #expect(promise.isCancelled == isWanted)
    }
  }
}
