import Foundation
import Futures
import TestSupport
import Testing

/// The queue is cancelled in a closure that then settles a promise.
///
/// What waited for the promise was not in the queue, so it runs there as usual.
@Suite("A slot of a cancelled queue", .timeLimit(.minutes(5)), .oneAtATime)
struct CancelledBatchTests {
  private let queue = OperationQueue()
  private let promise = Promise<Int>()

  init() { queue.maxConcurrentOperationCount = 1 }

  private func cancelAndSettle() {
    _ = Promises.run(on: queue) { [queue, promise] in
      queue.cancelAllOperations()
      promise.succeed(with: 1)
    }
  }

  @Test func `a handler behind an inline link of the promise: it runs`() async {
    let hasRun = Event()
    promise.mapToValue(on: .inline) { $0 }.onSuccess(on: queue) { _ in hasRun.signal() }
    cancelAndSettle()
    #expect(await hasRun.opened())
  }

  @Test func `a link behind an inline link of the promise: it succeeds`() async throws {
    let link = promise.mapToValue(on: .inline) { $0 }.mapToValue(on: queue) { $0 + 1 }
    cancelAndSettle()
    #expect(try await link.value == 2)
  }

  @Test func `another thread cancels the queue before the closure settles: the handler runs`()
    async
  {
    let (hasBegun, isCancelled, hasRun) = (Event(), Event(), Event())
    promise.mapToValue(on: .inline) { $0 }.onSuccess(on: queue) { _ in hasRun.signal() }
    _ = Promises.run(on: queue) { [promise] in
      hasBegun.signal()
      isCancelled.wait()
      promise.succeed(with: 1)
    }
    #expect(await hasBegun.opened())
    queue.cancelAllOperations()
    isCancelled.signal()
    #expect(await hasRun.opened())
  }
}
