import Foundation
import TestSupport
import Testing

@testable import Futures

private actor Ledger {
  private let executor: QueueSerialExecutor
  nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }
  private(set) var entries: [Int] = []
  private var isBusy = false

  init(on executor: QueueSerialExecutor) { self.executor = executor }

  func add(_ entry: Int) { entries.append(entry) }

  /// Returns `false` if two calls overlap.
  func isAlone() -> Bool {
    guard !isBusy else { return false }
    isBusy = true
    for _ in 0..<100 { entries.append(0) }
    isBusy = false
    return true
  }

  func queue() -> OperationQueue? { .current }

  func isIsolating() -> Bool? { executor.isIsolatingCurrentContext() }

  func mayUse(_ other: Ledger) -> Bool { other.assumeIsolated { $0.entries.isEmpty } }
}

@Suite("Queues as executors of Swift tasks", .timeLimit(.minutes(5)), .oneAtATime)
struct QueueExecutorTests {
  private let queue = OperationQueue()

  @Test(arguments: [false, true])
  func `a closure waits for one on the executor of its own serial queue: wouldDeadlock`(
    _ isOnExecutor: Bool
  ) async {
    queue.maxConcurrentOperationCount = 1
    let queue = queue
    let work: @Sendable () throws -> Int = {
      try Promises.run(on: .executor(queue.taskExecutor)) { 2 }.wait(timeout: Event.patience)
    }
    let future =
      isOnExecutor
      ? Promises.run(on: .executor(queue.taskExecutor), work) : Promises.run(on: queue, work)
    let error = await future.completion.failureValue as? ProperationsError
    #expect(error == .wouldDeadlock(queue: queue.nameInErrors))
  }

  @Test(arguments: [1, 4, OperationQueue.defaultMaxConcurrentOperationCount])
  func `the executor tells the code of its actors that it is isolated, whatever the limit is`(
    _ limit: Int
  ) async {
    queue.maxConcurrentOperationCount = limit
    let executor = queue.serialExecutor
    let ledger = Ledger(on: executor)
    #expect(await ledger.isIsolating() == true)
    #expect(executor.isIsolatingCurrentContext() == false)
    let inOperation = Promises.run(on: queue) { executor.isIsolatingCurrentContext() }
    #expect(await inOperation.completion.successValue == (limit == 1))
  }

  @Test func `the code of a task runs in operations of the queue`() async {
    let queue = queue
    let task = Task(executorPreference: queue.taskExecutor) {
      let before = currentQueue()
      await Task.yield()
      return before === queue && currentQueue() === queue
    }
    #expect(await task.value)
  }

  @Test func `the limit of the queue limits the tasks that run at once`() async {
    let queue = queue
    queue.maxConcurrentOperationCount = 2
    let overlap = Overlap()
    await withTaskGroup { group in
      for _ in 0..<200 {
        group.addTask(executorPreference: queue.taskExecutor) {
          overlap.enter()
          overlap.leave()
          await Task.yield()
        }
      }
    }
    #expect((1...2).contains(overlap.most))
  }

  @Test func `a task goes on although the operations of its queue are cancelled`() async {
    let queue = queue
    queue.isSuspended = true
    let task = Task(executorPreference: queue.taskExecutor) {
      await Task.yield()
      return 7
    }
    #expect(await eventually { queue.operationCount == 1 })
    queue.cancelAllOperations()
    queue.isSuspended = false
    #expect(await task.value == 7)
    #expect(!task.isCancelled)
  }

  @Test func `a suspended queue holds its tasks up, and cancelled ones, too`() async {
    let queue = queue
    queue.isSuspended = true
    let started = Log<Bool>()
    let task = Task(executorPreference: queue.taskExecutor) { started.append(Task.isCancelled) }
    #expect(await eventually { queue.operationCount == 1 })
    task.cancel()
    #expect(started.entries.isEmpty)
    queue.isSuspended = false
    await task.value
    #expect(started.entries == [true])
  }

  @Test func `a queue that is shut down still runs the jobs of tasks`() async throws {
    let queue = queue
    let promise = Promise<Int>()
    let task = Task(executorPreference: queue.taskExecutor) { try await promise.value }
    _ = try await queue.shutDown(within: .zero).value
    promise.succeed(with: 7)
    #expect(try await task.value == 7)
    let later = Task(executorPreference: queue.taskExecutor) { 8 }
    #expect(await later.value == 8)
  }

  @Test func `10,000 tasks all run, and the queue is released afterwards`() async {
    weak var last: OperationQueue?
    do {
      let queue = OperationQueue()
      last = queue
      let executor = queue.taskExecutor
      let sum = await withTaskGroup(of: Int.self) { group in
        for number in 0..<10_000 {
          group.addTask(executorPreference: executor) { number }
        }
        return await group.reduce(0, +)
      }
      #expect(sum == 49_995_000)
    }
    #expect(await eventually { last == nil })
  }

  @Test func `a wait for the slot that the task itself holds is refused`() async {
    let queue = queue
    queue.maxConcurrentOperationCount = 1
    let future = Promise<Int>()
    let derived = future.mapToValue(on: queue) { $0 + 1 }
    let task = Task(executorPreference: queue.taskExecutor) { () -> String in
      future.succeed(with: 1)
      return waitResult(of: derived)
    }
    #expect(await task.value.contains("would"))
  }

  // MARK: Actors

  @Test func `the methods of an actor run in operations of its queue, in the order of the calls`()
    async
  {
    let ledger = Ledger(on: queue.serialExecutor)
    #expect(await ledger.queue() === queue)
    for entry in 0..<100 { await ledger.add(entry) }
    #expect(await ledger.entries == Array(0..<100))
  }

  @Test(arguments: [1, 2, OperationQueue.defaultMaxConcurrentOperationCount])
  func `methods of an actor exclude each other, whatever the limit of the queue is`(
    _ limit: Int
  ) async {
    queue.maxConcurrentOperationCount = limit
    let ledger = Ledger(on: queue.serialExecutor)
    let areAlone = await withTaskGroup(of: Bool.self) { group in
      for _ in 0..<1_000 { group.addTask { await ledger.isAlone() } }
      return await group.reduce(true) { $0 && $1 }
    }
    #expect(areAlone)
    #expect(await ledger.entries.count == 100_000)
  }

  @Test func `all actors of a queue share one executor`() async {
    let executor = queue.serialExecutor
    #expect(queue.serialExecutor === executor)
    #expect(OperationQueue().serialExecutor !== executor)
    let first = Ledger(on: executor)
    let second = Ledger(on: queue.serialExecutor)
    #expect(await first.mayUse(second))
  }

  @Test func `an operation of a serial queue may use the state of its actors`() async throws {
    queue.maxConcurrentOperationCount = 1
    let ledger = Ledger(on: queue.serialExecutor)
    let count = Promises.run(on: queue) { ledger.assumeIsolated { $0.entries.count } }
    #expect(try await count.value == 0)
  }

  #if os(Linux) || os(macOS)
    @Test func `other code may not`() async {
      await #expect(processExitsWith: .failure) {
        useWithoutIsolation(Ledger(on: OperationQueue().serialExecutor))
      }
    }
  #endif

  @Test func `an actor goes on although the operations of its queue are cancelled`() async {
    let ledger = Ledger(on: queue.serialExecutor)
    queue.isSuspended = true
    let queue = queue
    let call = Task { await ledger.add(1) }
    #expect(await eventually { queue.operationCount == 1 })
    queue.cancelAllOperations()
    queue.isSuspended = false
    await call.value
    #expect(await ledger.entries == [1])
  }

  @Test func `an actor and its executor are released, and the queue`() async {
    weak var last: Ledger?
    weak var lastQueue: OperationQueue?
    weak var lastExecutor: QueueSerialExecutor?
    do {
      let queue = OperationQueue()
      let ledger = Ledger(on: queue.serialExecutor)
      (last, lastQueue, lastExecutor) = (ledger, queue, queue.serialExecutor)
      await ledger.add(1)
    }
    #expect(await eventually { last == nil && lastExecutor == nil && lastQueue == nil })
  }

  @Test func `the description names the queue`() {
    queue.name = "disk"
    #expect(queue.taskExecutor.description == #"task executor of the operation queue "disk""#)
    #expect(queue.serialExecutor.description == #"serial executor of the operation queue "disk""#)
  }
}

/// Reads the current queue where the compiler forbids it, in an async function.
private func currentQueue() -> OperationQueue? { .current }

private func waitResult(of future: Future<Int>) -> String {
  do { return "\(try future.wait())" } catch { return "\(error)" }
}

private func useWithoutIsolation(_ ledger: Ledger) { ledger.assumeIsolated { _ in } }
