import Foundation
import Futures
import TestSupport
import Testing
import TypedTasks

@Suite("Dependencies of groups and of their members", .timeLimit(.minutes(5)), .oneAtATime)
struct GroupDependencyTests {
  private func cyclePath<Output: Sendable>(of task: ProducerTask<Output, TestError>) -> [String]? {
    guard case .failure(.internal(ProducerTaskError.cycle(let path)))? = task.produced else {
      return nil
    }
    return path
  }

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
}
