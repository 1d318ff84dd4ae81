import Foundation
import Futures
import FuturesTestSupport
import TestSupport
import Testing
import TypedTasks

@Suite(
  "What programs written from the documentation found in tasks", .timeLimit(.minutes(5)),
  .oneAtATime)
struct FindingsOfOutsideProgramsTests {
  // MARK: Members

  @Test(
    "Members are listed before the members that they depend on: the group succeeds",
    arguments: [(10, 0), (2, 40), (100, 100)])
  func membersFromTheFarEnd(count: Int, waiting: Int) async {
    let queue = TaskQueue()
    let members = (0..<count).map { succeeding($0) as Sample<Int> }
    for (member, next) in zip(members, members.dropFirst()) { next.addDependency(member) }
    let group = GroupTask<TestError>(tasks: members.reversed() as [any ProducerTaskProtocol])
    let later = (0..<waiting).map { (succeeding($0) as Sample<Int>).addDependency(group) }
    queue.addTasks(later as [any ProducerTaskProtocol])
    queue.addTask(group)
    #expect(await group.outcome() == .success)
    for task in later { #expect(await task.outcome() == .success) }
  }

  @Test("A member depends on a sibling that waits for the group: one of them fails as a cycle")
  func cycleThroughSibling() async {
    let queue = TaskQueue()
    let (first, second): (Sample<Int>, Sample<Int>) = (succeeding(1), succeeding(2))
    let group = GroupTask<TestError>(tasks: (first, second))
    let outside: Sample<Int> = succeeding(3)
    outside.addDependency(group)
    first.addDependency(outside)
    second.addDependency(first)
    queue.addTasks(outside, group)
    _ = await group.outcome()
    // Their results are known; as operations they end on the threads that tell them.
    #expect(
      await eventually {
        group.isFinished && outside.isFinished && first.isFinished && second.isFinished
      })
    let all =
      [first, second, outside].map { "\($0.produced as Any)" } + ["\(group.produced as Any)"]
    #expect(all.contains { $0.contains("cycle") })
  }

  @Test("A waiting group gets a member for which the outer group waits: it fails as a cycle")
  func cycleThroughWaitingGroup() async {
    let queue = TaskQueue()
    let inner = GroupTask<TestError>()
    let outer = GroupTask<TestError>(tasks: inner)
    let member: Sample<Int> = succeeding(1)
    outer.addDependency(member)
    queue.addTask(outer)
    inner.addTask(member)
    #expect(await eventually { "\(member.produced as Any)".contains("cycle") })
    if !member.isFinished { outer.cancel() }
    _ = await outer.outcome()
    #expect(await eventually { outer.isFinished && inner.isFinished })
  }

  @Test("Many members depend on each other in a circle: the group ends, and one fails as a cycle")
  func circleOfMembers() async {
    let queue = TaskQueue()
    let members = (0..<50).map { succeeding($0) as Sample<Int> }
    for (member, next) in zip(members, members.dropFirst()) { next.addDependency(member) }
    members[0].addDependency(members[49])
    let group = GroupTask<TestError>(tasks: members as [any ProducerTaskProtocol])
    queue.addTask(group)
    _ = await group.outcome()
    #expect(members.contains { "\($0.produced as Any)".contains("cycle") })
  }

  @Test("A task in the inner queue waits for a task that waits for the group: it fails as a cycle")
  func cycleThroughInnerQueue() async {
    let queue = TaskQueue()
    let group = GroupTask<TestError>()
    let outside: Sample<Int> = succeeding(1)
    outside.addDependency(group)
    let early: Sample<Int> = succeeding(2)
    early.addDependency(outside)
    group.innerQueue.addTask(early)
    queue.addTasks(outside, group)
    _ = await (group.outcome(), outside.outcome(), early.outcome())
    let all = [
      "\(early.produced as Any)", "\(outside.produced as Any)", "\(group.produced as Any)",
    ]
    #expect(all.contains { $0.contains("cycle") })
    #expect(await eventually { outside.isFinished && early.isFinished })
  }

  @Test("A group ends although its subclass starts no members: cancelled, or finished later")
  func groupWithoutBeginning() async {
    final class Idle: GroupProducerTask<Int, TestError>, @unchecked Sendable {
      override func execute() {}
    }
    let queue = TaskQueue(maxConcurrentTaskCount: 1)
    let (member, other): (Sample<Int>, Sample<Int>) = (succeeding(1), succeeding(2))
    let (cancelled, finished) = (Idle(tasks: member), Idle(tasks: other))
    queue.addTask(cancelled)
    #expect(await eventually { hasReturned(cancelled) })
    cancelled.cancel()
    #expect(await cancelled.outcome() == .cancelled)
    #expect(await member.outcome() == .cancelled)
    queue.addTask(finished)
    #expect(await eventually { hasReturned(finished) })
    finished.finish(with: .success(3))
    #expect(await finished.outcome() == .success)
    #expect(finished.success == 3)
    #expect(await other.outcome() == .cancelled)
    let next: Sample<Int> = succeeding(4)
    queue.addTask(next)
    #expect(await next.outcome() == .success)
  }

  // MARK: Explaining

  @Test("A task waits for a plain operation: its explanation names the operation")
  func explainedOperation() async {
    let operation = BlockOperation {}
    operation.name = "index"
    let task: Sample<Int> = succeeding(1)
    task.addDependencies([operation])
    TaskQueue().addTask(task)
    let text = "\(task.explain())"
    #expect(text.contains("It waits for the operation \"index\""))
    #expect(!text.contains("about to run"))
    OperationQueue().addOperation(operation)
    #expect(await task.outcome() == .success)
  }

  @Test("A retry waits for its next attempt: its explanation names the timer, and no closure")
  func explainedPause() async {
    let (queue, begun) = (TaskQueue(), Event())
    let retried = failing(Int.self).receive { _ in begun.signal() }
      .retry(attempts: 2, delay: .constant(.seconds(1000))) { _ in succeeding(1) }
    queue.addTask(retried)
    #expect(await begun.opened())
    #expect(await eventually { "\(retried.explain())".contains("timer") })
    #expect(!"\(retried.explain())".contains("closure"))
    retried.cancel()
    #expect(await retried.outcome() == .cancelled)
  }

  // MARK: Shutting down

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

  // MARK: Conditions

  @Test("An async condition awaits its own task: the await throws a cycle")
  func conditionAwaitsItsTask() async {
    let queue = TaskQueue()
    let thrown = Log<String>()
    let task: Sample<Int> = succeeding(1)
    task.addCondition(
      BlockCondition { task async throws -> Bool in
        do { _ = try await (task as? Future<Int>)?.value } catch { thrown.append("\(error)") }
        return true
      })
    queue.addTask(task)
    #expect(await task.outcome() == .success)
    #expect(thrown.entries.count == 1 && thrown.entries[0].contains("cycle"))
  }

  @Test("Two async conditions of an operator await one promise after the other: it gets its value")
  func conditionsOfAnOperator() async throws {
    for _ in 0..<200 {
      let queue = TaskQueue()
      let promises = (0..<4).map { _ in Promise<Int>() }
      let mapped = succeeding(7).map { $0 + 1 }
      for _ in 0..<2 {
        mapped.addCondition(
          BlockCondition { _ async throws -> Bool in
            for promise in promises { _ = try await promise.value }
            return true
          })
      }
      queue.addTask(mapped)
      for promise in promises {
        promise.succeed(with: 1)
        await Task.yield()
      }
      #expect(try await mapped.value == 8)
    }
  }

  // MARK: Upstreams

  @Test("The queue has one slot: the tasks upstream of a join run in the order of the arguments")
  func orderOfUpstreams() async {
    let queue = TaskQueue(maxConcurrentTaskCount: 1)
    let begun = Log<Int>()
    @Sendable func task(_ number: Int) -> Sample<Int> {
      Sample { _, finish in
        begun.append(number)
        finish(.success(number))
      }
    }
    let collected = Tasks.collect((0..<4).map(task))
    queue.addTask(collected)
    #expect(await collected.outcome() == .success)
    let zipped = task(4).map { $0 }.zip(task(5).map { $0 }, task(6))
    queue.addTask(zipped)
    #expect(await zipped.outcome() == .success)
    #expect(begun.entries == [0, 1, 2, 3, 4, 5, 6])
    let race = task(7).firstOf(task(8), task(9))
    queue.addTask(race)
    #expect(await race.outcome() == .success)
    #expect(race.success == 7)
  }
}
