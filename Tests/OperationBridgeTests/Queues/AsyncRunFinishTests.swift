import Foundation
import Futures
import OperationBridge
import TestSupport
import Testing

@Suite("The end of an async closure as an operation", .timeLimit(.minutes(5)), .oneAtATime)
struct AsyncRunFinishTests {
  @Test("Cancelled while it runs: settled at once, executing and unfinished until it returns")
  func cancelledWhileRunning() async throws {
    let subject = StubbornRun()
    let future = subject.run()
    let dependent = BlockOperation {}
    dependent.addDependency(future)
    OperationQueue.make().addOperation(dependent)
    #expect(await subject.begun.opened())
    future.cancel()
    #expect(future.isFulfilled && future.isCancelled)
    #expect(future.isExecuting && !future.isFinished)
    #expect(!(await eventually(within: .milliseconds(20)) { dependent.isFinished }))
    subject.gate.succeed()
    #expect(await eventually { future.isFinished && dependent.isFinished })
    #expect(!future.isExecuting)
    #expect(await subject.queue.isEmptyEventually())
  }

  @Test("A resource is used in it and the future is cancelled: released when it has returned")
  func resourceInUse() async throws {
    let (subject, released) = (StubbornRun(), Event())
    let future: Future<Int> = Promises.using(
      acquire: Promises.makeSucceeded(with: 1), release: { _ in released.signal() }, on: .inline
    ) { _ in subject.run() }
    #expect(await subject.begun.opened())
    future.cancel()
    #expect(!(await released.opened(within: .milliseconds(20))))
    subject.gate.succeed()
    #expect(await released.opened())
  }

  @Test("A permit is held for it and the future is cancelled: it comes back when it has returned")
  func permitInUse() async throws {
    let (subject, permits) = (StubbornRun(), Permits(1))
    let future: Future<Int> = permits.withPermit(on: .inline) { subject.run() }
    #expect(await subject.begun.opened())
    future.cancel()
    let next = permits.withPermit(on: .inline) { Promises.makeSucceeded(with: 2) }
    #expect(!(await eventually(within: .milliseconds(20)) { next.isFulfilled }))
    subject.gate.succeed()
    #expect(try await next.value == 2)
  }

  @Test("A queue is cancelled between two closures of one slot: the second does not run")
  func betweenTwoClosures() async {
    for isAttachedFirst in [false, true] {
      let queue = OperationQueue.make(isSuspended: true)
      let ran = Counter()
      let first = Promises.run(on: queue) { 1 }
      let second: Future<Int>
      if isAttachedFirst {
        second = first.mapToValue(on: queue) { _ in ran.add() }.mapToValue(on: queue) { 2 }
        first.onSuccess(on: .inline) { _ in queue.cancelAllOperations() }
      } else {
        first.onSuccess(on: .inline) { _ in queue.cancelAllOperations() }
        second = first.mapToValue(on: queue) { _ in ran.add() }.mapToValue(on: queue) { 2 }
      }
      let handled = first.onSuccess(on: queue) { _ in ran.add() }
      queue.isSuspended = false
      #expect(await second.completion.failureValue as? ProperationsError == .cancelled)
      #expect(await handled.completion.isSuccess)
      #expect(await queue.isEmptyEventually())
      #expect(ran.value == 0)
      #expect(await queue.run { 3 }.completion.successValue == 3)
    }
  }
}
