import Foundation
import Futures
import TestSupport
import Testing
import TypedTasks

@Suite("The end of a group", .timeLimit(.minutes(5)), .oneAtATime)
struct GroupEndTests {
  private final class EarlyGroup: GroupProducerTask<Int, Never>, @unchecked Sendable {
    // Sendable: nothing changes after init.
    let startsMembers: Bool

    init(startsMembers: Bool, tasks: [any ProducerTaskProtocol]) {
      self.startsMembers = startsMembers
      super.init(tasks: tasks)
    }

    override func execute() {
      finish(with: .success(7))
      if startsMembers { super.execute() }
    }
  }

  private final class Telling: GroupProducerTask<Void, Never>, @unchecked Sendable {
    // Sendable: adds only a log, which never changes.
    let log = Log<String>()
    override func taskDidFinish<T: ProducerTaskProtocol>(_ task: T) { log.append(task.name ?? "") }
  }

  @Test func `a group that any error may end is cancelled by a member of another type`() async {
    let (queue, gate) = (TaskQueue(), Promise<Int>())
    let member: Sample<Int> = succeeding(1)
    member.addDependency(gate)
    let group = GroupTask<any Error>(tasks: [member])
    queue.addTask(group)
    #expect(await eventually { group.isExecuting })
    member.cancel()
    #expect(await group.outcome() == .cancelled)
  }

  @Test func `the group of any error passes on a member's internal error as an internal one`() async
  {
    let queue = TaskQueue()
    let unmet = succeeding(1).addCondition(Unmet(error: .first))
    let group = GroupTask<any Error>(tasks: [unmet])
    let provided = GroupTask<any Error>(tasks: [failing() as Sample<Int>])
    queue.addTasks(group, provided)
    #expect(await group.outcome() == .conditions)
    #expect(await provided.outcome() == .provided)
  }

  @Test func `a member that is released when it has ended is not confused with a new member`()
    async
  {
    // Made where nothing keeps the members.
    @Sendable func makeMember(_ number: Int) -> BlockProducerTask<Int, TestError> {
      BlockProducerTask { task throws(TestError) in
        task.produce(new: AsyncBlockTask<TestError> { _ in await Task.yield() })
        return number
      }
    }
    func makeGroup() -> GroupProducerTask<Int, TestError> {
      let decisive = makeMember(1)
      return GroupProducerTask(
        tasks: [decisive, makeMember(2), makeMember(3)], produced: decisive)
    }
    for _ in 0..<300 {
      let group = makeGroup()
      TaskQueue(maxConcurrentTaskCount: 1).addTask(group)
      #expect(await group.outcome() == .success)
      #expect(group.success == 1)
    }
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

  @Test("A group finishes before it starts its members: they run; it never does: cancelled")
  func earlyResult() async {
    for startsMembers in [true, false] {
      let ran = Counter()
      let member = BlockProducerTask<Void, Never> { _ in ran.add() }
      let group = EarlyGroup(startsMembers: startsMembers, tasks: [member])
      TaskQueue().addTask(group)
      #expect(await group.outcome() == .success)
      #expect(group.success == 7)
      #expect(await eventually { member.isFinished })
      #expect(ran.value == (startsMembers ? 1 : 0))
      #expect(member.isCancelled != startsMembers)
    }
  }

  @Test("A member runs in another queue: the group is told of its end too")
  func memberElsewhere() async {
    let (gate, other) = (Event(), TaskQueue())
    let member = BlockProducerTask<Void, Never>(name: "elsewhere") { _ in _ = gate.wait() }
    other.addTask(member)
    let group = Telling(tasks: [member])
    TaskQueue().addTask(group)
    #expect(await eventually { group.isExecuting })
    gate.signal()
    #expect(await group.outcome() == .success)
    #expect(group.log.entries == ["elsewhere"])
  }

  private final class Insisting: GroupProducerTask<Void, Never>, TaskQueueDelegate,
    @unchecked Sendable
  {
    // Sendable: adds only logs, which never change.
    let log = Log<String>()
    let logOfDelegate = Log<String>()

    override func taskDidFinish<T: ProducerTaskProtocol>(_ task: T) {
      log.append(task.name ?? "")
      guard task.name != "member", log.entries.count < 100 else { return }
      innerQueue.addTask(Sample<Int>(name: "again") { _, finish in finish(.success(1)) })
    }

    func taskQueue<T: ProducerTaskProtocol>(_ queue: TaskQueue, didFinish task: T) {
      logOfDelegate.append(task.name ?? "")
    }
  }

  @Test("A group's hook adds tasks when the group has ended: it is not told of the refused ones")
  func refusedTasks() async {
    let member = Sample<Int>(name: "member") { _, finish in finish(.success(1)) }
    let group = Insisting(tasks: [member])
    group.innerQueue.delegate = group
    TaskQueue().addTask(group)
    #expect(await group.outcome() == .success)
    let late = Sample<Int>(name: "late") { _, finish in finish(.success(1)) }
    group.innerQueue.addTask(late)
    #expect(await late.outcome() == .groupFinished)
    #expect(await eventually { group.innerQueue.taskCount == 0 })
    #expect(group.log.entries == ["member"])
    #expect(group.logOfDelegate.entries == ["member", "late"])
  }
}
