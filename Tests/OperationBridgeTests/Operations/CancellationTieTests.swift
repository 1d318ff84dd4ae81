import Foundation
import Futures
import OperationBridge
import TestSupport
import Testing

@Suite("Ties between operations and futures", .timeLimit(.minutes(5)), .oneAtATime)
struct CancellationTieTests {
  enum Ending: CaseIterable {
    case failure, cancellation, success

    func apply(_ promise: Promise<Int>) {
      switch self {
      case .failure: promise.fail(with: Oops())
      case .cancellation: promise.cancel()
      case .success: promise.succeed(with: 1)
      }
    }
  }

  @Test("A future that ends: cancels the operation unless it succeeded", arguments: Ending.allCases)
  func onFailure(_ ending: Ending) {
    let (operation, promise) = (BlockOperation {}, Promises.make(promising: Int.self))
    operation.cancel(onFailureOf: promise)
    #expect(!operation.isCancelled)
    ending.apply(promise)
    #expect(operation.isCancelled == (ending != .success))
  }

  @Test("A future that has ended before: the same, at once", arguments: Ending.allCases)
  func onFailureBefore(_ ending: Ending) {
    let (operation, promise) = (BlockOperation {}, Promises.make(promising: Int.self))
    ending.apply(promise)
    #expect(operation.cancel(onFailureOf: promise) === operation)
    #expect(operation.isCancelled == (ending != .success))
  }

  @Test("A broken promise: cancels the operation tied to what is derived from it")
  func onBrokenPromise() {
    let operation = BlockOperation {}
    var promise: Promise<Int>? = Promises.make(promising: Int.self)
    let future = promise!.mapToValue(on: .inline) { $0 }
    operation.cancel(onFailureOf: future)
    promise = nil
    #expect(operation.isCancelled)
  }

  @Test("An operation that finishes: cancels the future; its completion block is kept")
  func onFinish() async {
    let (queue, log) = (OperationQueue.make(), Log<String>())
    let (operation, promise) = (BlockOperation {}, Promises.make(promising: Int.self))
    operation.completionBlock = { log.append("mine") }
    #expect(promise.cancel(onFinishOf: operation) === promise)
    #expect(!promise.isFulfilled)
    queue.addOperation(operation)
    #expect(await promise.completion.failureValue as? ProperationsError == .cancelled)
    #expect(await eventually { log.count == 1 })
  }

  @Test("An operation cancelled while queued: cancels the future when the queue lets it go")
  func onCancel() async {
    let queue = OperationQueue.make(isSuspended: true)
    let (operation, promise) = (BlockOperation {}, Promises.make(promising: Int.self))
    promise.cancel(onFinishOf: operation)
    queue.addOperation(operation)
    operation.cancel()
    queue.isSuspended = false
    #expect(await promise.completion.failureValue as? ProperationsError == .cancelled)
  }

  @Test("An operation that was cancelled before the tie: the future is cancelled at once")
  func onCancelledBefore() async {
    let (operation, promise) = (BlockOperation {}, Promises.make(promising: Int.self))
    operation.cancel()
    promise.cancel(onFinishOf: operation)
    #expect(promise.isCancelled)
  }

  @Test("An operation that had finished before the tie: the future is cancelled at once")
  func onFinishedBefore() {
    let (operation, promise) = (BlockOperation {}, Promises.make(promising: Int.self))
    operation.start()
    promise.cancel(onFinishOf: operation)
    #expect(promise.isCancelled)
  }

  @Test("Another future that settles, or had settled: the future is cancelled")
  func onOtherFuture() {
    let (other, promise) = (Promises.make(promising: Int.self), Promises.make(promising: Int.self))
    promise.cancel(onFinishOf: other)
    #expect(!promise.isFulfilled)
    other.succeed(with: 1)
    #expect(promise.isCancelled)
    let late = Promises.make(promising: String.self)
    late.cancel(onFinishOf: other)
    #expect(late.isCancelled)
  }

  @Test("A future that succeeded first: keeps its value when the operation finishes")
  func settledFirst() async {
    let (operation, promise) = (BlockOperation {}, Promises.make(promising: Int.self))
    promise.cancel(onFinishOf: operation)
    promise.succeed(with: 1)
    operation.start()
    #expect(promise.result?.successValue == 1)
  }

  @Test("Ten futures tied to one operation: all are cancelled")
  func several() async {
    let operation = BlockOperation {}
    let promises = (0..<10).map { _ in Promises.make(promising: Int.self) }
    for promise in promises { promise.cancel(onFinishOf: operation) }
    operation.start()
    #expect(await eventually { promises.allSatisfy { $0.isCancelled } })
  }

  @Test("Either side released: a tie keeps neither")
  func keepsNeither() {
    var operation: BlockOperation? = BlockOperation {}
    var promise: Promise<Int>? = Promises.make(promising: Int.self)
    operation!.cancel(onFailureOf: promise!)
    promise!.cancel(onFinishOf: operation!)
    let references = (WeakReference(operation!), WeakReference(promise!))
    operation = nil
    #expect(references.0.isGone)
    promise!.fail(with: Oops())
    promise = nil
    #expect(references.1.isGone)
  }

  @Test("Both ways between two futures: one failure ends both, no endless loop")
  func bothWays() {
    let (a, b) = (Promises.make(promising: Int.self), Promises.make(promising: Int.self))
    a.cancel(onFailureOf: b)
    b.cancel(onFailureOf: a)
    a.fail(with: Oops())
    #expect(b.isCancelled)
    #expect(a.result?.failureValue is Oops)
  }

  @Test("Two tie operations while the future fails, 10,000 rounds: both are always cancelled")
  func raceTies() async {
    struct Subject: Sendable {
      let start = SpinBarrier(2)
      let round: Int
      let operations = [BlockOperation {}, BlockOperation {}]
      let promise = Promises.make(promising: Int.self)
    }
    let wrong = await race(rounds: 10_000, threads: 2) { round in
      Subject(round: round)
    } _: { thread, subject in
      subject.start.meet(delay: thread == 0 ? subject.round % 300 : 0)
      subject.operations[thread].cancel(onFailureOf: subject.promise)
      if thread == subject.round / 300 % 2 { subject.promise.cancel() }
    } isRight: { subject in
      subject.operations.allSatisfy { $0.isCancelled }
    }
    #expect(wrong == nil)
  }

  @Test("Tying while it finishes, 2,000 rounds: the future is always cancelled")
  func raceTie() async {
    struct Subject: Sendable {
      let operation = BlockOperation {}
      let promise = Promises.make(promising: Int.self)
    }
    let wrong = await race(rounds: 2000, threads: 2) { _ in
      Subject()
    } _: { thread, subject in
      if thread == 0 {
        subject.operation.start()
      } else {
        subject.promise.cancel(onFinishOf: subject.operation)
      }
    } isRight: { subject in
      eventuallyBlocking { subject.promise.isCancelled }
    }
    #expect(wrong == nil)
  }
}
