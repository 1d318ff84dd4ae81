import Foundation
import Futures
import OperationBridge
import TestSupport
import Testing
import TypedTasks

/// What holds in a plain queue of Foundation for operations and closures holds for tasks too.
@Suite("Tasks in plain queues: barriers, waits, explanations", .timeLimit(.minutes(5)), .oneAtATime)
struct PlainQueueBarrierTests {
  enum Barrier: CaseIterable { case closure, asyncClosure, ofFoundation }
  enum Work: CaseIterable { case task, asyncTask, operator_ }

  private func makeQueue(limit: Int, isSuspended: Bool = false) -> OperationQueue {
    let queue = OperationQueue()
    queue.maxConcurrentOperationCount = limit
    queue.isSuspended = isSuspended
    return queue
  }

  private func make(_ work: Work, _ log: Log<String>) -> AnyFuture {
    switch work {
    case .task:
      return BlockProducerTask<Int, TestError> { _ throws(TestError) in
        log.append("task")
        return 1
      }
    case .asyncTask:
      return AsyncBlockProducerTask<Int, TestError> { _ throws(TestError) in
        log.append("task")
        return 1
      }
    case .operator_:
      return BlockProducerTask<Int, TestError> { _ throws(TestError) in 1 }
        .map { value in
          log.append("task")
          return value
        }
    }
  }

  @Test(
    "a task behind a barrier begins when the barrier has run",
    arguments: Barrier.allCases, Work.allCases)
  func order(_ barrier: Barrier, _ work: Work) async throws {
    for round in 0..<20 {
      let (queue, log) = (makeQueue(limit: 3), Log<String>())
      let gate = Promise<Int>()
      let first = queue.run { try await gate.value }
      switch barrier {
      case .closure: _ = queue.run(barrier: true) { log.append("barrier") }
      case .asyncClosure:
        _ = queue.run(barrier: true) {
          await Task.yield()
          log.append("barrier")
        }
      case .ofFoundation: queue.addBarrierBlock { log.append("barrier") }
      }
      let task = make(work, log)
      queue.addOperation(task)
      if round % 2 == 0 { await Task.yield() }
      gate.succeed(with: 1)
      #expect(await eventually { queue.operationCount == 0 })
      #expect(log.entries == ["barrier", "task"])
      _ = first
    }
  }

  @Test(
    "a task, or a promise, that is cancelled behind a barrier finishes behind it",
    arguments: Barrier.allCases)
  func cancelled(_ barrier: Barrier) async throws {
    for round in 0..<30 {
      let (queue, log) = (makeQueue(limit: 3), Log<String>())
      let gate = Promise<Int>()
      _ = queue.run { try await gate.value }
      switch barrier {
      case .closure, .asyncClosure: _ = queue.run(barrier: true) { log.append("barrier") }
      case .ofFoundation: queue.addBarrierBlock { log.append("barrier") }
      }
      var operation: AnyFuture? =
        round % 2 == 0
        ? BlockProducerTask<Int, TestError> { _ throws(TestError) in 1 } : Promise<Int>()
      if let operation { queue.addOperation(operation) }
      operation?.cancel()
      #expect(operation?.isFinished == false)
      operation = nil
      gate.succeed(with: 1)
      #expect(await eventually { queue.operationCount == 0 })
      #expect(log.entries == ["barrier"])
    }
  }

  @Test("a closure in the only slot that waits for a task of the same queue: wouldDeadlock")
  func blockingWait() async throws {
    let queue = makeQueue(limit: 1)
    let inner = queue.run { () throws -> Int in
      let task = BlockProducerTask<Int, TestError> { _ throws(TestError) in 2 }
      queue.addOperation(task)
      return try task.wait()
    }
    #expect(isDeadlock(await inner.completion))
  }

  @Test("a task in the only slot that waits for another task of the queue: wouldDeadlock")
  func taskWaits() async throws {
    let queue = makeQueue(limit: 1)
    let task = BlockProducerTask<Int, any Error> { _ in
      let other = BlockProducerTask<Int, TestError> { _ throws(TestError) in 2 }
      queue.addOperation(other)
      return try other.wait()
    }
    queue.addOperation(task)
    #expect(isDeadlock(await task.completion))
  }

  @Test("async work in the only slot that awaits a task or a closure of the queue: wouldDeadlock")
  func asyncWaits() async throws {
    let queue = makeQueue(limit: 1)
    let closure = queue.run { () async throws -> Int in
      let other = BlockProducerTask<Int, TestError> { _ throws(TestError) in 2 }
      queue.addOperation(other)
      return try await other.value
    }
    #expect(isDeadlock(await closure.completion))
    for isTask in [true, false] {
      let task = AsyncBlockProducerTask<Int, any Error> { _ in
        if !isTask { return try await queue.run { 2 }.value }
        let other = BlockProducerTask<Int, TestError> { _ throws(TestError) in 2 }
        queue.addOperation(other)
        return try await other.value
      }
      queue.addOperation(task)
      #expect(isDeadlock(await task.completion))
    }
  }

  @Test("async work that waited for a category after its queue had started it: wouldDeadlock")
  func asyncWaitsInAnotherThread() async throws {
    let (queue, gate) = (makeQueue(limit: 1), Event())
    let blocker = queue.run { _ = gate.wait() }
    let task = AsyncBlockProducerTask<Int, any Error> { _ in try await queue.run { 2 }.value }
    task.addCondition(Conditions.MutuallyExclusive(Self.self))
    queue.addOperation(task)
    // The task has no slot, so another one takes the category after a while.
    let holder = Manual<Int>()
    holder.addCondition(Conditions.MutuallyExclusive(Self.self))
    TaskQueue().addTask(holder)
    await holder.started.opened()
    gate.signal()
    try await blocker.value
    #expect(await eventually { task.explain().steps.first?.waitsFor.isEmpty == false })
    holder.finish(with: .success(1))
    #expect(isDeadlock(await task.completion))
  }

  @Test("async work that a subclass passed on to another queue knows that one: wouldDeadlock")
  func asyncWaitsInAQueueBehind() async {
    final class Forwarding: OperationQueue, @unchecked Sendable {
      let target: OperationQueue
      init(to target: OperationQueue) { self.target = target }
      override func addOperation(_ operation: Operation) { target.addOperation(operation) }
    }
    let target = makeQueue(limit: 1)
    let task = AsyncBlockProducerTask<Int, any Error> { _ in try await target.run { 2 }.value }
    Forwarding(to: target).addOperation(task)
    #expect(isDeadlock(await task.completion))
  }

  @Test("a task in a suspended plain queue names the queue, as a closure does")
  func explained() throws {
    let queue = makeQueue(limit: 1, isSuspended: true)
    queue.name = "plain"
    let task = BlockProducerTask<Int, TestError> { _ throws(TestError) in 1 }
    queue.addOperation(task)
    let text = task.explain().description
    #expect(text.contains("the operation queue \"plain\", which is suspended"))
    queue.isSuspended = false
    _ = try task.wait()
  }

  /// A task wraps the errors that its closure throws.
  private func isDeadlock<Output>(_ result: FutureResult<Output>) -> Bool {
    String(reflecting: result).contains("wouldDeadlock")
  }
}
