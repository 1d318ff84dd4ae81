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

  // MARK: Barriers

  enum Addition: CaseIterable, Sendable {
    case task, block, operation, future, member, barrier
  }

  @Test(
    "A barrier is added before the group begins, and then something else: that runs after it",
    arguments: Addition.allCases)
  func behindABarrier(_ addition: Addition) async {
    let (log, before) = (Log<String>(), Manual<Int>())
    let group = GroupTask<TestError>(tasks: [before])
    group.innerQueue.addBarrierBlock { log.append("barrier") }
    switch addition {
    case .task: group.innerQueue.addTask(noting("behind", in: log))
    case .block: group.innerQueue.addBlock { log.append("behind") }
    case .operation:
      group.innerQueue.addOperation(BlockOperation { log.append("behind") })
    case .future: _ = group.innerQueue.run { log.append("behind") }
    case .member: group.addTask(noting("behind", in: log))
    case .barrier: group.innerQueue.addBarrierBlock { log.append("behind") }
    }
    queue.addTask(group)
    #expect(await before.started.opened())
    #expect(log.entries.isEmpty)
    log.append("before")
    before.finish(with: .success(1))
    #expect(await group.outcome() == .success)
    #expect(log.entries == ["before", "barrier", "behind"])
  }

  @Test("A group with a barrier is cancelled before it begins: all behind the barrier ends")
  func cancelledBehindABarrier() async {
    let (task, operation) = (Manual<Int>(), BlockOperation { Issue.record("it ran") })
    let group = GroupTask<TestError>(tasks: [succeeding(1)])
    group.innerQueue.addBarrierBlock { Issue.record("the barrier ran") }
    group.innerQueue.addTask(task)
    group.innerQueue.addOperation(operation)
    let future = group.innerQueue.run { Issue.record("the closure ran") }
    group.cancel()
    #expect(await task.outcome() == .cancelled)
    _ = await future.completion
    #expect(future.isCancelled)
    #expect(await eventually { operation.isFinished })
    #expect(operation.isCancelled)
  }

  @Test("A task behind a barrier is added twice: the delegate is told, and the task runs once")
  func addedTwiceBehindABarrier() async {
    let task = Manual<Int>()
    let group = GroupTask<TestError>(tasks: [])
    let delegate = Delegate()
    group.innerQueue.delegate = delegate
    group.innerQueue.addBarrierBlock {}
    group.innerQueue.addTask(task)
    group.innerQueue.addTask(task)
    queue.addTask(group)
    #expect(await task.started.opened())
    task.finish(with: .success(1))
    #expect(await group.outcome() == .success)
    #expect(delegate.log.entries == ["add", "reject", "finish"])
    #expect(task.executions.value == 1)
  }

  // MARK: Operations

  @Test("A block waits when the last member ends: the group ends after it")
  func blockAtTheEnd() async {
    let (log, first) = (Log<String>(), Manual<Int>())
    let group = GroupTask<TestError>(tasks: [first])
    group.innerQueue.maxConcurrentTaskCount = 1
    queue.addTask(group)
    #expect(await first.started.opened())
    group.innerQueue.addBlock { log.append("block") }
    first.finish(with: .success(1))
    #expect(await group.outcome() == .success)
    #expect(log.entries == ["block"])
  }

  @Test("A group is cancelled before it begins: handlers that wait for its queue run")
  func handlersInTheQueue() async {
    let (task, received) = (succeeding(1), Event())
    let inner = GroupTask<TestError>(tasks: [succeeding(2)])
    let outer = GroupTask<TestError>(tasks: [inner])
    task.receive(on: inner.innerQueue).receive { _ in received.signal() }
    queue.addTask(task)
    #expect(await task.outcome() == .success)
    #expect(!received.isOpen)
    outer.cancel()
    #expect(await inner.outcome() == .cancelled)
    #expect(await received.opened(within: .seconds(10)))
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
}
