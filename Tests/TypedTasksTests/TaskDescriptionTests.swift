import Foundation
import Futures
import FuturesTestSupport
import TestSupport
import Testing
import TypedTasks

@Suite("Descriptions of tasks and queues", .timeLimit(.minutes(5)), .oneAtATime)
struct TaskDescriptionTests {
  @Test func `the description of a queue has the members of groups, and their waits`() async {
    let (queue, gate) = (TaskQueue(name: "work"), Promise<Int>())
    let (first, second) = (succeeding(1) as Sample<Int>, succeeding(2) as Sample<Int>)
    first.name = "first"
    second.name = "second"
    gate.name = "gate"
    first.addDependency(gate)
    second.addDependency(first)
    let inner = GroupTask<TestError>(name: "inner", tasks: [first, second])
    let outer = GroupTask<TestError>(name: "outer", tasks: [inner])
    queue.addTask(outer)
    #expect(await eventually { second.debugDescription.contains("waiting for first") })
    #expect(
      queue.debugDescription.split(separator: "\n").map(String.init) == [
        #"TaskQueue "work" (tasks: 1)"#, "  \(outer.debugDescription)",
        "    \(inner.debugDescription)", "      \(first.debugDescription)",
        "      \(second.debugDescription)",
      ])
    #expect(first.debugDescription.contains("waiting for gate"))
    gate.succeed(with: 1)
    #expect(await outer.outcome() == .success)
  }

  @Test func `a group whose members have not begun is described with them`() async {
    let (queue, gate) = (TaskQueue(name: "work"), Promise<Int>())
    let member: Sample<Int> = succeeding(1)
    let group = GroupTask<TestError>(name: "group", tasks: [member])
    group.addDependency(gate)
    queue.addTask(group)
    #expect(queue.debugDescription.hasSuffix("    \(member.debugDescription)"))
    gate.succeed(with: 1)
    #expect(await group.outcome() == .success)
  }

  @Test("A task that timed out describes itself as failed; one that was cancelled, as cancelled")
  func descriptionAfterTimeout() async {
    let clock = ManualClock()
    let gate = Event()
    let slow = BlockProducerTask<Void, Never> { _ in _ = gate.wait() }
    slow.addObserver(.timeout(.seconds(1), clock: clock))
    TaskQueue().addTask(slow)
    #expect(await eventually { clock.sleeping == 1 })
    clock.advance(by: .seconds(1))
    #expect(await eventually { slow.isFinished })
    #expect("\(slow)".contains("failed"))
    gate.signal()
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
}
