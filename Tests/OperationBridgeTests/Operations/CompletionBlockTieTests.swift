import Foundation
import Futures
import OperationBridge
import TestSupport
import Testing

/// A tie leaves the completion block of an operation that a queue has alone:
/// Foundation reads it without its lock when the operation finishes.
@Suite("Ties and completion blocks", .timeLimit(.minutes(5)), .oneAtATime)
struct CompletionBlockTieTests {
  #if !(canImport(Darwin) || PROPERATIONS_AS_ON_DARWIN)
    // (There nothing tells that it waits in a queue, and a block may be set all the same.)
    @Test("A future tied to an operation that waits in a queue or runs: no completion block is set")
    func noBlock() async {
      let queue = OperationQueue.make()
      let (started, goOn) = (Event(), Event())
      let running = BlockOperation {
        started.signal()
        goOn.wait()
      }
      let waiting = BlockOperation {}
      for operation in [running, waiting] { queue.addOperation(operation) }
      #expect(await started.opened())
      for operation in [running, waiting] {
        let promise = Promise<Int>()
        promise.cancel(onFinishOf: operation)
        let hasBlock = operation.completionBlock != nil
        #expect(!hasBlock)
      }
      goOn.signal()
      #expect(await queue.isEmptyEventually())
    }
  #endif

  @Test("A completion block set after the tie: runs, and the future is cancelled too")
  func blockSetAfterwards() async {
    let queue = OperationQueue.make(isSuspended: true)
    let (operation, promise) = (BlockOperation {}, Promise<Int>())
    let completed = Event()
    promise.cancel(onFinishOf: operation)
    operation.completionBlock = { completed.signal() }
    queue.addOperation(operation)
    queue.isSuspended = false
    #expect(await completed.opened())
    let isCancelled = await eventually { promise.isCancelled }
    #expect(isCancelled)
    #expect(await queue.isEmptyEventually())
  }

  @Test("A completion block taken away after the tie: the future is cancelled all the same")
  func blockTakenAway() async {
    let (operation, promise) = (BlockOperation {}, Promise<Int>())
    promise.cancel(onFinishOf: operation)
    operation.completionBlock = nil
    operation.start()
    let isCancelled = await eventually { promise.isCancelled }
    #expect(isCancelled)
  }

  // The branches for Apple's platforms set the block of an operation that a queue has, as
  // Apple's documentation allows. Foundation on Linux reads it without its lock.
  #if (os(Linux) || os(macOS)) && !PROPERATIONS_AS_ON_DARWIN
    // Under the thread sanitizer this shows the race itself; it seldom crashes.
    @Test("Ties to operations that finish in a queue, 5,000 rounds: own blocks run once, no crash")
    func finishing() async {
      await #expect(processExitsWith: .success) {
        giveUp()
        let queue = OperationQueue.make(limit: 2)
        for round in 0..<5_000 {
          let (completions, promise) = (Counter(), Promise<Int>())
          let operation = BlockOperation {}
          operation.completionBlock = { completions.add() }
          queue.addOperation(operation)
          for _ in 0..<(round % 4) { sched_yield() }
          promise.cancel(onFinishOf: operation)
          demand(await eventually { promise.isCancelled && completions.value == 1 })
        }
      }
    }
  #endif
}
