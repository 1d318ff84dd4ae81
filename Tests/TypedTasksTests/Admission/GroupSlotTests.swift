import Foundation
import Futures
import OperationBridge
import TestSupport
import Testing
import TypedTasks

@Suite("The slot of a group", .timeLimit(.minutes(5)), .oneAtATime)
struct GroupSlotTests {
  /// A queue that counts how often its limit is read.
  private final class ReadQueue: TaskQueue, @unchecked Sendable {
    let reads = Counter()

    override var maxConcurrentOperationCount: Int {
      get {
        reads.add()
        return super.maxConcurrentOperationCount
      }
      set { super.maxConcurrentOperationCount = newValue }
    }
  }

  @Test(
    "A member's handler needs the only slot of the group's queue: the group gives it back and ends")
  func handlerNeedsSlot() async {
    let (queue, log) = (TaskQueue(maxConcurrentTaskCount: 1), Log<Int>())
    let member = BlockProducerTask<Void, Never> { _ in }
    member.receive(on: queue) { _ in log.append(1) }
    let group = GroupProducerTask<Void, Never>(tasks: [
      GroupProducerTask<Void, Never>(tasks: [member])
    ])
    queue.addTask(group)
    #expect(await group.outcome() == .success)
    #expect(log.entries == [1])
  }

  @Test("1,000 groups need the only slot, and their members a task added last: all end at once")
  func groupsGiveTheSlotBack() async {
    let queue = TaskQueue(maxConcurrentTaskCount: 1)
    let late = EmptyTask()
    for _ in 0..<1_000 {
      queue.addTask(NonFailGroupTask(tasks: [EmptyTask().addDependency(late)]))
    }
    queue.addTask(late)
    #expect(await late.outcome() == .success)
    await queue.finished()
  }

  @Test("1,000 groups need the only slot, and a flatMap in each a task that waits: all end at once")
  func groupsOfOperatorsGiveTheSlotBack() async {
    // Suspended: a group that begins before the task is in the queue would take it inside.
    let queue = TaskQueue(maxConcurrentTaskCount: 1, startSuspended: true)
    let late = NonFailBlockProducerTask<Int> { _ in 1 }
    for _ in 0..<1_000 {
      queue.addTask(NonFailGroupTask(tasks: [succeeding(1).flatMap { _ in late }]))
    }
    queue.addTask(late)
    queue.isSuspended = false
    #expect(await late.outcome() == .success)
    await queue.finished()
  }

  @Test("The limit is zero for a while, and then a member needs the group's slot: the group ends")
  func limitIsZeroForAWhile() async {
    let queue = ReadQueue(maxConcurrentTaskCount: 1)
    let (needed, first) = (succeeding(1), Manual<Int>())
    let group = GroupProducerTask<Void, TestError>(tasks: [
      first, succeeding(2).addDependency(needed),
    ])
    queue.addTask(group)
    #expect(await first.started.opened())
    queue.maxConcurrentOperationCount = 0
    // The group looks at its slot, and finds that the queue has none.
    let reads = queue.reads.value
    #expect(await eventually { queue.reads.value > reads })
    queue.maxConcurrentOperationCount = 1
    queue.addTask(needed)
    first.finish(with: .success(1))
    #expect(await group.outcome() == .success)
  }

  @Test("The limit of a queue is changed a thousand times: a group looks at its slot as before")
  func limitChangesOften() async {
    let (queue, member) = (ReadQueue(maxConcurrentTaskCount: 1), Manual<Int>())
    let group = GroupProducerTask<Void, TestError>(tasks: [member])
    queue.addTask(group)
    #expect(await member.started.opened())
    for _ in 0..<1_000 {
      queue.maxConcurrentTaskCount = OperationQueue.defaultMaxConcurrentOperationCount
      queue.maxConcurrentTaskCount = 1
    }
    let reads = queue.reads.value
    #expect(await eventually { queue.reads.value > reads + 5 })
    #expect(queue.reads.value < reads + 100)
    member.finish(with: .success(1))
    #expect(await group.outcome() == .success)
  }

  @Test("Forty layers of two groups are around one task: another group gives its slot back")
  func layersOfGroups() async {
    let (queue, other, blocked) = (
      TaskQueue(maxConcurrentTaskCount: 1), TaskQueue(maxConcurrentTaskCount: 1), Manual<Int>()
    )
    var layer: [any ProducerTaskProtocol] = [blocked]
    for _ in 0..<40 {
      let tasks = layer
      layer = (0..<2).map { _ in GroupTask<TestError>(tasks: tasks) }
    }
    let outermost = GroupTask<TestError>(tasks: layer)
    queue.addTask(outermost)
    #expect(await blocked.started.opened())
    // The library looks at the first group before it looks at this one.
    let member: Sample<Int> = succeeding(1)
    member.receive(on: other).receive { _ in }
    let group = GroupTask<TestError>(tasks: [member])
    other.addTask(group)
    #expect(await eventually { group.isFinished })
    blocked.finish(with: .success(1))
    #expect(await outermost.outcome() == .success)
  }
}
