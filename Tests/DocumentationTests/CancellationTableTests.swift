import Foundation
import Properations
import TestSupport
import Testing

/// The table of what `cancel()` does in the article Cancellation, row by row.
@Suite("The article Cancellation: its table", .timeLimit(.minutes(5)), .oneAtATime)
struct CancellationTableTests {
  private let promise = Promises.make(promising: Int.self)

  private func isCancelled(_ result: FutureResult<Int>?) -> Bool {
    result?.failureValue as? ProperationsError == .cancelled
  }

  @Test("This future settles at once; a settled one is not changed")
  func thisFuture() {
    promise.cancel()
    #expect(isCancelled(promise.result))
    #expect(promise.isCancelled)

    let settled = Promises.makeSucceeded(with: 1)
    settled.cancel()
    #expect(settled.result?.successValue == 1)
    #expect(!settled.isCancelled)
  }

  @Test("The futures made from it settle in the same way")
  func downstream() {
    let below = promise.mapToValue { $0 + 1 }.recover { _ in 0 }
    promise.cancel()
    #expect(isCancelled(below.result))
    #expect(below.isCancelled)
  }

  @Test("The future above is cancelled with the last one who wants its value")
  func upstream() {
    let first = promise.mapToValue(on: .inline) { $0 + 1 }
    let second = promise.onSuccess(on: .inline) { _ in }
    promise.onCancel(on: .inline) {}
    first.cancel()
    #expect(!promise.isFulfilled)
    #expect(!second.isFulfilled, "a sibling")
    second.cancel()
    #expect(promise.isCancelled)
  }

  @Test("A shielded future keeps its cancellation to itself")
  func shielded() {
    promise.shielded().mapToValue(on: .inline) { $0 }.cancel()
    #expect(!promise.isFulfilled)
  }

  @Test("Those who await it get its cancellation; a cancelled task only ends its wait")
  func awaiting() async {
    let awaiting = Task { await promise.completion }
    awaiting.cancel()
    await #expect(awaiting.value.failureValue is CancellationError)
    #expect(!promise.isFulfilled)

    let staying = Task { await promise.completion }
    promise.cancel()
    await #expect(isCancelled(staying.value))
  }

  @Test("A task that awaits with cancelFuture takes the future along")
  func awaitingTogether() async {
    let awaiting = Task { await promise.completion(onTaskCancellation: .cancelFuture) }
    awaiting.cancel()
    await #expect(awaiting.value.failureValue is CancellationError)
    #expect(promise.isCancelled)
  }

  @Test("The producer learns of it, and so does the future that mapToFuture waits for")
  func producer() {
    let stopped = Promises.make(promising: Void.self)
    promise.onCancellationRequest { stopped.succeed() }
    let outer = Promises.makeSucceeded(with: 1).mapToFuture(on: .inline) { [promise] _ in promise }
    outer.cancel()
    #expect(promise.isCancelled)
    #expect(stopped.isFulfilled)
  }

  @Test("A closure that waits for its turn is never run, but for that of always")
  func waitingClosure() async throws {
    let queue = queue(slots: 1)
    queue.isSuspended = true
    let cleanedUp = Promises.make(promising: Void.self)
    let below = Promises.makeSucceeded(with: 1)
      .mapToValue(on: queue) { value in
        Issue.record("the closure has run")
        return value
      }
      .always(on: .inline) { cleanedUp.succeed() }
    queue.cancelAllOperations()
    #expect(below.isCancelled)
    #expect(cleanedUp.isFulfilled)
    queue.isSuspended = false
    try await queue.run(barrier: true) {}.value
  }

  @Test("A closure that runs is not interrupted; its operation finishes after it")
  func runningClosure() async throws {
    let (started, mayReturn) = (Promises.make(promising: Void.self), DispatchSemaphore(value: 0))
    let running = Promises.run(on: queue(slots: 1)) { () -> Int in
      started.succeed()
      mayReturn.wait()
      return 1
    }
    try await started.value
    running.cancel()
    #expect(isCancelled(running.result))
    #expect(running.isExecuting)
    #expect(!running.isFinished)
    let finished = Promises.make(promising: Void.self)
    running.completionBlock = { finished.succeed() }
    mayReturn.signal()
    try await finished.value
    #expect(running.isFinished)
    #expect(isCancelled(running.result))
  }

  @Test("recover, recoverToFuture and mapError let it pass; mapResult and the handlers see it")
  func recovering() async throws {
    let seen = Promises.make(promising: Void.self)
    let mended = promise.mapResult(on: .inline) { _ in .success(0) }
    let passed = promise.recover(on: .inline) { _ in 1 }
      .recoverToFuture(on: .inline) { _ in Promises.makeSucceeded(with: 2) }
      .mapError(on: .inline) { _ in CancellationError() }
    passed.onFailure(on: .inline) { _ in seen.succeed() }
    promise.cancel()
    #expect(isCancelled(passed.result))
    #expect(mended.result?.successValue == 0)
    #expect(seen.isFulfilled)
  }

  @Test("combine and collect count it as a failure; failing fast, they are cancelled")
  func several() {
    let other = Promises.make(promising: Int.self)
    let both = Promises.combine(promise, other)
    let fast = Promises.collect([promise.shielded(), other.shielded()], failingFast: true)
    promise.cancel()
    #expect(fast.isCancelled)
    #expect(!both.isFulfilled)
    other.succeed(with: 1)
    #expect(
      both.result?.failureValue as? ProperationsError
        == .multipleErrors([ProperationsError.cancelled, nil]))
  }

  @Test("The losers of a race are cancelled even if others want them")
  func losers() {
    let (kept, shielded) = (Promises.make(promising: Int.self), Promises.make(promising: Int.self))
    let wanted = promise.mapToValue(on: .inline) { $0 }
    let winner = Promises.make(promising: Int.self)
    _ = Promises.race([winner, promise, shielded.shielded()])
    _ = Promises.race([winner, kept], cancellingLosers: false)
    winner.succeed(with: 1)
    #expect(wanted.isCancelled)
    #expect(!kept.isFulfilled)
    #expect(!shielded.isFulfilled)
  }

  @Test("Cancelling a queue's operations cancels its promises")
  func ofAQueue() {
    let queue = queue(slots: 1)
    let promise = Promises.make(promising: Int.self, in: queue)
    queue.cancelAllOperations()
    #expect(isCancelled(promise.result))
    _ = queue
  }
}
