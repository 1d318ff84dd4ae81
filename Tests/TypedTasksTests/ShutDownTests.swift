import Foundation
import Futures
import FuturesTestSupport
import OperationBridge
import TestSupport
import Testing
import TypedTasks

@Suite("Shutting a task queue down", .timeLimit(.minutes(5)), .oneAtATime)
struct ShutDownTests {
  private func isRefused(_ task: Sample<Int>) async -> Bool {
    let error = await task.completion.failureValue
    guard case .internal(let inner)? = error as? ProducerTaskProtocolError<TestError>,
      case .queueIsShutDown? = inner as? ProperationsError
    else { return false }
    return true
  }

  @Test("Tasks in the queue: continue and end, then the list is empty")
  func inTime() async throws {
    let queue = TaskQueue(name: "test")
    let first = Manual<Int>()
    let second = succeeding(2)
    second.addDependency(first)
    queue.addTasks(first, second)
    let left = queue.shutDown(within: .seconds(10), clock: ManualClock())
    await first.started.opened()
    #expect(!left.isSettled)
    first.finish(with: .success(1))
    #expect(try await left.value.isEmpty)
    #expect(try await second.value == 2)
  }

  @Test("Time is up: tasks that execute, wait for dependencies or barriers are cancelled, listed")
  func timeIsUp() async throws {
    let (queue, clock) = (TaskQueue(name: "test"), ManualClock())
    let (stubborn, waiting, behind) = (Manual<Int>(), Manual<Int>(), Manual<Int>())
    waiting.addDependency(stubborn)
    queue.addTasks(stubborn, waiting)
    await stubborn.started.opened()
    let promise = Promises.make(promising: Int.self, in: queue)
    queue.addBarrierBlock { Issue.record("the barrier ran") }
    queue.addTask(behind)
    let left = queue.shutDown(within: .seconds(10), clock: clock)
    #expect(await eventually { clock.sleeping == 1 })
    clock.advance(by: .seconds(10))
    let operations = try await left.value
    for operation in [stubborn, waiting, behind, promise] {
      #expect(operations.contains { $0 === operation })
      #expect(operation.isCancelled)
    }
    #expect(operations.count == 5)
    stubborn.finish(with: .success(1))
    await queue.finished()
    #expect(waiting.executions.value == 0 && behind.executions.value == 0)
  }

  @Test("New tasks, with their upstreams: fail with queueIsShutDown, and do not execute")
  func refusedTasks() async throws {
    let queue = TaskQueue(name: "test")
    queue.shutDown(within: .zero)
    let task = succeeding(1)
    queue.addTask(task)
    #expect(await isRefused(task))
    let other = succeeding(1)
    queue.addOperation(other)
    #expect(await isRefused(other))
    let (source, log) = (succeeding(1), Log<Int>())
    let mapped = source.map { value in
      log.append(value)
      return value
    }
    queue.addTask(mapped)
    #expect(await mapped.completion.failureValue != nil)
    #expect(log.entries.isEmpty)
    await queue.finished()
    #expect(queue.taskCount == 0)
  }

  @Test("Operations and blocks: an operation is cancelled and finishes, a block is dropped")
  func refusedOperations() async throws {
    let (queue, starts) = (TaskQueue(name: "test"), Counter())
    queue.shutDown(within: .zero)
    let operation = BlockOperation { starts.add() }
    queue.addOperation(operation)
    queue.addBlock { starts.add() }
    queue.addOperation { starts.add() }
    queue.addBarrierBlock { starts.add() }
    let promise = Promises.make(promising: Int.self)
    queue.addOperation(promise as Operation)
    #expect(await eventually { operation.isFinished && promise.isFinished })
    #expect(operation.isCancelled && promise.isCancelled)
    #expect(Promises.make(promising: Int.self, in: queue).anyError != nil)
    #expect(
      try await Promises.makeSucceeded(with: 1).mapToValue(on: queue) { $0 + 1 }.value == 2)
    await queue.finished()
    #expect(starts.value == 0)
  }

  @Test("What the tasks of the queue need and produce: is let in until the time is up")
  func letIn() async throws {
    let queue = TaskQueue(name: "test")
    let gate = Manual<Int>()
    let produced = succeeding(5)
    let flat = gate.flatMap { value in succeeding(value + 1) }
    let producer = Sample<Int> { task, finish in
      task.produce(new: produced)
      finish(.success(3))
    }
    producer.addDependency(gate)
    queue.addTask(flat)
    queue.addTask(producer)
    let left = queue.shutDown(within: .seconds(10), clock: ManualClock())
    await gate.started.opened()
    gate.finish(with: .success(1))
    #expect(try await left.value.isEmpty)
    #expect(try await flat.value == 2)
    #expect(try await produced.value == 5)
  }

  @Test("Time is up, and a task that executes produces another: it is refused")
  func producedTooLate() async throws {
    let queue = TaskQueue(name: "test")
    let (producer, produced) = (Manual<Int>(), succeeding(5))
    queue.addTask(producer)
    await producer.started.opened()
    #expect(try await queue.shutDown(within: .zero).value.count == 1)
    producer.produce(new: produced)
    #expect(await isRefused(produced))
    producer.finish(with: .success(1))
    await queue.finished()
  }

  @Test("A task that is in another queue, and is added to one that is shut down: continues")
  func elsewhere() async throws {
    let (first, second, task) = (TaskQueue(), TaskQueue(), Manual<Int>())
    second.shutDown(within: .zero)
    first.addTask(task)
    await task.started.opened()
    second.addTask(task)
    task.finish(with: .success(1))
    #expect(try await task.value == 1)
  }

  @Test("A task whose time to be added comes after the shut-down: is refused then")
  func later() async throws {
    let queue = TaskQueue()
    let task = succeeding(1)
    queue.addTaskAfter(task, deadline: .now() + 1)
    #expect(try await queue.shutDown(within: .seconds(60)).value.isEmpty)
    #expect(await isRefused(task))
  }

  @Test("From a task of the queue that blocks: it does not wait for itself")
  func fromTask() async throws {
    let queue = TaskQueue(maxConcurrentTaskCount: 1)
    let task = Sample<Int> { [queue] _, finish in
      finish(.success((try? queue.shutDown(within: .seconds(3600)).wait().count) ?? -1))
    }
    queue.addTask(task)
    #expect(try await task.value == 0)
  }

  @Test("From an async task of the queue: does not wait for itself, and is not cancelled")
  func fromAsyncTask() async throws {
    for limit in [1, 4] {
      let queue = TaskQueue(maxConcurrentTaskCount: limit)
      let task = AsyncBlockProducerTask<Int, any Error> { [queue] _ in
        try await queue.shutDown(within: .seconds(3600)).value.count
      }
      queue.addTask(task)
      #expect(await eventually { task.isFinished })
      #expect(task.success == 0)
    }
  }

  @Test("From an async task in a plain queue: does not wait for itself, and is not cancelled")
  func fromAsyncTaskInPlainQueue() async throws {
    let queue = OperationQueue()
    let promise = Promises.make(promising: Int.self, in: queue)
    let task = AsyncBlockProducerTask<Int, any Error> { [queue] _ in
      try await queue.shutDown(within: .milliseconds(1)).value.count
    }
    queue.addOperation(task)
    #expect(await eventually { task.isFinished })
    #expect(task.success == 1 && promise.isCancelled)
  }

  @Test("From a closure of queue.run with a task behind it: only that task is cancelled")
  func fromClosureOfRun() async throws {
    for isAsync in [false, true] {
      let (queue, isTold) = (TaskQueue(maxConcurrentTaskCount: 1), Event())
      let left: Future<Int> =
        isAsync
        ? queue.run { [queue] () async throws in
          #expect(await isTold.opened())
          return try await queue.shutDown(within: .milliseconds(1)).value.count
        }
        : queue.run { [queue] in
          isTold.wait()
          return try queue.shutDown(within: .milliseconds(1)).wait().count
        }
      let behind = succeeding(1)
      queue.addTask(behind)
      isTold.signal()
      #expect(try await left.value == 1)
      #expect(!left.isCancelled && behind.isCancelled)
    }
  }

  @Test("From a member of a group of the queue: the group goes on")
  func fromMember() async throws {
    for isAsync in [false, true] {
      let queue = TaskQueue()
      let block = Sample<Int> { [queue] _, finish in
        finish(.success((try? queue.shutDown(within: .seconds(3600)).wait().count) ?? -1))
      }
      let async = AsyncBlockProducerTask<Int, any Error> { [queue] _ in
        try await queue.shutDown(within: .seconds(3600)).value.count
      }
      let group = GroupProducerTask<Void, any Error>(tasks: isAsync ? [async] : [block])
      queue.addTask(group)
      #expect(await eventually { group.isFinished })
      #expect(!group.isCancelled && (isAsync ? async.success : block.success) == 0)
    }
  }

  @Test("A suspended task queue: its tasks are cancelled and listed when the time is up")
  func suspended() async throws {
    let queue = TaskQueue(startSuspended: true)
    let task = succeeding(1)
    queue.addTask(task)
    let left = try await queue.shutDown(within: .milliseconds(1)).value
    #expect(left.count == 1 && left.first === task && task.isCancelled)
    queue.isSuspended = false
    await queue.finished()
  }

  @Test("A queue that is shut down drops a block: the block does not run and is not listed")
  func droppedBlock() async throws {
    let (queue, clock) = (TaskQueue(maxConcurrentTaskCount: 1), ManualClock())
    let (stubborn, dropped) = (Manual<Int>(), BlockOperation { Issue.record("it ran") })
    queue.addTask(stubborn)
    await stubborn.started.opened()
    let left = queue.shutDown(within: .seconds(10), clock: clock)
    queue.addBlock { Issue.record("the block ran") }
    queue.addOperation(dropped)
    #expect(await eventually { clock.sleeping == 1 })
    clock.advance(by: .seconds(10))
    #expect(try await left.value == [stubborn])
    stubborn.finish(with: .success(1))
    #expect(await eventually { dropped.isFinished && queue.operationCount == 0 })
  }
}
