import Foundation
import Futures
import TestSupport
import Testing
import TypedTasks

@Suite("Groups", .timeLimit(.minutes(5)), .oneAtATime)
struct GroupTests {
  private let queue = TaskQueue()

  @Test("67. All members run: one, ten, twelve, an array, a builder")
  func sizes() async {
    let count = Counter()
    func member() -> BlockTask<TestError> {
      BlockTask { _, finish in
        count.add()
        finish(.success)
      }
    }
    let one = GroupTask<TestError>(tasks: (member()))
    let ten = GroupTask<TestError>(
      tasks: (
        member(), member(), member(), member(), member(), member(), member(), member(), member(),
        succeeding(10).receive { _ in count.add() }
      ))
    let twelve = GroupTask<TestError>(
      tasks: (
        member(), member(), member(), member(), member(), member(), member(), member(), member(),
        member(), member(), member()
      ))
    let array = GroupTask<TestError>(tasks: (0..<100).map { _ in member() })
    let builder = GroupTask<TestError> {
      member()
      if count.value >= 0 { member() }
      for _ in 0..<3 { member() }
    }
    let none = GroupTask<TestError>(tasks: [])
    queue.addAll([one, ten, twelve, array, builder, none])
    await queue.finished()
    #expect(count.value == 1 + 10 + 12 + 100 + 5)
    for group in [one, ten, twelve, array, builder, none] { #expect(group.kind == .success) }
  }

  @Test("68. Members begin with the group, obey their dependencies, and otherwise run together")
  func order() async {
    let (a, b, c) = (Manual<Int>(), Manual<Int>(), Manual<Int>())
    c.addDependency(a)
    let gate = Manual<Int>()
    let group = GroupTask<TestError>(tasks: (a, b, c)).addDependency(gate)
    queue.addAll([group, gate])
    await gate.started.opened()
    #expect(a.executions.value == 0)
    gate.finish(with: .success(1))
    #expect(await a.started.opened())
    #expect(await b.started.opened())
    #expect(c.executions.value == 0)
    a.finish(with: .success(1))
    #expect(await c.started.opened())
    b.finish(with: .success(1))
    #expect(!group.isFinished)
    c.finish(with: .success(1))
    #expect(await group.outcome() == .success)
  }

  @Test("69. The group's result is that of the member named, in all three kinds")
  func producedResult() async {
    for member in [succeeding(4), failing(), broken()] {
      let other = succeeding("other")
      let group = GroupProducerTask(tasks: (other, member), produced: member)
      queue.addTask(group)
      _ = await group.completion
      #expect(group.produced == member.produced)
      #expect(other.isFinished)
    }
  }

  final class Explicit: GroupProducerTask<String, TestError>, @unchecked Sendable {
    init() {
      let first = succeeding(1)
      super.init(tasks: (first))
      let second = succeeding(2).addDependency(first).receive { [unowned self] produced in
        switch produced {
        case .success(let value): finish(with: .success("\(value)"))
        case .failure(let error): finish(with: .failure(error))
        }
      }
      addTask(second)
    }
  }

  @Test("70. A subclass ends its group from a handler of a member")
  func explicitFinish() async throws {
    let group = Explicit()
    queue.addTask(group)
    #expect(try await group.value == "2")
    // On a queue of its own the handler may come after the last member's end.
    let member = succeeding(1)
    let late = GroupProducerTask<Int, TestError>(tasks: (member))
    member.receive(on: DispatchQueue(label: "handlers")).receive { [unowned late] _ in
      late.finish(with: .success(7))
    }
    queue.addTask(late)
    #expect(try await late.value == 7)
  }

  @Test("71. A group that nobody ends, ends with its last member")
  func implicitFinish() async {
    let fine = GroupTask<TestError>(tasks: (succeeding(1), succeeding("")))
    let failed = GroupTask<TestError>(
      tasks: (succeeding(1), failing(with: .second), EmptyTask()))
    let valueless = GroupProducerTask<Int, TestError>(tasks: (succeeding(1)))
    queue.addAll([fine, failed, valueless])
    #expect(await fine.outcome() == .success)
    #expect(await failed.outcome() == .provided)
    #expect(failed.provided == .second)
    #expect(await valueless.outcome() == .execution)
  }

  @Test("72. The member that is named is added if it is not among the others")
  func producedAdded() async throws {
    let member = succeeding(5)
    let group = GroupProducerTask(tasks: (EmptyTask()), produced: member)
    queue.addTask(group)
    #expect(try await group.value == 5)
    // Or it is in another queue already.
    let elsewhere = Manual<Int>()
    TaskQueue().addTask(elsewhere)
    let second = GroupProducerTask(tasks: (EmptyTask()), produced: elsewhere)
    queue.addTask(second)
    await elsewhere.started.opened()
    #expect(!second.isFinished)
    elsewhere.finish(with: .success(6))
    #expect(try await second.value == 6)
  }

  @Test("73. When a group has finished, all its members have")
  func allFinished() async {
    let decisive = succeeding(1)
    let slow = Manual<Int>()
    let group = GroupProducerTask(tasks: (decisive, slow), produced: decisive)
    queue.addTask(group)
    _ = await decisive.completion
    await slow.started.opened()
    #expect(!group.isFinished)
    slow.finish(with: .failure(.provided(.first)))
    #expect(await group.outcome() == .success)
    let (early, last) = (Manual<Int>(), Manual<Int>())
    let explicit = GroupProducerTask<Int, TestError>(tasks: (early, last))
    queue.addTask(explicit)
    await last.started.opened()
    explicit.finish(with: .success(1))
    explicit.finish(with: .success(2))
    #expect(!explicit.isFinished)
    early.finish(with: .success(0))
    last.finish(with: .success(0))
    #expect(await explicit.outcome() == .success)
    #expect(explicit.success == 1)
  }

  @Test("74. Members are added before and while the group executes; later they say so")
  func adding() async {
    let first = Manual<Int>()
    let group = GroupTask<TestError>(tasks: (first))
    let second = Manual<Int>()
    group.addTask(second)
    queue.addTask(group)
    await first.started.opened()
    let third = Manual<Int>()
    group.addTask(third)
    #expect(await third.started.opened())
    #expect(await second.started.opened())
    first.finish(with: .success(1))
    second.finish(with: .success(1))
    #expect(!group.isFinished)
    third.finish(with: .success(1))
    #expect(await group.outcome() == .success)
    let late = Manual<Int>()
    group.addTask(late)
    #expect(late.kind == .groupFinished)
  }

  final class Listening: GroupTask<TestError>, @unchecked Sendable {
    let log = Log<String>()
    let reaction = Box<(@Sendable (Listening) -> Void)?>(nil)
    override func taskDidFinish<T: ProducerTaskProtocol>(_ task: T) {
      log.append("\(task.name ?? "") \(task.isFinished)")
      reaction.value?(self)
    }
  }

  @Test("75. The group hears of each member once, when it has finished, and may do anything then")
  func hook() async {
    @Sendable func member(_ name: String) -> Sample<Int> {
      Sample(name: name) { _, finish in finish(.success(1)) }
    }
    let group = Listening(tasks: (member("a"), member("b")))
    queue.addTask(group)
    #expect(await group.outcome() == .success)
    #expect(group.log.entries.sorted() == ["a true", "b true"])

    let more = Listening(tasks: (member("a")))
    let other = Manual<Int>()
    more.addTask(other)
    more.reaction.value = { group in
      guard group.log.count == 1 else { return }
      group.addTask(member("c"))
      other.finish(with: .success(1))
      group.innerQueue.addTask(member("d"))
    }
    queue.addTask(more)
    #expect(await more.outcome() == .success)
    #expect(more.log.count == 4)

    let cancelling = Listening(tasks: (member("a")))
    let stuck = Manual<Int>()
    stuck.onCancellationRequest { [unowned stuck] in
      stuck.finish(with: .failure(.internal(ProducerTaskError.cancelled)))
    }
    cancelling.addTask(stuck)
    cancelling.reaction.value = { $0.cancel() }
    queue.addTask(cancelling)
    #expect(await cancelling.outcome() == .cancelled)
  }

  /// A member that stops when it is asked to.
  private func obedient() -> Manual<Int> {
    let task = Manual<Int>()
    task.onCancellationRequest { [weak task] in
      task?.finish(with: .failure(.internal(ProducerTaskError.cancelled)))
    }
    return task
  }

  @Test("76. Cancelling a group cancels its members at any depth, and it ends, as they do")
  func cancel() async {
    let log = Log<Int>()
    let before = Manual<Int>().receive { _ in log.append(1) }
    let inner = GroupTask<TestError>(tasks: [before])
    let group = GroupTask<TestError>(tasks: [inner])
    group.cancel()
    group.cancel()
    #expect(group.kind == .cancelled)
    #expect(inner.kind == .cancelled)
    #expect(before.kind == .cancelled)
    #expect(log.entries == [1])
    queue.addTask(group)
    await queue.finished()
    #expect(before.executions.value == 0)

    let running = obedient().receive { _ in log.append(2) }
    let waiting = Manual<Int>().addDependency(running).receive { _ in log.append(3) }
    let nested = GroupTask<TestError>(tasks: [running, waiting])
    let outer = GroupTask<TestError>(tasks: [nested])
    queue.addTask(outer)
    await running.started.opened()
    outer.cancel()
    outer.cancel()
    #expect(await outer.outcome() == .cancelled)
    #expect(nested.kind == .cancelled)
    #expect(running.kind == .cancelled)
    #expect(waiting.kind == .cancelled)
    #expect(Set(log.entries) == [1, 2, 3])
    await queue.finished()
  }

  @Test("76. A group whose member was its result before the cancellation keeps that result")
  func cancelAfterResult() async {
    let member = succeeding(1)
    let other = obedient()
    let group = GroupProducerTask(tasks: (member, other), produced: member)
    queue.addTask(group)
    _ = await member.completion
    await other.started.opened()
    // The group has seen the member's end.
    #expect(await eventually { group.innerQueue.taskCount == 1 })
    group.cancel()
    _ = await group.completion
    #expect([.success, .cancelled].contains(group.kind))
    #expect(group.isCancelled)
  }

  final class Splitting: GroupConsumerProducerTask<[Int], Int, TestError>, @unchecked Sendable {
    let sum = Counter()
    override func execute(with consumed: Consumed) {
      guard case .success(let numbers) = consumed else {
        finish(with: .failure(.provided(.second)))
        return super.execute(with: consumed)
      }
      let parts = numbers.map { number in
        BlockTask<TestError> { [sum] _, finish in
          sum.add(number)
          finish(.success)
        }
      }
      let total = Sample<Int> { [sum] _, finish in finish(.success(sum.value)) }
      for part in parts {
        total.addDependency(part)
        addTask(part)
      }
      total.receive { [unowned self] in finish(with: $0) }
      addTask(total)
      super.execute(with: consumed)
    }
  }

  @Test("77. A consuming group gives its input to its members; without one it fails")
  func consuming() async throws {
    let numbers = succeeding([1, 2, 3])
    let group = Splitting(producing: numbers, tasks: (EmptyTask()))
    queue.addAll([group, numbers])
    #expect(try await group.value == 6)

    let producer = failing([Int].self)
    let failed = Splitting(producing: producer, tasks: [])
    queue.addAll([failed, producer])
    #expect(await failed.outcome() == .provided)

    let nothing = Manual<[Int]>()
    let member = Manual<Int>()
    let missing = Splitting(producing: nothing, tasks: [member])
    missing.removeDependency(nothing)
    queue.addTask(missing)
    #expect(await missing.outcome() == .producing)
    #expect(member.kind == .cancelled)
  }

  @Test("78. The underlying queue can be set before the group executes")
  func underlyingQueue() async throws {
    let key = DispatchSpecificKey<Int>()
    let underlying = DispatchQueue(label: "underlying", attributes: .concurrent)
    underlying.setSpecific(key: key, value: 8)
    let member = BlockProducerTask<Int, TestError> { _, finish in
      finish(.success(DispatchQueue.getSpecific(key: key) ?? 0))
    }
    let group = GroupProducerTask(tasks: (member), produced: member)
      .setUnderlyingQueue(underlying)
    queue.addTask(group)
    #expect(try await group.value == 8)
    group.setUnderlyingQueue(.global())
    let other = BlockProducerTask<Int, TestError> { _, finish in
      finish(.success(DispatchQueue.getSpecific(key: key) ?? 0))
    }
    let second = GroupProducerTask(underlyingQueue: underlying, tasks: (other), produced: other)
    queue.addTask(second)
    #expect(try await second.value == 8)
  }

  @Test("71. A failure that a member recovers from is none of the group's")
  func recoveredFailure() async {
    let caught = failing().catch { _ in succeeding(1) }
    let again = failing().retry(attempts: 3) { $0 < 3 ? failing() : succeeding(1) }
    let consumer = BlockConsumerProducerTask<Int, Int, TestError>(producing: failing()) {
      _, _, finish in finish(.success(1))
    }
    let group = GroupTask<TestError>(tasks: [caught, again, consumer])
    queue.addTask(group)
    #expect(await group.outcome() == .success)
    for way in ["member", "produced", "in the queue"] {
      let other = GroupTask<TestError>(tasks: [])
      let member = Sample<Int> { task, finish in
        if way == "produced" { task.produce(new: failing(with: .second)) }
        if way == "in the queue" { other.innerQueue.addTask(failing(with: .second)) }
        finish(.success(1))
      }
      other.addTask(member)
      if way == "member" { other.addTask(failing(with: .second)) }
      queue.addTask(other)
      #expect(await other.outcome() == .provided)
      #expect(other.provided == .second)
    }
  }

  @Test("79. Groups nest, a hundred deep")
  func nesting() async {
    let count = Counter()
    var task: ProducerTask<Void, TestError> = BlockTask<TestError> { _, finish in
      count.add()
      finish(.success)
    }
    for _ in 0..<100 { task = GroupTask(tasks: [task]) }
    queue.addTask(task)
    #expect(await task.outcome() == .success)
    #expect(count.value == 1)
    // On a serial queue too: each group has a queue of its own.
    let serial = TaskQueue(maxConcurrentTaskCount: 1)
    let inner = GroupTask<TestError>(tasks: [succeeding(1), succeeding(2)])
    serial.addTask(GroupTask<TestError>(tasks: [inner]))
    await serial.finished()
    #expect(inner.kind == .success)
  }

  @Test("79. Cancelling a thousand groups, one in the other, that execute needs no stack")
  func nestedCancellation() async throws {
    let innermost = Manual<Void>()
    var task: ProducerTask<Void, TestError> = innermost
    var all: [ProducerTask<Void, TestError>] = []
    for _ in 0..<1_000 {
      task = GroupTask(tasks: [task])
      all.append(task)
    }
    queue.addTask(task)
    await innermost.started.opened()
    let outermost = task
    try await SmallStackThread.running { outermost.cancel() }
    // All of them have been asked when the call has returned.
    #expect(all.allSatisfy { $0.isCancelled } && innermost.isCancelled)
    innermost.finish(with: .failure(.internal(ProducerTaskError.cancelled)))
    #expect(await outermost.outcome() == .cancelled)
    #expect(all.allSatisfy { $0.kind == .cancelled })
  }

  @Test("79. A hundred groups, one in the other, that are never run are released")
  func nestedRelease() async {
    let tracker = LifetimeTracker()
    do {
      let tracked = tracker.make()
      var task: ProducerTask<Void, TestError> = BlockTask<TestError> { _, finish in
        tracked.touch()
        finish(.success)
      }
      for _ in 0..<100 { task = GroupTask(tasks: [task]) }
    }
    #expect(tracker.alive == 0)
  }

  @Test("80. The queue inside can be reached, suspended and limited")
  func innerQueue() async {
    let running = Counter()
    let members = (0..<20).map { _ in
      BlockTask<TestError> { _, finish in
        running.add()
        DispatchQueue.global().async {
          running.add(-1)
          finish(.success)
        }
      }
    }
    let group = GroupTask<TestError>(tasks: members)
    let containing: any TaskQueueContainable = group
    containing.innerQueue.maxConcurrentTaskCount = 1
    queue.addTask(group)
    #expect(await group.outcome() == .success)
    #expect(running.highest == 1)
  }

  @Test("A member that runs in another queue and waits for its group is found out")
  func memberElsewhereThatWaits() async {
    let (queue, other) = (TaskQueue(), TaskQueue())
    let member = Manual<Int>(name: "member")
    let group = GroupTask<TestError>(name: "group", tasks: [member])
    member.addDependency(group)
    other.addTask(member)
    queue.addTask(group)
    #expect(await group.outcome() == .cycle(["group", "member", "group"]))
    #expect(await member.started.opened())
    member.finish(with: .success(1))
    await other.finished()
  }

  @Test("A member in another queue and in its group's category: found out, or first, by its place")
  func memberElsewhereInCategory() async {
    enum Category {}
    for isGroupFirst in [true, false] {
      let (queue, other) = (TaskQueue(), TaskQueue())
      let gate = Manual<Int>(name: "gate")
      let first = Manual<Int>(name: "first").addCondition(
        Conditions.MutuallyExclusive<Category>())
      let member = Manual<Int>(name: "member").addDependency(gate).addCondition(
        Conditions.MutuallyExclusive<Category>())
      let group = GroupTask<TestError>(name: "group", tasks: [member]).addCondition(
        Conditions.MutuallyExclusive<Category>())
      other.addAll([member, first])
      #expect(await first.started.opened())
      queue.addTask(group)
      other.addTask(gate)
      #expect(await gate.started.opened())
      // The member comes to stand in line behind the group: which executes, or
      // which stands there itself.
      if isGroupFirst {
        first.finish(with: .success(1))
        #expect(await eventually { waitsForMembers(group) })
        gate.finish(with: .success(1))
        #expect(await member.outcome() == .cycle(["member", "group", "member"]))
        _ = await group.completion
      } else {
        // The member was added before the group, and goes first: there is no cycle.
        gate.finish(with: .success(1))
        #expect(await eventually { member.description.contains("waiting for its turn") })
        #expect(member.kind == nil && group.kind == nil)
        first.finish(with: .success(1))
        #expect(await member.started.opened())
        member.finish(with: .success(1))
        #expect(await group.outcome() == .success)
      }
      await other.finished()
      await queue.finished()
    }
  }

  @Test("A circle through a group that executes is found by the task that closes it")
  func circleThroughExecutingGroup() async {
    let (queue, other) = (TaskQueue(), TaskQueue())
    let member = Manual<Int>(name: "member")
    let last = Manual<Int>(name: "last")
    let group = GroupTask<TestError>(name: "group", tasks: [member])
    let after = Manual<Int>(name: "after")
    member.addDependency(last)
    after.addDependency(group)
    last.addDependency(after)
    other.addTask(member)
    queue.addTask(group)
    #expect(await eventually { waitsForMembers(group) })
    queue.addTask(after)
    queue.addTask(last)
    #expect(last.kind == .cycle(["last", "after", "group", "member", "last"]))
    #expect(await member.started.opened())
    member.finish(with: .success(1))
    #expect(await after.started.opened())
    after.finish(with: .success(1))
    await queue.finished()
  }

  @Test("Members that have ended before the group begins count like others")
  func membersThatHaveEnded() async {
    let (queue, other) = (TaskQueue(), TaskQueue())
    let (one, two) = (succeeding(1), failing(Int.self))
    other.addAll([one, two])
    await other.finished()
    let group = GroupProducerTask(tasks: (one, two), produced: one)
    let failed = GroupTask<TestError>(tasks: [two])
    queue.addTask(group)
    queue.addTask(failed)
    #expect(await group.outcome() == .success)
    #expect(group.success == 1)
    #expect(await failed.outcome() == .provided)
  }

  @Test("A member that comes when its group has been cancelled is cancelled")
  func memberAfterCancellation() async {
    let queue = TaskQueue()
    let (member, late) = (Manual<Int>(), Manual<Int>())
    let group = GroupTask<TestError>(tasks: [member])
    queue.addTask(group)
    #expect(await member.started.opened())
    group.cancel()
    group.addTask(late)
    #expect(late.kind == .cancelled)
    member.finish(with: .success(1))
    #expect(await group.outcome() == .cancelled)
    #expect(late.executions.value == 0)
  }

  @Test("Of several failures the first is the group's")
  func firstFailure() async {
    let queue = TaskQueue()
    let (one, two, three) = (Manual<Int>(), Manual<Int>(), Manual<Int>())
    let group = GroupTask<TestError>(tasks: [one, two, three])
    queue.addTask(group)
    for member in [one, two, three] { #expect(await member.started.opened()) }
    two.finish(with: .failure(.provided(.second)))
    one.finish(with: .failure(.provided(.first)))
    three.finish(with: .success(1))
    #expect(await group.outcome() == .provided)
    #expect(group.provided == .second)
  }

  @Test("A group that was cancelled can still be given a result")
  func resultAfterCancellation() async {
    let queue = TaskQueue()
    let member = Manual<Int>()
    let group = GroupProducerTask<Int, TestError>(tasks: [member])
    queue.addTask(group)
    #expect(await member.started.opened())
    group.cancel()
    group.finish(with: .success(5))
    // The first one given counts.
    group.finish(with: .success(6))
    #expect(group.kind == nil)
    member.finish(with: .success(1))
    #expect(await group.outcome() == .success)
    #expect(group.success == 5)
  }
}
