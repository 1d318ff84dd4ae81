import Foundation
import Futures
import OperationBridge
import TestSupport
import Testing

/// What would end the whole process if it went wrong, each in one of its own.
@Suite("A queue that is cancelled or full survives", .timeLimit(.minutes(5)), .oneAtATime)
struct QueueSurvivalTests {
  #if os(Linux) || os(macOS)
    @Test("cancelAllOperations behind a running operation, with a barrier: goes on without a crash")
    func cancelAllWhileRunning() async {
      await #expect(processExitsWith: .success) {
        let queue = OperationQueue.make(limit: 2)
        let (started, goOn) = (Event(), Event())
        queue.addOperation {
          started.signal()
          goOn.wait()
        }
        await started.opened()
        let barrier = queue.run(barrier: true) { 1 }
        queue.cancelAllOperations()
        goOn.signal()
        _ = await barrier.completion
        demand(await queue.isEmptyEventually())
      }
    }

    @Test("A future whose settlement is slow to reach its queue: enters it without a trap")
    func slowSettlement() async {
      await #expect(processExitsWith: .success) {
        final class SlowToCancel: Operation, @unchecked Sendable {
          override func cancel() {
            usleep(50_000)
            super.cancel()
          }
        }
        let queue = OperationQueue.make()
        let slow = SlowToCancel()
        let promise = Promises.make(promising: Int.self)
        slow.cancel(onFailureOf: promise)
        try queue.addFuture(promise)
        promise.cancel()
        demand(await queue.isEmptyEventually())
        demand(promise.isFinished)
      }
    }

    @Test("100,000 pending futures cancelled through their queue: all finish, without a trap")
    func cancelMany() async {
      await #expect(processExitsWith: .success) {
        let queue = OperationQueue.make()
        let promises = (0..<100_000).map { _ in Promises.make(promising: Int.self, in: queue) }
        queue.cancelAllOperations()
        demand(promises.allSatisfy { $0.isCancelled })
        demand(await eventually { queue.operationCount == 0 })
      }
    }

    @Test("100,000 futures tied to the end of one operation: all are cancelled, on any stack")
    func manyTies() async {
      await #expect(processExitsWith: .success) {
        let queue = OperationQueue.make(isSuspended: true)
        let operation = BlockOperation {}
        let promises = (0..<100_000).map { _ in Promises.make(promising: Int.self) }
        for promise in promises { promise.cancel(onFinishOf: operation) }
        queue.addOperation(operation)
        queue.isSuspended = false
        demand(await eventually { promises.allSatisfy { $0.isCancelled } })
      }
    }
  #endif
}
