import Foundation
import Futures
import OperationBridge
import TestSupport
import Testing

/// The future of an async closure is an operation, so a second queue, or a person, may start
/// it again.
@Suite("The future of an async closure, started twice", .timeLimit(.minutes(5)), .oneAtATime)
struct SecondStartTests {
  enum Starter: CaseIterable, Sendable {
    case secondQueue, person

    func start(_ future: AnyFuture) {
      switch self {
      case .secondQueue: OperationQueue.make("second").addOperation(future)
      case .person: future.start()
      }
    }
  }

  @Test("While it runs: its queue goes on when it has returned", arguments: Starter.allCases)
  func whileRunning(_ starter: Starter) async throws {
    let subject = StubbornRun()
    let future = subject.run()
    #expect(await subject.begun.opened())
    starter.start(future)
    let next = subject.queue.run { () async in 2 }
    subject.gate.succeed()
    #expect(try await future.value == 1)
    #expect(await eventually { next.isFinished })
    #expect(await eventually { subject.queue.operationCount == 0 })
  }

  #if !canImport(Darwin)
    @Test("In a second queue, which is suspended: it finishes when that queue goes on")
    func suspendedSecondQueue() async throws {
      let subject = StubbornRun()
      let future = subject.run()
      #expect(await subject.begun.opened())
      let second = OperationQueue()
      second.maxConcurrentOperationCount = 1
      second.isSuspended = true
      second.addOperations([future], waitUntilFinished: false)
      let hasRun = Event()
      second.addOperation { hasRun.signal() }
      subject.gate.succeed()
      #expect(try await future.value == 1)
      #expect(!future.isFinished)
      second.isSuspended = false
      #expect(await hasRun.opened())
      #expect(await eventually { future.isFinished && second.operationCount == 0 })
      #expect(await eventually { subject.queue.operationCount == 0 })
    }
  #endif

  @Test("While it waits for its slot: its queue goes on", arguments: Starter.allCases)
  func whileWaiting(_ starter: Starter) async throws {
    let subject = StubbornRun()
    subject.queue.isSuspended = true
    let future = subject.run()
    starter.start(future)
    #expect(await subject.begun.opened())
    subject.queue.isSuspended = false
    #expect(await eventually { subject.queue.operations.count == 1 })
    let next = subject.queue.run { () async in 2 }
    subject.gate.succeed()
    #expect(try await future.value == 1)
    #expect(await eventually { next.isFinished })
    #expect(await eventually { subject.queue.operationCount == 0 })
  }

  @Test("While it runs, cancelled: it keeps its slot, and executes, until it has returned")
  func whileCancelled() async {
    let subject = StubbornRun()
    let future = subject.run()
    #expect(await subject.begun.opened())
    future.cancel()
    future.start()
    let next = subject.queue.run { 2 }
    #expect(future.isExecuting && !future.isFinished)
    #expect(!(await eventually(within: .milliseconds(20)) { next.isFulfilled }))
    subject.gate.succeed()
    #expect(await eventually { future.isFinished && next.isFinished })
  }
}
