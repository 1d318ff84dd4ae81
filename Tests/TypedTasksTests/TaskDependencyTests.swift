import Foundation
import Futures
import TestSupport
import Testing
import TypedTasks

@Suite("Dependencies", .timeLimit(.minutes(5)), .oneAtATime)
struct TaskDependencyTests {
  private let queue = TaskQueue()

  @Test("28. A task begins when all dependencies have ended, however they did")
  func dependencies() async {
    let done = Manual<Int>()
    let failed = Manual<Int>()
    let cancelled = Manual<Int>()
    let task = Manual<Int>().addDependency(done).addDependency(failed).addDependency(cancelled)
    #expect(task.dependencies.count == 3)
    queue.addAll([task, done, failed, cancelled])
    await cancelled.started.opened()
    await failed.started.opened()
    await done.started.opened()
    done.finish(with: .success(1))
    failed.finish(with: .failure(.provided(.first)))
    cancelled.cancel()
    #expect(task.executions.value == 0)
    cancelled.finish(with: .failure(.internal(ProducerTaskError.cancelled)))
    await task.started.opened()
    task.finish(with: .success(1))
    #expect(task.dependencies == [])
  }

  @Test("28. A dependency that is no task counts too")
  func operations() async {
    let operation = BlockOperation {}
    let promise = Promises.make(promising: Int.self)
    let task = Manual<Int>()
    task.addDependency(operation)
    task.addDependency(promise)
    queue.addTask(task)
    OperationQueue().addOperation(operation)
    operation.waitUntilFinishedAnywhere()
    #expect(task.executions.value == 0)
    promise.succeed(with: 1)
    #expect(await task.started.opened())
    task.finish(with: .success(1))
  }

  @Test("29. Dependencies are added in a chain, taken back, and ignored once it executes")
  func chaining() async {
    let never = Manual<Int>()
    let other: ProducerTask<String, Never> = NonFailBlockProducerTask { _, finish in
      finish(.success(""))
    }
    let task = Manual<Int>().addDependency(never).addDependency(other).removeDependency(other)
    #expect(task.dependencies == [never])
    queue.addTask(task)
    #expect(!task.isReady)
    task.removeDependency(never)
    #expect(await task.started.opened())
    task.addDependency(never)
    task.finish(with: .success(1))
    #expect(await task.outcome() == .success)
    never.cancel()
  }

  @Test("29. A dependency that comes before the task executes holds it back")
  func lateDependency() async {
    let suspended = TaskQueue(startSuspended: true)
    let gate = Manual<Int>()
    let task = Manual<Int>()
    suspended.addTask(task)
    #expect(task.isReady)
    task.addDependency(gate)
    let behind = succeeding(1)
    suspended.maxConcurrentTaskCount = 1
    suspended.addTask(behind)
    suspended.isSuspended = false
    // It has given its slot up.
    #expect(await behind.outcome() == .success)
    #expect(task.executions.value == 0)
    queue.addTask(gate)
    await gate.started.opened()
    gate.finish(with: .success(1))
    #expect(await task.started.opened())
    task.finish(with: .success(1))
  }

  @Test("30. A dependency of a stage holds back that stage, not what is above it")
  func stage() async {
    let gate = Manual<Int>()
    let upstream = Manual<Int>()
    let stage = upstream.map { $0 + 1 }.addDependency(gate)
    let below = stage.map { $0 + 1 }
    queue.addTask(below)
    #expect(await upstream.started.opened())
    upstream.finish(with: .success(1))
    #expect(stage.produced == nil)
    queue.addTask(gate)
    await gate.started.opened()
    gate.finish(with: .success(1))
    #expect(await below.outcome() == .success)
    #expect(below.success == 3)
  }

  @Test("31. Dependencies on tasks in other queues work")
  func otherQueue() async {
    let other = TaskQueue()
    let gate = Manual<Int>()
    let task = Manual<Int>().addDependency(gate)
    queue.addTask(task)
    other.addTask(gate)
    await gate.started.opened()
    #expect(task.executions.value == 0)
    gate.finish(with: .success(1))
    #expect(await task.started.opened())
    task.finish(with: .success(1))
  }

  @Test("Tasks that wait in a circle are found out, with the way round, and the others go on")
  func cycle() async {
    let (a, b, c) = (Manual<Int>(name: "a"), Manual<Int>(name: "b"), Manual<Int>(name: "c"))
    a.addDependency(b)
    b.addDependency(c)
    c.addDependency(a)
    queue.addAll([a, b, c])
    #expect(await c.outcome() == .cycle(["c", "a", "b", "c"]))
    #expect(await b.started.opened())
    b.finish(with: .success(1))
    #expect(await a.started.opened())
    a.finish(with: .success(1))
    let own = Manual<Int>(name: "own")
    own.addDependency(own)
    queue.addTask(own)
    #expect(await own.outcome() == .cycle(["own", "own"]))
  }

  @Test("A circle that is closed when the tasks wait already is found out")
  func lateCycle() async {
    let gate = Manual<Int>()
    let (a, b) = (Manual<Int>(name: "a"), Manual<Int>(name: "b"))
    a.addDependency(gate)
    b.addDependency(a)
    queue.addAll([a, b])
    a.addDependency(b)
    #expect(a.kind == .cycle(["a", "b", "a"]))
    #expect(await b.started.opened())
    b.finish(with: .success(1))
    gate.cancel()
  }

  @Test("A circle behind a dependency that came late is found out when its last task is enqueued")
  func lateCycleThroughAnother() async {
    let (a, b, c) = (Manual<Int>(name: "a"), Manual<Int>(name: "b"), Manual<Int>(name: "c"))
    // (Made last and enqueued first, so that the others are taken for closed.)
    let gate = Manual<Int>()
    a.addDependency(gate)
    b.addDependency(a)
    c.addDependency(b)
    queue.addAll([gate, a, b])
    // (What is in no queue closes no circle.)
    a.addDependency(c)
    #expect(a.kind == nil)
    queue.addTask(c)
    #expect(c.kind == .cycle(["c", "b", "a", "c"]))
    #expect(await gate.started.opened())
    gate.finish(with: .success(1))
    #expect(await a.started.opened())
    a.finish(with: .success(1))
    #expect(await b.started.opened())
    b.finish(with: .success(1))
  }

  @Test("many dependencies are each waited for once, can be taken back, and take linear time")
  func manyDependencies() async throws {
    let (few, many) = (Counter(), 30_000)
    let queue = TaskQueue()
    let gates = (0..<many).map { _ in EmptyTask() }
    let task = Sample<Int> { _, finish in finish(.success(few.add())) }
    for _ in 0..<2 { for gate in gates { task.addDependency(gate) } }
    #expect(task.dependencies.count == many)
    task.removeDependency(gates[20_000])
    task.addDependency(gates[20_000])
    task.removeDependency(gates[5])
    #expect(task.dependencies.count == many - 1)
    queue.addTask(task)
    for (number, gate) in gates.enumerated() where number != 5 { queue.addTask(gate) }
    #expect(try await task.value == 1)
  }
}

extension Operation {
  /// For tests that may block for a moment.
  func waitUntilFinishedAnywhere() { waitUntilFinished() }
}
