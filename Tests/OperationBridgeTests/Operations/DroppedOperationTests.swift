import Foundation
import Futures
import OperationBridge
import TestSupport
import Testing

/// The future of an operation that was released before it was started.
@Suite("Futures of operations that were dropped", .timeLimit(.minutes(5)), .oneAtATime)
struct DroppedOperationTests {
  private func isBroken<Value>(_ future: Future<Value>) -> Bool {
    guard case .brokenPromise = future.result?.failureValue as? ProperationsError else {
      return false
    }
    return true
  }

  @Test("The operation is dropped, its future is held: the future fails with brokenPromise")
  func heldFuture() async {
    var operation: BlockOperation? = BlockOperation {}
    let reference = WeakReference(operation!)
    let future = operation!.future
    let consumer = future.mapToValue(on: .inline) { 1 }
    operation = nil
    let isSettled = await eventually { consumer.isFulfilled }
    #expect(isSettled)
    #expect(isBroken(future), "\(String(describing: future.result))")
    #expect(reference.isGone)
  }

  @Test("Dropped with a completion block that was set later: the future fails with brokenPromise")
  func heldFutureOtherBlock() async {
    var operation: BlockOperation? = BlockOperation {}
    let reference = WeakReference(operation!)
    let future = operation!.future
    operation!.completionBlock = {}
    operation!.completionBlock = nil
    operation = nil
    let isSettled = await eventually { future.isFulfilled }
    #expect(isSettled)
    #expect(isBroken(future), "\(String(describing: future.result))")
    #expect(await eventually { reference.isGone })
  }

  @Test("A completion block that is set later, and the operation started: both are told")
  func startedWithOtherBlock() async throws {
    let (operation, ran) = (BlockOperation {}, Event())
    let future = operation.future
    operation.completionBlock = { ran.signal() }
    OperationQueue().addOperation(operation)
    try await future.value
    #expect(await ran.opened())
  }

  @Test("Both the operation and its future are dropped: both are released")
  func neitherHeld() async {
    var operation: BlockOperation? = BlockOperation {}
    var future: Future<Void>? = operation!.future
    let references = [WeakReference(operation!), WeakReference(future!)]
    (operation, future) = (nil, nil)
    let areGone = await eventually { references.allSatisfy { $0.isGone } }
    #expect(areGone)
  }

  @Test("Both the operation and a future of its outcome are dropped: both are released")
  func outcomeNotHeld() async {
    let tracker = LifetimeTracker()
    var operation: BlockOperation? = BlockOperation {}
    var object: Tracked? = tracker.make()
    var future: Future<Int>? = Promises.make(awaitingCompletionOf: operation!, on: .inline) {
      [object] _ in
      object?.touch()
      return 1
    }
    let references = [WeakReference(operation!), WeakReference(future!)]
    (operation, future, object) = (nil, nil, nil)
    let areGone = await eventually { references.allSatisfy { $0.isGone } }
    #expect(areGone)
    #expect(tracker.alive == 0)
  }

  @Test("A thousand accesses to the future of one operation that is dropped: nothing is left")
  func manyAccesses() async {
    var operation: BlockOperation? = BlockOperation {}
    let references = (0..<1_000).map { _ in WeakReference(operation!.future) }
    operation = nil
    let left = { references.count { !$0.isGone } }
    let areGone = await eventually { left() == 0 }
    #expect(areGone, "\(left()) left")
  }

  @Test("The future is dropped, the operation runs later: the operation is released afterwards")
  func operationRunsLater() async {
    let queue = OperationQueue.make()
    var operation: BlockOperation? = BlockOperation {}
    let reference = WeakReference(operation!)
    _ = operation!.future
    queue.addOperation(operation!)
    operation = nil
    #expect(await queue.isEmptyEventually())
    #expect(await eventually { reference.isGone })
  }

  @Test("Nobody but a queue holds the operation: its future succeeds")
  func heldByQueue() async {
    let queue = OperationQueue.make(isSuspended: true)
    let future: Future<Void> = {
      let operation = BlockOperation {}
      queue.addOperation(operation)
      return operation.future
    }()
    queue.isSuspended = false
    #expect(await future.completion.isSuccess)
  }
}
