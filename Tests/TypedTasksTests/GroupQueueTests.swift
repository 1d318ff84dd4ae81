import Foundation
import Futures
import TestSupport
import Testing
import TypedTasks

/// What is put in the queue of a group beside the members.
@Suite("The queue of a group", .timeLimit(.minutes(5)), .oneAtATime)
struct GroupQueueTests {
  private let queue = TaskQueue()

  /// A task that notes that it runs.
  private func noting(_ entry: String, in log: Log<String>) -> Sample<Int> {
    Sample { _, finish in
      log.append(entry)
      finish(.success(1))
    }
  }

  // MARK: Operations

  @Test("A block in the queue of a group waits for the group: both end")
  func blockWaitsForTheGroup() async {
    let (begun, first) = (Event(), Manual<Int>())
    let group = GroupTask<TestError>(tasks: [first])
    let waited = Event()
    group.innerQueue.addBlock {
      begun.signal()
      group.waitUntilFinished()
      waited.signal()
    }
    queue.addTask(group)
    #expect(await begun.opened())
    #expect(await first.started.opened())
    first.finish(with: .success(1))
    #expect(await waited.opened())
    await queue.finished()
  }

  @Test("A group is cancelled while a block waits in its queue: the block does not run")
  func cancelledWithABlock() async {
    let first = Manual<Int>()
    let group = GroupTask<TestError>(tasks: [first])
    group.innerQueue.maxConcurrentTaskCount = 1
    queue.addTask(group)
    #expect(await first.started.opened())
    let block = BlockOperation { Issue.record("the block ran") }
    group.innerQueue.addOperation(block)
    group.cancel()
    first.finish(with: .success(1))
    #expect(await group.outcome() == .cancelled)
    #expect(await eventually { block.isFinished })
    #expect(block.isCancelled)
  }

  // MARK: Suspending

  @Test("The queue is suspended before the group begins: it stays so, and members wait")
  func suspendedBefore() async {
    let (log, group) = (Log<String>(), GroupTask<TestError>())
    group.addTask(noting("member", in: log))
    #expect(group.innerQueue.isSuspended)
    group.innerQueue.isSuspended = true
    queue.addTask(group)
    #expect(await eventually { group.innerQueue.taskCount == 1 && group.isExecuting })
    #expect(group.innerQueue.isSuspended)
    #expect(log.entries.isEmpty)
    group.innerQueue.isSuspended = false
    #expect(await group.outcome() == .success)
    #expect(log.entries == ["member"])
  }

  @Test("The queue is resumed before the group begins: nothing in it starts before that")
  func resumedBefore() async {
    let (log, group) = (Log<String>(), GroupTask<TestError>())
    group.innerQueue.isSuspended = true
    group.innerQueue.isSuspended = false
    #expect(group.innerQueue.isSuspended)
    group.innerQueue.addTask(noting("member", in: log))
    let later = Manual<Int>()
    group.addDependency(later)
    queue.addTask(group)
    queue.addTask(later)
    #expect(await later.started.opened())
    #expect(log.entries.isEmpty)
    later.finish(with: .success(1))
    #expect(await group.outcome() == .success)
    #expect(log.entries == ["member"])
  }

  @Test("A group is cancelled while its queue is suspended: it ends, and nothing in it runs")
  func cancelledWhileSuspended() async {
    let (group, member) = (GroupTask<TestError>(tasks: []), Manual<Int>())
    group.innerQueue.isSuspended = true
    group.addTask(member)
    queue.addTask(group)
    #expect(await eventually { group.innerQueue.taskCount == 1 && group.isExecuting })
    group.innerQueue.addBlock { Issue.record("the block ran") }
    group.cancel()
    #expect(await group.outcome() == .cancelled)
    #expect(member.executions.value == 0)
  }

  // MARK: Told once

  private final class Told: GroupProducerTask<Void, TestError>, @unchecked Sendable {
    let log = Log<ObjectIdentifier>()
    override func taskDidFinish<T: ProducerTaskProtocol>(_ task: T) {
      log.append(ObjectIdentifier(task))
    }
  }

  @Test(
    "A member is added twice, before or while it is in this or another queue: told once",
    arguments: [false, true], [false, true])
  func addedTwice(_ isElsewhere: Bool, _ isBegun: Bool) async {
    let (group, member, other) = (Told(tasks: []), Manual<Int>(), Manual<Int>())
    group.addTask(other)
    if isElsewhere { queue.addTask(member) }
    if isBegun {
      queue.addTask(group)
      #expect(await other.started.opened())
    }
    group.addTask(member)
    if isBegun { #expect(await member.started.opened()) }
    group.addTask(member)
    if !isBegun { queue.addTask(group) }
    #expect(await other.started.opened())
    #expect(await member.started.opened())
    member.finish(with: .success(1))
    other.finish(with: .success(1))
    #expect(await group.outcome() == .success)
    let expected = [ObjectIdentifier(member), ObjectIdentifier(other)]
    #expect(group.log.count == 2)
    #expect(Set(group.log.entries) == Set(expected))
  }

  @Test(
    "A member comes in with the consumer or the operator before it: told once",
    arguments: [true, false])
  func cameInBefore(_ isConsumer: Bool) async {
    let download: Sample<Int> = succeeding(1)
    let next: ProducerTask<Int, TestError> =
      isConsumer
      ? BlockConsumerProducerTask(producing: download) { _, value, finish in finish(value) }
      : download.map { $0 }
    let group = Told(tasks: [next, download])
    queue.addTask(group)
    #expect(await group.outcome() == .success)
    #expect(group.log.entries.count { $0 == ObjectIdentifier(download) } == 1)
    #expect(group.log.entries.count { $0 == ObjectIdentifier(next) } == 1)
  }

  @Test("A member that has ended in the queue of the group is added again: told once")
  func addedAfterItsEnd() async {
    let (group, member, other) = (Told(tasks: []), Manual<Int>(), Manual<Int>())
    group.addTask(other)
    group.addTask(member)
    queue.addTask(group)
    #expect(await member.started.opened())
    member.finish(with: .success(1))
    #expect(await eventually { group.log.count == 1 && group.innerQueue.taskCount == 1 })
    group.addTask(member)
    #expect(await other.started.opened())
    other.finish(with: .success(1))
    #expect(await group.outcome() == .success)
    #expect(group.log.count == 2)
  }

  @Test("A failed member of one group is a member of another: both groups are told, both fail")
  func twoGroups() async {
    let member: Sample<Int> = failing()
    let groups = [Told(tasks: [member]), Told(tasks: [member])]
    for group in groups { queue.addTask(group) }
    for group in groups {
      #expect(await group.outcome() == .provided)
      #expect(group.log.entries == [ObjectIdentifier(member)])
    }
  }

  @Test("An upstream is in the queue before the group begins, and fails: the group succeeds")
  func upstreamInTheQueue() async {
    let group = Told(tasks: [])
    let upstream: Sample<Int> = failing()
    group.innerQueue.addTask(upstream.replaceError(with: 1).setFailureType(to: TestError.self))
    queue.addTask(group)
    #expect(await group.outcome() == .success)
    #expect(group.log.count == 3)
  }

  // MARK: The delegate

  private final class Delegate: TaskQueueDelegate {
    let log = Log<String>()

    func taskQueue<T: ProducerTaskProtocol>(_ queue: TaskQueue, willAdd task: T) {
      log.append("add")
    }

    func taskQueue<T: ProducerTaskProtocol>(_ queue: TaskQueue, didFinish task: T) {
      log.append("finish")
    }

    func taskQueue<T: ProducerTaskProtocol>(
      _ queue: TaskQueue, didReject task: T, error: ProducerTaskError
    ) { log.append("reject") }
  }

  @Test("A task is added to the queue of a group that has ended: the delegate is told of both ends")
  func refused() async {
    let (group, delegate, late) = (GroupTask<TestError>(tasks: []), Delegate(), succeeding(1))
    queue.addTask(group)
    #expect(await group.outcome() == .success)
    group.innerQueue.delegate = delegate
    group.innerQueue.addTask(late)
    #expect(await late.outcome() == .groupFinished)
    #expect(await eventually { delegate.log.count == 2 })
    #expect(delegate.log.entries == ["add", "finish"])
  }

  @Test("Two threads set the delegate, one of them to nil: the delegate that is left is told")
  func delegateRace() async {
    for _ in 0..<2_000 {
      let (queue, delegate) = (TaskQueue(startSuspended: true), Delegate())
      DispatchQueue.concurrentPerform(iterations: 2) { queue.delegate = $0 == 0 ? nil : delegate }
      queue.addTask(EmptyTask())
      if queue.delegate != nil, delegate.log.entries != ["add"] {
        Issue.record("not told")
        break
      }
      queue.cancelAllTasks()
      queue.isSuspended = false
    }
  }

  // MARK: Groups that never begin

  @Test("A group is dropped with a task in its queue: both are released, and the task is cancelled")
  func dropped() async {
    let tracker = LifetimeTracker()
    weak var leftGroup: GroupTask<TestError>?
    weak var leftTask: Sample<Int>?
    let ended = Event()
    do {
      let tracked = tracker.make()
      let group = GroupTask<TestError>(tasks: [])
      let task = Sample<Int> { _, finish in
        tracked.touch()
        finish(.success(1))
      }
      task.receive { result in if case .failure = result { ended.signal() } }
      group.innerQueue.addTask(task)
      (leftGroup, leftTask) = (group, task)
    }
    #expect(await ended.opened())
    #expect(await eventually { leftGroup == nil && leftTask == nil })
    #expect(await eventually { tracker.alive == 0 })
  }

  @Test("A group with a task in its queue is cancelled before it begins: the task is cancelled")
  func cancelledBefore() async {
    let (group, task) = (Told(tasks: []), succeeding(1))
    group.innerQueue.addTask(task)
    group.cancel()
    #expect(await task.outcome() == .cancelled)
    #expect(await group.outcome() == .cancelled)
  }

  @Test("A task in the queue of a group that has not begun depends on the group: it fails")
  func cycle() async {
    let (group, task) = (Told(tasks: []), succeeding(1))
    task.addDependency(group)
    group.innerQueue.addTask(task)
    queue.addTask(group)
    #expect(await eventually { task.isFinished && group.isFinished })
    if case .cycle? = task.kind {} else { Issue.record("\(String(describing: task.kind))") }
    group.cancel()
  }

  @Test("An operator on a member is cancelled before the group begins: the member runs")
  func operatorOnAMember() async {
    let member: Sample<Int> = succeeding(1)
    let group = GroupTask<TestError>(tasks: [member])
    member.map { $0 }.cancel()
    queue.addTask(group)
    #expect(await member.outcome() == .success)
    #expect(await group.outcome() == .success)
  }

  @Test("A member of one group fails, and an operator in another recovers: the other succeeds")
  func memberOfAnotherGroup() async {
    let member: Sample<Int> = failing()
    let notBegun = GroupTask<TestError>(tasks: [member])
    let group = GroupTask<TestError>(tasks: [member.replaceError(with: 1)])
    queue.addTask(group)
    #expect(await group.outcome() == .success)
    withExtendedLifetime(notBegun) {}
  }

  @Test("A member came into a queue with an operator, which is cancelled: the member runs")
  func operatorThatIsInAQueue() async {
    let member = Manual<Int>()
    let group = GroupTask<TestError>(tasks: [member])
    let stage = member.map { $0 + 1 }
    queue.addTask(stage)
    #expect(await member.started.opened())
    stage.cancel()
    queue.addTask(group)
    member.finish(with: .success(1))
    #expect(await group.outcome() == .success)
  }

  @Test("A task waits for a member, which depends on it, of a group that has not begun: refused")
  func waitForAMember() async {
    let serial = TaskQueue(maxConcurrentTaskCount: 1)
    let (member, error): (Sample<Int>, Box<(any Error)?>) = (succeeding(1), Box(nil))
    let waiting = Sample<Int> { _, finish in
      do { _ = try member.wait(timeout: .seconds(60)) } catch let found { error.value = found }
      finish(.success(1))
    }
    member.addDependency(waiting)
    let group = GroupTask<TestError>(tasks: [member])
    serial.addTask(waiting)
    serial.addTask(group)
    #expect(await group.outcome() == .success)
    #expect(error.value as? ProperationsError == .cycle(createdAt: member.createdAt))
  }

  @Test("The queue of a group is cancelled before the group begins: its barrier does not run")
  func cancelledBarrierBeforeTheBeginning() async {
    let (queue, log) = (TaskQueue(), Log<String>())
    let group = GroupTask<TestError>(tasks: [succeeding(1) as Sample<Int>])
    group.innerQueue.addBarrierBlock { log.append("barrier") }
    group.innerQueue.cancelAllTasks()
    queue.addTask(group)
    #expect(await group.outcome() == .success)
    #expect(log.entries.isEmpty)
  }

  @Test("A barrier block in the queue of a group that has ended runs")
  func barrierAfterTheEnd() async {
    let (queue, ran) = (TaskQueue(), Event())
    let group = GroupTask<TestError>(tasks: [succeeding(1) as Sample<Int>])
    queue.addTask(group)
    #expect(await group.outcome() == .success)
    group.innerQueue.addBarrierBlock { ran.signal() }
    #expect(await ran.opened())
  }

  @Test("A barrier, then a closure that waits for its dependency, before a group begins: it ends")
  func barrierAndMemberBeforeTheBeginning() async {
    let (queue, dependency) = (TaskQueue(), Promise<Int>())
    let group = GroupTask<TestError>(tasks: [succeeding(1) as Sample<Int>])
    group.innerQueue.addBarrierBlock {}
    let member = group.innerQueue.run(after: [dependency]) { () async in }
    let task: Sample<Int> = succeeding(2)
    task.addDependency(member)
    group.innerQueue.addTask(task)
    queue.addTask(group)
    dependency.succeed(with: 1)
    #expect(await group.outcome() == .success)
    #expect(await task.outcome() == .success)
  }

  @Test("A task behind a barrier in the queue of a group that has not begun runs after the barrier")
  func taskBehindABarrierBeforeTheBeginning() async {
    for _ in 0..<20 {
      let (queue, log) = (TaskQueue(), Log<String>())
      let group = GroupTask<TestError>(tasks: [noting("member", in: log)])
      group.innerQueue.addBarrierBlock { log.append("barrier") }
      group.innerQueue.addTask(noting("behind", in: log))
      queue.addTask(group)
      #expect(await group.outcome() == .success)
      #expect(log.entries == ["member", "barrier", "behind"])
    }
  }

  @Test("Members and barriers take turns before a group begins: they run in this order")
  func membersBetweenBarriers() async {
    let (queue, log) = (TaskQueue(), Log<String>())
    let group = GroupTask<TestError>(tasks: [noting("0", in: log)])
    for number in 1...20 {
      group.innerQueue.addBarrierBlock { log.append("barrier \(number)") }
      group.addTask(noting("\(number)", in: log))
    }
    queue.addTask(group)
    #expect(await group.outcome() == .success)
    #expect(log.entries == ["0"] + (1...20).flatMap { ["barrier \($0)", "\($0)"] })
  }

  @Test("A delegate adds a barrier when a group starts its first member: the group ends")
  func barrierOfADelegate() async {
    let delegate = BarrierAtFirst()
    let (first, last): (Sample<Int>, Sample<Int>) = (succeeding(1), succeeding(2))
    // It could not run if the last one came behind the barrier.
    first.addDependency(last)
    let group = GroupTask<TestError>(tasks: [first, last])
    group.innerQueue.delegate = delegate
    TaskQueue().addTask(group)
    #expect(await group.outcome() == .success)
    #expect(delegate.ran.value == 1)
  }

  @Test("Another thread adds a barrier while a group begins: the group ends after the barrier")
  func barrierOfAnotherThread() async {
    for _ in 0..<50 {
      let (first, last): (Sample<Int>, Sample<Int>) = (succeeding(1), succeeding(2))
      first.addDependency(last)
      let others = (0..<50).map { succeeding($0) as Sample<Int> }
      let group = GroupTask<TestError>(tasks: [first] + others + [last])
      // Added before the group can end.
      let (gate, ran) = (Promise<Void>(), Counter())
      last.addDependency(gate)
      await withTaskGroup { tasks in
        tasks.addTask { TaskQueue().addTask(group) }
        tasks.addTask { group.innerQueue.addBarrierBlock { ran.add() } }
      }
      gate.succeed()
      #expect(await group.outcome() == .success)
      #expect(ran.value == 1)
    }
  }

  @Test("A member comes in with an operator behind a barrier: it stays in front of the barrier")
  func memberOfAnOperatorBehindABarrier() async {
    let (queue, log) = (TaskQueue(), Log<String>())
    let member = noting("member", in: log)
    let first = noting("first", in: log)
    // Both in front of the barrier.
    first.addDependency(member)
    let group = GroupTask<TestError>(tasks: [first, member])
    group.innerQueue.addBarrierBlock { log.append("barrier") }
    group.innerQueue.addTask(
      member.map { value in
        log.append("map")
        return value
      })
    queue.addTask(group)
    #expect(await group.outcome() == .success)
    #expect(log.entries == ["member", "first", "barrier", "map"])
  }

  @Test(
    "An operator behind a barrier joins a member and another task: only the member is in front",
    arguments: [false, true])
  func memberBesideAnotherTask(memberIsFirst: Bool) async {
    let (queue, log) = (TaskQueue(), Log<String>())
    let (member, other) = (noting("member", in: log), noting("other", in: log))
    let behind = noting("behind", in: log)
    // In front of the barrier it would wait for ever.
    other.addDependency(behind)
    let group = GroupTask<TestError>(tasks: [member])
    group.innerQueue.addBarrierBlock { log.append("barrier") }
    group.innerQueue.addTask(behind)
    group.innerQueue.addTask(memberIsFirst ? member.zip(other) : other.zip(member))
    queue.addTask(group)
    #expect(await group.outcome() == .success)
    #expect(log.entries == ["member", "barrier", "behind", "other"])
  }

  @Test("A group gets a member twice, before and behind a barrier: the member is in front of it")
  func memberTwice() async {
    let (queue, log) = (TaskQueue(), Log<String>())
    let member = noting("member", in: log)
    let group = GroupTask<TestError>(tasks: [member])
    group.innerQueue.addBarrierBlock { log.append("barrier") }
    group.addTask(member)
    group.innerQueue.addTask(member.map { $0 })
    queue.addTask(group)
    #expect(await group.outcome() == .success)
    #expect(log.entries == ["member", "barrier"])
  }

  @Test("A member in front of a barrier needs one that the group got behind it: both run before it")
  func memberInFrontNeedsOneBehind() async {
    let (queue, log) = (TaskQueue(), Log<String>())
    let later = noting("later", in: log)
    let group = GroupTask<TestError>(tasks: [later.map { $0 + 1 }])
    group.innerQueue.addBarrierBlock { log.append("barrier") }
    group.addTask(later)
    queue.addTask(group)
    #expect(await group.outcome() == .success)
    #expect(log.entries == ["later", "barrier"])
  }

  @Test("A timeout ends a group whose barrier runs, and the group is dropped: its queue goes on")
  func droppedWhileItsBarrierRuns() async {
    let (outer, clock) = (TaskQueue(maxConcurrentTaskCount: 1), ManualClock())
    let (begun, gate) = (Event(), Event())
    let other: Sample<Int> = succeeding(1)
    var group: GroupTask<TestError>?
    do {
      let member: Sample<Int> = succeeding(2)
      member.addDependency(other)
      group = GroupTask<TestError>(tasks: [member])
    }
    group?.addObserver(Observers.Timeout(.seconds(5), clock: clock))
    group?.innerQueue.addBarrierBlock {
      begun.signal()
      _ = gate.wait()
    }
    outer.addTask(group!)
    // The group gives its slot back, because its member needs this task.
    outer.addTask(other)
    #expect(await begun.opened())
    clock.advance(by: .seconds(5))
    _ = await group?.completion
    weak var dropped: GroupTask<TestError>?
    dropped = group
    group = nil
    #expect(await eventually { dropped == nil })
    gate.signal()
    await outer.finished()
    let ran = Event()
    outer.addBarrierBlock { ran.signal() }
    #expect(await ran.opened())
  }

  @Test("A group that is dropped before it begins: a barrier in its queue is cancelled")
  func barrierOfADroppedGroup() async {
    var group: GroupTask<TestError>? = GroupTask<TestError>(tasks: [succeeding(1) as Sample<Int>])
    let barrier = group?.innerQueue.run(barrier: true) { 1 }
    let behind = group?.innerQueue.run { 2 }
    group = nil
    _ = await barrier?.completion
    _ = await behind?.completion
    #expect(barrier?.isCancelled == true)
    #expect(behind?.isCancelled == true)
  }
}

/// Adds a barrier block to a queue when the first task is added.
private final class BarrierAtFirst: TaskQueueDelegate, @unchecked Sendable {
  // Sendable: the counters are.
  private let added = Counter()
  let ran = Counter()

  func taskQueue<T: ProducerTaskProtocol>(_ queue: TaskQueue, willAdd task: T) {
    if added.value > 0 { return }
    added.add()
    queue.addBarrierBlock { [ran] in ran.add() }
  }
}
