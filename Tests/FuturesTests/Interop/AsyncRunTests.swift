import Foundation
import Futures
import TestSupport
import Testing

@Suite("The slot of an async closure", .timeLimit(.minutes(1)), .oneAtATime)
struct AsyncRunTests {
  @Test("Cancelled between the start of the future and that of the closure: the future finishes")
  func cancelledAtStart() {
    let run = AsyncRun(in: OperationQueue())
    let promise = Promise<Int>(
      occupyingQueueFor: .inline, isKeptByWork: true, name: nil, at: Birthplace(#fileID, #line))
    _ = promise.watch(with: run)
    promise.start()
    promise.closureBegins()
    promise.cancel()
    run.begin(for: promise)
    #expect(promise.isCancelled && promise.isFinished)
  }
}
