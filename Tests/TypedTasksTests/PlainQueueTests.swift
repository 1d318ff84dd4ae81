import Foundation
import Futures
import OperationBridge
import TestSupport
import Testing
import TypedTasks

private enum Printer {}

@Suite("A task in an operation queue that is no task queue", .timeLimit(.minutes(5)), .oneAtATime)
struct PlainQueueTests {
  private let queue = OperationQueue()

  init() { queue.maxConcurrentOperationCount = 1 }

  /// Adds an operation whose type the compiler does not see.
  private func addUnseen(_ operation: Operation) { queue.addOperation(operation) }

  private func consumer(of producer: Sample<Int>) -> BlockConsumerProducerTask<Int, Int, TestError>
  {
    BlockConsumerProducerTask(producing: producer) { _, value, finish in
      if case .success(let value) = value { finish(.success(value + 1)) }
    }
  }

  @Test("One slot, a consumer before its producer: both finish")
  func consumerFirst() async {
    let producer = succeeding(1)
    let consumer = consumer(of: producer)
    queue.addOperation(consumer)
    queue.addOperation(producer)
    #expect(await eventually { consumer.success == 2 })
    #expect(await eventually { queue.operationCount == 0 })
  }

  @Test("The same, added as operations of an unknown type: both finish")
  func unseenConsumerFirst() async {
    let producer = succeeding(1)
    let consumer = consumer(of: producer)
    addUnseen(consumer)
    addUnseen(producer)
    #expect(await eventually { consumer.success == 2 })
    #expect(await eventually { queue.operationCount == 0 })
  }

  @Test(
    "One slot, two tasks in a row before what they wait for: all finish", arguments: [true, false])
  func chainFirst(isUnseen: Bool) async {
    let first = Manual<Int>()
    let second = succeeding(2).addDependency(first)
    let third = succeeding(3).addDependency(second)
    for task in [third, second] {
      if isUnseen { addUnseen(task) } else { queue.addOperation(task) }
    }
    // The slot is free while they wait.
    let ran = Event()
    queue.addOperation { ran.signal() }
    #expect(await ran.opened())
    addUnseen(first)
    await first.started.opened()
    first.finish(with: .success(1))
    #expect(await eventually { third.success == 3 && second.success == 2 })
    #expect(await eventually { queue.operationCount == 0 })
  }

  @Test("isReady of a task in no queue is read: it is not enqueued, and runs where it is added")
  func readBefore() async {
    final class Enqueued: ProducerTask<Int, TestError>, @unchecked Sendable {
      let (enqueuings, started) = (Counter(), Event())
      override func willEnqueue() { enqueuings.add() }
      override func execute() { started.signal() }
    }
    let task = Enqueued()
    for _ in 0..<3 { _ = task.isReady }
    #expect(task.enqueuings.value == 0)
    let tasks = TaskQueue()
    tasks.addTask(task)
    #expect(await task.started.opened())
    _ = task.isReady
    task.finish(with: .success(1))
    #expect(task.isFinished && task.success == 1 && task.enqueuings.value == 1)
  }

  @Test("Cancelled in a suspended queue: it finishes when the queue starts it, and not before")
  func cancelledInSuspendedQueue() async {
    queue.isSuspended = true
    let (task, other) = (succeeding(1), Promise<Int>())
    queue.addOperation(task)
    task.cancel()
    // One that only was read finishes late, where that cannot be told.
    _ = other.isReady
    other.succeed(with: 1)
    #expect(await eventually { other.isFinished })
    #expect(task.isFulfilled && !task.isFinished)
    queue.isSuspended = false
    #expect(await eventually { task.isFinished && queue.operationCount == 0 })
  }

  @Test("Cancelled while a queue takes it: it leaves the queue")
  func cancelledWhileAdded() async throws {
    final class Hasty: NonFailTask, @unchecked Sendable {
      private let reads = Counter()

      override var isReady: Bool {
        if reads.add() == 1 { cancel() }
        return super.isReady
      }
    }
    let (first, second) = (Hasty(), Hasty())
    queue.addOperation(first)
    try queue.addFuture(second)
    #expect(await eventually { first.isFinished && second.isFinished })
    #expect(await eventually { queue.operationCount == 0 })
  }

  private struct Needs: TaskCondition {
    let task: NonFailTask
    func dependency<T: ProducerTaskProtocol>(for task: T) -> NonFailTask? { self.task }
    func evaluate<T: ProducerTaskProtocol>(
      for task: T, completion: @escaping @Sendable (Result<Void, Never>) -> Void
    ) { completion(.success(())) }
  }

  @Test("A condition needs another task, the task is in a queue of Foundation: both run")
  func conditionInPlainQueue() async {
    let (queue, needed) = (OperationQueue(), EmptyTask())
    let task = BlockProducerTask<Int, Never> { _ in 1 }
    task.addCondition(Needs(task: needed))
    queue.addOperation(task)
    #expect(await task.outcome() == .success)
    #expect(needed.isFinished)
  }

  @Test("1,000 tasks of a category in a suspended queue hold up one of another queue for a moment")
  func categoryOfSuspendedQueue() async {
    queue.isSuspended = true
    let tasks = (0..<1_000).map { _ in exclusive(Printer.self) }
    for task in tasks { queue.addOperation(task) }
    for task in tasks {
      #expect(await eventually { task.description.contains("waiting for") })
    }
    let other = exclusive(Printer.self)
    TaskQueue().addTask(other)
    // Half a second for each of the thousand would be more.
    #expect(await eventually(within: Event.patienceForWork) { other.isFinished })
    queue.cancelAllOperations()
    queue.isSuspended = false
    #expect(await eventually { queue.operationCount == 0 })
  }

  #if os(Linux)
    @Test("All shared threads block, a plain queue has a thread of its own: its task runs")
    func plainQueueBesideBlockedThreads() async {
      await #expect(processExitsWith: .success) {
        OwnProcess.end {
          for _ in 0..<16 { DispatchQueue.global().async { while true { sleep(1) } } }
          let (queue, own, task) = (OperationQueue(), DispatchQueue(label: "own"), succeeding(1))
          queue.underlyingQueue = own
          queue.addOperation(task)
          return withExtendedLifetime(own) { try? task.wait(timeout: Event.patience) } == 1
        }
      }
    }
  #endif
}
