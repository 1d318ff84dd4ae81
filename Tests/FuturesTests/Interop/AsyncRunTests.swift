import Foundation
import Futures
import TestSupport
import Testing

@Suite("The slot of an async closure", .timeLimit(.minutes(5)), .oneAtATime)
struct AsyncRunTests {
  private let run = AsyncRun(in: OperationQueue())
  private let promise = Promise<Int>(
    occupyingQueueFor: .inline, isKeptByWork: true, name: nil, at: Birthplace(#fileID, #line))

  /// The queue has started the promise.
  init() {
    _ = promise.watch(with: run)
    promise.start()
    promise.closureBegins()
  }

  @Test("Cancelled between the start of the future and that of the closure: the future finishes")
  func cancelledAtStart() {
    promise.cancel()
    run.begin(for: promise)
    #expect(promise.isCancelled && promise.isFinished)
  }

  @Test("Cancelled between the start of the closure and that of its task: the task gets the slot")
  func cancelledBeforeTheTask() async {
    run.begin(for: promise)
    promise.cancel()
    // The task has to give the slot back, so it has to learn that it has one.
    #expect(await run.slot())
    #expect(promise.isCancelled && !promise.isFinished)
    promise.closureEnds()
    run.holder.leave()
    #expect(promise.isFinished)
  }
}
