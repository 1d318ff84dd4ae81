import Foundation
import Futures
import TestSupport
import Testing

/// How long a wait may take that the library has to end.
private let patience = Event.patience

/// Contexts that run several closures at a time.
private enum WideContext: CaseIterable, Sendable {
  case operationQueue
  case globalQueue
  case concurrentDispatchQueue
  case threads

  var context: any ExecutionContext {
    switch self {
    case .operationQueue: OperationQueue()
    case .globalQueue: DispatchQueue.global()
    case .concurrentDispatchQueue: DispatchQueue(label: "wide", attributes: .concurrent)
    case .threads: ThreadContext()
    }
  }
}

/// Contexts that run one closure at a time.
private enum SerialContext: CaseIterable, Sendable {
  case operationQueue
  case dispatchQueue

  var context: any ExecutionContext {
    switch self {
    case .operationQueue:
      let queue = OperationQueue()
      queue.maxConcurrentOperationCount = 1
      return queue
    case .dispatchQueue: return DispatchQueue(label: "narrow")
    }
  }
}

/// How the second future of the batch is made from the first.
private enum NextOfBatch: CaseIterable, Sendable {
  case mapToValue
  case mapToFuture
  case onSuccess
  case recover

  func derive(from first: Future<Int>, on context: some ExecutionContext) -> Future<Int> {
    switch self {
    case .mapToValue: first.mapToValue(on: context) { $0 + 1 }
    case .mapToFuture: first.mapToFuture(on: context) { Promises.makeSucceeded(with: $0 + 1) }
    case .onSuccess: first.mapToValue(on: context) { $0 }.onSuccess(on: context) { _ in }
    case .recover:
      first.mapToValue(on: .inline) { _ -> Int in throw TestError.first }
        .recover(on: context) { _ in 2 }
    }
  }
}

@Suite("A closure beside the next one of its batch", .timeLimit(.minutes(5)), .oneAtATime)
struct WaitingInBatchTests {
  /// What an inline closure on the first of two futures of one batch gets when
  /// it waits for the second.
  private func waitForNext(
    _ next: NextOfBatch = .mapToValue, on context: some ExecutionContext
  ) async -> FutureResult<Int> {
    let promise = Promise<Int>()
    let outcome = Promise<Int>()
    let first = promise.mapToValue(on: context) { $0 }
    let second = next.derive(from: first, on: context)
    first.onSuccess(on: .inline) { _ in
      outcome.fulfill(with: FutureResult { try second.wait(timeout: patience) })
    }
    promise.succeed(with: 1)
    return await outcome.completion
  }

  @Test(arguments: WideContext.allCases)
  fileprivate func `an inline closure that waits for the next of the batch gets its value`(
    _ wide: WideContext
  ) async {
    let result = await waitForNext(on: wide.context)
    #expect(result.successValue == 2)
  }

  @Test(arguments: NextOfBatch.allCases)
  fileprivate func `the same for each way in which the next is made: gets its value`(
    _ next: NextOfBatch
  ) async {
    let result = await waitForNext(next, on: ThreadContext())
    #expect(result.isSuccess)
  }

  @Test(arguments: SerialContext.allCases)
  fileprivate func `on a serial queue the wait ends: with the value or with wouldDeadlock`(
    _ serial: SerialContext
  ) async {
    let result = await waitForNext(on: serial.context)
    if case .wouldDeadlock? = result.failureValue as? ProperationsError { return }
    #expect(result.successValue == 2)
  }

  @Test func `an inline closure two links below waits for the next of the batch: gets its value`()
    async
  {
    let context = ThreadContext()
    let promise = Promise<Int>()
    let outcome = Promise<Int>()
    let first = promise.mapToValue(on: context) { $0 }
    let second = first.mapToValue(on: context) { $0 + 1 }
    first.mapToValue(on: .inline) { $0 }.onSuccess(on: .inline) { _ in
      outcome.fulfill(with: FutureResult { try second.wait(timeout: patience) })
    }
    promise.succeed(with: 1)
    let result = await outcome.completion
    #expect(result.successValue == 2)
  }

  @Test func `an inline closure that waits with waitUntilFinished for the next returns`() async {
    let context = ThreadContext()
    let promise = Promise<Int>()
    let returned = Event()
    let first = promise.mapToValue(on: context) { $0 }
    let second = first.mapToValue(on: context) { $0 + 1 }
    first.onSuccess(on: .inline) { _ in
      second.waitUntilFinished()
      returned.signal()
    }
    promise.succeed(with: 1)
    let hasReturned = await returned.opened(within: patience)
    #expect(hasReturned)
  }

  @Test func `an inline closure that has waited cancels the queue: the next of the batch, too`()
    async
  {
    let queue = OperationQueue()
    queue.maxConcurrentOperationCount = 1
    let promise = Promise<Int>()
    let ran = Counter()
    let first = promise.mapToValue(on: queue) { $0 }
    let second = first.mapToValue(on: queue) { value in
      ran.add()
      return value
    }
    first.onSuccess(on: .inline) { _ in
      _ = try? Promises.run(on: .global()) {}.wait()
      queue.cancelAllOperations()
    }
    promise.succeed(with: 1)
    #expect(await second.completion.failureValue as? ProperationsError == .cancelled)
    #expect(ran.value == 0)
  }

  @Test func `an inline closure that cancels the queue cancels the next of the batch`() async {
    let queue = OperationQueue()
    // A batch that is late hands the next closure to the queue, where it has to wait, too.
    queue.maxConcurrentOperationCount = 1
    let promise = Promise<Int>()
    let ran = Counter()
    let first = promise.mapToValue(on: queue) { $0 }
    let second = first.mapToValue(on: queue) { value in
      ran.add()
      return value
    }
    let below = second.mapToValue(on: .inline) { $0 }
    first.onSuccess(on: .inline) { _ in queue.cancelAllOperations() }
    promise.succeed(with: 1)
    let result = await below.completion
    #expect(result.failureValue as? ProperationsError == .cancelled)
    #expect(second.isCancelled)
    #expect(ran.value == 0)
  }
}
