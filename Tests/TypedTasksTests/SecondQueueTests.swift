import Foundation
import Futures
import TestSupport
import Testing
import TypedTasks

@Suite("A task that is added twice", .timeLimit(.minutes(5)), .oneAtATime)
struct SecondQueueTests {
  private final class Delegate: TaskQueueDelegate {
    let rejected = Log<String>()

    func taskQueue<T: ProducerTaskProtocol>(
      _ queue: TaskQueue, didReject task: T, error: ProducerTaskError
    ) {
      if case .alreadyEnqueued(let name) = error { rejected.append(name) }
    }
  }

  @Test("It stays in its first queue, whatever it is doing, and the other delegate is told")
  func everyPhase() async {
    let (first, second) = (TaskQueue(), TaskQueue())
    let delegate = Delegate()
    second.delegate = delegate
    let gate = Manual<Int>()
    let task = Manual<Int>().addDependency(gate)
    task.name = "task"
    first.addTask(task)
    // It waits for a dependency.
    second.addTask(task)
    second.addOperation(task)
    #expect(task.kind == nil && first.taskCount == 1 && second.taskCount == 0)
    first.addTask(gate)
    await gate.started.opened()
    gate.finish(with: .success(1))
    await task.started.opened()
    // It executes.
    second.addTask(task)
    task.finish(with: .success(2))
    #expect(await task.outcome() == .success)
    // It has finished.
    second.addTask(task)
    await first.finished()
    await second.finished()
    #expect(task.success == 2)
    #expect(task.executions.value == 1)
    #expect(delegate.rejected.entries == ["task", "task", "task", "task"])
    withExtendedLifetime(delegate) {}
  }

  @Test("It waits for its conditions, for a category or for a slot, and goes on")
  func waitingTasks() async {
    enum Category {}
    let (first, second) = (TaskQueue(maxConcurrentTaskCount: 1), TaskQueue())
    let condition = ManualCondition()
    let asking = succeeding(1).addCondition(condition)
    first.addTask(asking)
    await condition.asked.opened()
    let holder = Manual<Int>().addCondition(.mutuallyExclusive(Category.self))
    first.addTask(holder)
    await holder.started.opened()
    let excluded = exclusive(Category.self)
    let queued = succeeding(1)
    first.addAll([excluded, queued])
    for task in [asking, excluded, queued] { second.addTask(task) }
    #expect(second.taskCount == 0)
    condition.answer(.success)
    holder.finish(with: .success(1))
    for task in [asking, excluded, queued] { #expect(await task.outcome() == .success) }
    await first.finished()
  }

  @Test("A task that a group and a queue get at the same moment runs once, and the group waits")
  func groupAndQueue() async {
    let ended = await RaceHarness(threads: 2, rounds: 1000).run { _ in
      let executions = Counter()
      let member = Sample<Int> { _, finish in
        executions.add()
        finish(.success(1))
      }
      let group = GroupTask<TestError>(tasks: [member])
      group.receive { [unowned member] _ in
        if !member.isFinished { Issue.record("the group has not waited") }
      }
      return (member, group, TaskQueue(), executions)
    } act: { scene, thread in
      if thread == 0 { scene.2.addTask(scene.1) } else { TaskQueue().addTask(scene.0) }
    } check: { scene, _ in
      scene.1.waitUntilFinished()
      scene.0.waitUntilFinished()
      scene.2.waitUntilAllTasksAreFinished()
      if scene.3.value != 1 { Issue.record("executed \(scene.3.value) times") }
      if scene.2.taskCount != 0 || scene.1.innerQueue.taskCount != 0 { Issue.record("left") }
    }
    #expect(ended)
  }

  private final class Rejections: TaskQueueDelegate {
    let count = Counter()
    func taskQueue<T: ProducerTaskProtocol>(
      _ queue: TaskQueue, didReject task: T, error: ProducerTaskError
    ) { count.add() }
  }

  @Test("A task that a queue took with its consumer is added to another queue: that one rejects it")
  func rejectedByOtherQueue() async {
    let (queue, other, delegate) = (TaskQueue(), TaskQueue(), Rejections())
    queue.isSuspended = true
    other.delegate = delegate
    let task = BlockProducerTask<Int, Never> { _ in 1 }
    let consumer = task.map { $0 }
    queue.addTask(consumer)
    other.addTask(task)
    #expect(delegate.count.value == 1)
    queue.isSuspended = false
    #expect(await consumer.outcome() == .success)
  }
}
