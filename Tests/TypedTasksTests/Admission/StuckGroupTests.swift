import Foundation
import Futures
import TestSupport
import Testing
import TypedTasks

private enum Printer {}

/// Groups that hold all slots of a queue, and whose members depend on a task that needs one.
@Suite("Groups whose members need the slot of the group", .timeLimit(.minutes(5)), .oneAtATime)
struct StuckGroupTests {
  /// A group with a member that depends on an operation, at a depth.
  private func group(waitingFor operation: Operation, depth: Int = 1) -> GroupTask<TestError> {
    let member: Sample<Int> = succeeding(1)
    member.addDependency(operation)
    return (0..<depth).reduce(into: GroupTask<TestError>(tasks: [member])) { group, level in
      if level > 0 { group = GroupTask(tasks: [group]) }
    }
  }

  private func expectEnd(
    of groups: [GroupTask<TestError>], sourceLocation: SourceLocation = #_sourceLocation
  ) async {
    for group in groups {
      #expect(await group.outcome() == .success, sourceLocation: sourceLocation)
    }
  }

  @Test(arguments: [1, 3])
  func `a member depends on a task behind its group: both run`(_ depth: Int) async {
    let queue = TaskQueue(maxConcurrentTaskCount: 1)
    let next: Sample<Int> = succeeding(1)
    let group = group(waitingFor: next, depth: depth)
    queue.addTasks(group, next)
    await expectEnd(of: [group])
  }

  @Test(arguments: [1, 2])
  func `groups fill a queue, and each has a member that depends on a task behind them all`(
    _ limit: Int
  ) async {
    let queue = TaskQueue(maxConcurrentTaskCount: limit)
    let next = (0..<4).map { _ in succeeding(1) as Sample<Int> }
    let groups = next.map { group(waitingFor: $0) }
    queue.addAll(groups)
    queue.addAll(next)
    await expectEnd(of: groups)
  }

  @Test func `a member depends on a stage whose upstream needs the slot`() async {
    let queue = TaskQueue(maxConcurrentTaskCount: 1)
    let source: Sample<Int> = succeeding(1)
    let stage = source.map { $0 + 1 }.flatMap { succeeding($0) as Sample<Int> }
    let group = group(waitingFor: stage)
    queue.addTasks(group, stage)
    await expectEnd(of: [group])
  }

  @Test func `the groups of two queues wait for tasks of each other's queue: all run`() async {
    let queues = (0..<2).map { _ in TaskQueue(maxConcurrentTaskCount: 1) }
    let next = queues.map { _ in succeeding(1) as Sample<Int> }
    let groups = next.reversed().map { group(waitingFor: $0) }
    for index in 0..<2 { queues[index].addTask(groups[index]) }
    #expect(await eventually { groups.allSatisfy(\.isExecuting) })
    for index in 0..<2 { queues[index].addTask(next[index]) }
    await expectEnd(of: groups)
  }

  @Test func `a member begins to depend on a task behind its group while the group executes`()
    async
  {
    let (queue, gate) = (TaskQueue(maxConcurrentTaskCount: 1), Promise<Int>())
    let (member, next) = (succeeding(1) as Sample<Int>, succeeding(2) as Sample<Int>)
    member.addDependency(gate)
    let group = GroupTask<TestError>(tasks: [member])
    queue.addTasks(group, next)
    #expect(await eventually { group.isExecuting })
    member.addDependency(next)
    gate.succeed(with: 1)
    await expectEnd(of: [group])
  }

  @Test func `a member depends on a plain operation behind its group`() async {
    let queue = TaskQueue(maxConcurrentTaskCount: 1)
    let operation = BlockOperation {}
    let group = group(waitingFor: operation)
    queue.addTask(group)
    queue.addOperation(operation)
    await expectEnd(of: [group])
  }

  @Test func `a member waits for the category of a retry whose attempt needs the slot`() async {
    let queue = TaskQueue(maxConcurrentTaskCount: 1)
    let gate = Promise<Int>()
    let retry = Tasks.retry(RetryPolicy(attempts: 2)) { _ in
      succeeding(1).addDependency(gate, Promises.makeSucceeded(with: 1))
    }
    .addCondition(.mutuallyExclusive(Printer.self))
    queue.addTask(retry)
    #expect(await eventually { retry.isExecuting })
    let group = GroupTask<TestError>(tasks: [exclusive(Printer.self)])
    queue.addTask(group)
    #expect(await eventually { group.isExecuting })
    gate.succeed(with: 1)
    await expectEnd(of: [group])
    #expect(await retry.outcome() == .success)
  }

  @Test func `a queue gets a limit while a group executes whose member depends on a task behind`()
    async
  {
    let (queue, gate, next) = (TaskQueue(), Promise<Int>(), succeeding(1) as Sample<Int>)
    next.addDependency(gate)
    let group = group(waitingFor: next)
    queue.addTasks(group, next)
    #expect(await eventually { group.isExecuting })
    queue.maxConcurrentTaskCount = 1
    gate.succeed(with: 1)
    await expectEnd(of: [group])
  }

  @Test func `a group that timed out does not keep what a member in another queue needs`() async {
    let (queue, other, clock) = (
      TaskQueue(maxConcurrentTaskCount: 1), TaskQueue(), ManualClock()
    )
    // One needs the slot of the group, and one its category.
    let (next, member) = (succeeding(1) as Sample<Int>, exclusive(Printer.self))
    let group = GroupTask<TestError>(tasks: [next, member])
      .addCondition(.mutuallyExclusive(Printer.self))
      .addObserver(.timeout(.seconds(1), clock: clock))
    let gate = Promise<Int>()
    next.addDependency(gate)
    member.addDependency(gate)
    // Before the group, which would take them into its own queue.
    queue.addTask(next)
    other.addTask(member)
    queue.addTask(group)
    #expect(await eventually { group.isExecuting && clock.sleeping > 0 })
    clock.advance(by: .seconds(1))
    #expect(await group.outcome() == .timeout)
    gate.succeed(with: 1)
    #expect(await next.outcome() == .success)
    #expect(await member.outcome() == .success)
  }

  @Test func `a gated task waits for an operation behind it in its queue`() async {
    let queue = TaskQueue(maxConcurrentTaskCount: 1, startSuspended: true)
    let next: Sample<Int> = succeeding(1)
    let gated = GatedTask(operation: next)
    queue.addTasks(gated, next)
    queue.isSuspended = false
    #expect(await gated.outcome() == .success)
  }

  @Test func `a group keeps its slot while its members wait for others than tasks of the queue`()
    async
  {
    let (queue, gate) = (TaskQueue(maxConcurrentTaskCount: 1), Promise<Int>())
    let group = group(waitingFor: gate)
    let next: Sample<Int> = succeeding(1)
    queue.addTasks(group, next)
    #expect(await eventually { group.isExecuting })
    // Longer than the library waits before it looks for the first time.
    let other = Promises.delay(for: .milliseconds(400))
    _ = await other.completion
    #expect(!next.isExecuting && !next.isFinished)
    gate.succeed(with: 1)
    #expect(await group.outcome() == .success)
    #expect(await next.outcome() == .success)
  }
}
