import Foundation
import Futures
import OperationBridge
import TestSupport
import Testing

/// A future that was started by hand is put in a queue, and finishes there.
@Suite("Futures started by hand", .timeLimit(.minutes(5)), .oneAtATime)
struct StartedByHandTests {
  #if os(Linux) || os(macOS)
    @Test("Started by hand, then added by addFuture, on queues suspended or not: silence")
    func silence() async {
      let result = await #expect(
        processExitsWith: .success, observing: [\.standardOutputContent, \.standardErrorContent]
      ) {
        giveUp()
        for isSuspended in [false, true] {
          let queue = OperationQueue.make(isSuspended: isSuspended)
          let promises = (0..<40).map { _ in Promise<Int>() }
          for promise in promises {
            promise.start()
            demand(!promise.isFinished)
            try queue.addFuture(promise)
          }
          for promise in promises { promise.succeed(with: 1) }
          queue.isSuspended = false
          demand(await queue.isEmptyEventually())
          demand(promises.allSatisfy { $0.isFinished })
        }
      }
      let output = (result?.standardOutputContent ?? []) + (result?.standardErrorContent ?? [])
      let text = String(decoding: output, as: UTF8.self)
      #expect(!text.contains("***"), "\(text)")
    }
  #endif

  @Test("A pending promise of a queue started by hand: it does not say executing")
  func promiseOfQueue() async throws {
    let queue = OperationQueue.make()
    let promise = Promise<Int>()
    try queue.addFuture(promise)
    promise.start()
    #expect(!promise.isExecuting)
    promise.succeed(with: 1)
    #expect(await queue.isEmptyEventually())
    #expect(promise.isFinished)
  }

  @Test("A blocking promise started by hand in no queue: runs its closure, executes until settled")
  func blockingPromise() async throws {
    let promise = BlockingPromise<Int>(on: .inline) { _ in }
    promise.start()
    #expect(promise.isExecuting)
    #expect(!promise.isFinished)
    promise.succeed(with: 1)
    #expect(!promise.isExecuting)
    #expect(promise.isFinished)
  }
}
