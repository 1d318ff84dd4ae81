import Foundation
import Futures
import TestSupport
import Testing
import TypedTasks

@Suite("Short forms", .timeLimit(.minutes(5)), .oneAtATime)
struct ShorthandTests {
  private let queue = TaskQueue()

  private enum Printer {}

  final class Doubling: AsyncProducerTask<Int, TestError>, @unchecked Sendable {
    private let number: Int
    init(_ number: Int) {
      self.number = number
      super.init()
    }
    override func perform() async throws(TestError) -> Int {
      await Task.yield()
      if number < 0 { throw .first }
      return number * 2
    }
  }

  final class Endless: AsyncProducerTask<Int, any Error>, @unchecked Sendable {
    let started = Event()
    override func perform() async throws -> Int {
      started.signal()
      try await Task.sleep(for: .seconds(3_600))
      return 1
    }
  }

  @Test("What perform() returns is the value, what it throws the provided error")
  func asyncSubclass() async {
    let (fine, failed) = (Doubling(21), Doubling(-1))
    queue.addTasks(fine, failed)
    #expect(await fine.outcome() == .success)
    #expect(fine.success == 42)
    #expect(await failed.outcome() == .provided)
  }

  @Test(
    "Cancelling an async task cancels its Swift task; before it executes, perform() is not called")
  func cancelAsyncSubclass() async {
    let task = Endless()
    queue.addTask(task)
    await task.started.opened()
    task.cancel()
    #expect(await task.outcome() == .cancelled)
    let early = Endless()
    early.cancel()
    queue.addTask(early)
    #expect(await early.outcome() == .cancelled)
    #expect(!early.started.isOpen)
  }

  @Test("A timeout ends an async task, and its category is free when its work has returned")
  func timeoutOfAsyncSubclass() async {
    let task = Endless()
    task.addObserver(.timeout(.milliseconds(10)))
    task.addCondition(.mutuallyExclusive(Printer.self))
    let next = Doubling(1).addCondition(.mutuallyExclusive(Printer.self))
    queue.addTasks([task, next])
    #expect(await task.outcome() == .timeout)
    #expect(await next.outcome() == .success)
  }

  @Test("Conditions and observers take intervals of Dispatch, by short and by long names")
  func intervals() async {
    let interval = DispatchTimeInterval.milliseconds(1)
    #expect(Observers.Timeout(interval).duration == .milliseconds(1))
    let late = Doubling(2).addCondition(.delay(interval)).addCondition(Conditions.Delay(interval))
    let endless = Endless()
    endless.addObserver(.timeout(interval))
    queue.addTasks([late, endless])
    #expect(await late.outcome() == .success)
    #expect(await endless.outcome() == .timeout)
  }

  @Test("Conditions by short names: delay, no cancelled dependencies, and what is not")
  func conditions() async {
    let cancelled = Doubling(1)
    cancelled.cancel()
    let minds = Doubling(1).addDependency(cancelled).addCondition(.noCancelledDependencies)
    let late = Doubling(2).addCondition(.delay(.milliseconds(1)))
    let reversed = Doubling(3).addCondition(.not(BlockCondition { _ in false }))
    queue.addTasks(minds, late, reversed)
    #expect(await minds.outcome() == .conditions)
    #expect(await late.outcome() == .success)
    #expect(await reversed.outcome() == .success)
  }

  @Test("Several dependencies at once, tasks and plain operations, in any order")
  func dependencies() async {
    let log = Log<String>()
    let (a, b) = (Doubling(1), Doubling(2))
    for task in [a, b] { task.receive { _ in log.append("task") } }
    let operation = BlockOperation { log.append("operation") }
    let last = Doubling(3).addDependency(a, operation, b)
    let after = Doubling(4).addDependencies([last, b])
    after.receive { _ in log.append("last") }
    queue.addTasks(after, last, b, a)
    queue.addOperation(operation)
    #expect(await after.outcome() == .success)
    #expect(log.entries.count == 4 && log.entries.last == "last")
  }

  @Test("A value in the place of nil; whether a result of any type of failure is a success")
  func values() async {
    let task = Doubling(1).map { value in value > 5 ? value : nil }.replaceNil(with: 7)
    queue.addTask(task)
    #expect(await task.outcome() == .success)
    #expect(task.success == 7)
    #expect(task.produced?.isSuccess == true)
    let failed: Result<Int, TestError> = .failure(.first)
    #expect(failed.isFailure && !failed.isSuccess)
  }
}
