import Foundation
import Futures
import TestSupport
import Testing
import TypedTasks

/// What programs found that were written from the documentation alone.
@Suite("Findings of strangers", .timeLimit(.minutes(5)), .oneAtATime)
struct FindingsOfStrangersTests {
  private func cyclePath<Output: Sendable>(of task: ProducerTask<Output, TestError>) -> [String]? {
    guard case .failure(.internal(ProducerTaskError.cycle(let path)))? = task.produced else {
      return nil
    }
    return path
  }

  @Test(
    "a group that depends on one of its members fails as a circle and cancels it, whenever it was said",
    arguments: ["before", "after", "inside"])
  func groupWaitsForMember(_ order: String) async {
    let member = Sample<Int>(name: "member") { _, finish in finish(.success(1)) }
    let group: GroupProducerTask<Void, TestError>
    switch order {
    case "before":
      group = GroupTask(name: "group", tasks: [])
      group.addDependency(member)
      group.addTask(member)
    case "after":
      group = GroupTask(name: "group", tasks: [member])
      group.addDependency(member)
    default:
      group = GroupTask(name: "group", tasks: [GroupTask<TestError>(name: "in", tasks: [member])])
      group.addDependency(member)
    }
    TaskQueue().addTask(group)
    _ = await group.completion
    _ = await member.completion
    #expect(
      cyclePath(of: group)
        == (order == "inside"
          ? ["group", "member", "in", "group"] : ["group", "member", "group"]))
    #expect(member.isCancelled)
  }

  @Test("a task that depends on a member of a group that waits for it closes a circle")
  func groupWaitsForTaskBehindMember() async {
    let member = succeeding(1)
    let group = GroupTask<TestError>(name: "group", tasks: [member])
    let behind = Sample<Int>(name: "behind") { _, finish in finish(.success(1)) }
    behind.addDependency(member)
    group.addDependency(behind)
    let queue = TaskQueue()
    queue.addTask(behind)
    queue.addTask(group)
    _ = await group.completion
    _ = await behind.completion
    #expect(cyclePath(of: group)?.first == "group")
  }

  @Test("a group may depend on a task of another group, begun or not")
  func groupWaitsForForeignMember() async throws {
    let member = succeeding(1)
    let other = GroupTask<TestError>(name: "other", tasks: [member])
    let group = GroupTask<TestError>(name: "group", tasks: [succeeding(2)])
    group.addDependency(member)
    let queue = TaskQueue()
    queue.addTask(group)
    queue.addTask(other)
    try await group.value
    #expect(member.isFinished)
  }

  @Test("a producer goes on when a stage on it is cancelled, as long as a consumer waits for it")
  func consumerWants() async throws {
    let queue = TaskQueue()
    let producer = Manual<Int>()
    let consumer = BlockConsumerProducerTask<Int, Int, TestError>(producing: producer) {
      _, consumed, finish in finish(consumed)
    }
    let stage = producer.map { $0 }
    queue.addTask(producer)
    queue.addTask(consumer)
    queue.addTask(stage)
    await producer.started.opened()
    stage.cancel()
    #expect(!producer.isCancelled)
    producer.finish(with: .success(3))
    #expect(try await consumer.value == 3)
  }

  @Test(
    "cancelling the last one who wanted a producer asks it to cancel, unless the user added it")
  func lastConsumerCancelled() async {
    let queue = TaskQueue()
    let producer = Manual<Int>()
    let consumers = (0..<2).map { _ in
      BlockConsumerProducerTask<Int, Int, TestError>(producing: producer) {
        _, consumed, finish in finish(consumed)
      }
    }
    // (It looks on.)
    let dependent = succeeding(1).addDependency(producer)
    for task: AnyFuture in [producer, dependent] + consumers { queue.addOperation(task) }
    await producer.started.opened()
    consumers[0].cancel()
    #expect(consumers[0].kind == .cancelled && !producer.isCancelled)
    consumers[1].cancel()
    #expect(consumers[1].kind == .cancelled && !producer.isCancelled && !producer.isFinished)
    producer.finish(with: .success(1))
    #expect(await dependent.outcome() == .success)
    // The same where the library has added the producer.
    let other = Manual<Int>()
    let stage = BlockConsumerProducerTask<Int, Int, TestError>(producing: other) {
      _, consumed, finish in finish(consumed)
    }.map { $0 }
    queue.addTask(stage)
    await other.started.opened()
    stage.cancel()
    #expect(other.isCancelled)
    other.finish(with: .success(1))
    // One that is in no queue yet stays as it is.
    let idle = succeeding(2)
    let early = BlockConsumerProducerTask<Int, Int, TestError>(producing: idle) {
      _, consumed, finish in finish(consumed)
    }
    queue.addTask(early)
    early.cancel()
    queue.addTask(idle)
    #expect(await idle.outcome() == .success)
    await queue.finished()
  }

  @Test("cancelling all that want a producer leaves it alone if the user has added it")
  func consumerCancelled() async throws {
    let queue = TaskQueue()
    let producer = Manual<Int>()
    let consumer = BlockConsumerProducerTask<Int, Int, TestError>(producing: producer) {
      _, consumed, finish in finish(consumed)
    }
    let stage = producer.map { $0 }
    for task: AnyFuture in [producer, consumer, stage] { queue.addOperation(task) }
    await producer.started.opened()
    consumer.cancel()
    #expect(consumer.isFinished && !producer.isCancelled)
    stage.cancel()
    #expect(!producer.isCancelled)
    producer.finish(with: .failure(.internal(ProducerTaskError.cancelled)))
    _ = await producer.completion
  }

  @Test("recovering from a type of error takes the error that a typed task fails with")
  func recoverFromProvidedError() async throws {
    let queue = TaskQueue()
    let (provided, inside, other) = (failing(Int.self, with: .second), broken(), failing(Int.self))
    for task in [provided, inside, other] { queue.addTask(task) }
    let recovered = provided.recover(on: .inline, from: TestError.self) { error in
      error == .second ? 2 : 0
    }
    #expect(try await recovered.value == 2)
    #expect(try await inside.recover(on: .inline, from: InnerError.self) { _ in 3 }.value == 3)
    await #expect(throws: ProducerTaskProtocolError<TestError>.provided(.first)) {
      try await other.recover(on: .inline, from: CocoaError.self) { _ in 4 }.value
    }
  }

  @Test("a description names what a task waits for, operations without a name too")
  func descriptionOfWaiting() async {
    let task = succeeding(1)
    task.addDependency(BlockOperation {})
    for number in 1...3 {
      let operation = BlockOperation {}
      operation.name = "operation \(number)"
      task.addDependency(operation)
    }
    let queue = TaskQueue()
    queue.addTask(task)
    #expect(
      task.description.contains("waiting for BlockOperation, operation 1, operation 2, 1 more)"))
    task.cancel()
  }

  @Test("a condition that is not met does not advise to add a task twice")
  func adviceOfCondition() async throws {
    let task = succeeding(1).addCondition(BlockCondition(name: "disk") { _ in false })
    TaskQueue().addTask(task)
    _ = await task.completion
    guard case .failure(let error)? = task.produced else {
      Issue.record("\(task)")
      return
    }
    #expect(error.localizedDescription.contains("\"disk\" was not met. Add a new task when it is."))
  }

  @Test("tasks that have ended leave nothing behind in the table of categories")
  func noClaimsLeft() async throws {
    enum Category {}
    for _ in 0..<100 {
      let queue = TaskQueue()
      let late = EmptyTask()
      let chain = succeeding(1).flatMap { succeeding($0 + 1) }.map { $0 }
      let failed = failing().catch { _ in succeeding(2) }.retry(1) { _ in succeeding(3) }
      let waiting = succeeding(4).addDependency(late)
      let group = GroupTask<TestError>(tasks: [])
      group.addTask(succeeding(5).addCondition(Conditions.MutuallyExclusive(Category.self)))
      let consumed = Sample<Int> { _, finish in finish(.success(6)) }
      let consumer = BlockConsumerProducerTask<Int, Int, TestError>(producing: consumed) {
        _, consumed, finish in finish(consumed)
      }
      for task: AnyFuture in [chain, failed, waiting, group, late, consumer, consumed] {
        queue.addOperation(task)
      }
      for task in [chain, failed, waiting, consumer] { _ = try await task.value }
      try await group.value
      // Never run.
      let dropped = succeeding(7)
      dropped.addDependency(EmptyTask())
      GroupTask<TestError>(tasks: []).addTask(succeeding(8))
    }
    #expect(await eventually { noCategoryIsClaimed() })
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
