import Foundation
import Futures
import TestSupport
import Testing
import TypedTasks

@Suite("What a second reading of typed tasks found", .timeLimit(.minutes(5)), .oneAtATime)
struct FindingsOfSecondReadingTests {
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

  @Test("A member's handler runs in the group's queue, in which a barrier waits: all end in order")
  func handlerAndBarrier() async {
    let (queue, log, gate, end) = (TaskQueue(), Log<String>(), Event(), Event())
    let member = BlockProducerTask<Void, Never> { _ in _ = gate.wait() }
    member.receive(on: queue) { _ in log.append("handler") }
    let group = GroupProducerTask<Void, Never>(tasks: [member])
    queue.addTask(group)
    queue.addBarrierBlock {
      log.append("barrier")
      end.signal()
    }
    gate.signal()
    #expect(await group.outcome() == .success)
    #expect(await end.opened())
    #expect(log.entries == ["handler", "barrier"])
  }

  private struct Needs: TaskCondition {
    let task: NonFailTask
    func dependency<T: ProducerTaskProtocol>(for task: T) -> NonFailTask? { self.task }
    func evaluate<T: ProducerTaskProtocol>(
      for task: T, completion: @escaping @Sendable (Result<Void, Never>) -> Void
    ) { completion(.success(())) }
  }

  @Test("A condition needs another task, the task is in a queue of Foundation: both run")
  func conditionInPlainQueue() async {
    let (queue, needed) = (OperationQueue(), EmptyTask())
    let task = BlockProducerTask<Int, Never> { _ in 1 }
    task.addCondition(Needs(task: needed))
    queue.addOperation(task)
    #expect(await task.outcome() == .success)
    #expect(needed.isFinished)
  }

  @Test("A flatMap is cancelled in its closure, another operator wants the task: it goes on")
  func sharedInnerTask() async {
    let (queue, started, go) = (TaskQueue(), Event(), Event())
    let shared = BlockProducerTask<Int, Never> { _ in 5 }.eraseToProducerTask()
    let other = shared.map { $0 + 1 }
    let cancelled = BlockProducerTask<Int, Never> { _ in 1 }
      .flatMap { _ -> ProducerTask<Int, Never> in
        started.signal()
        _ = go.wait()
        return shared
      }
    queue.addTask(cancelled)
    #expect(await started.opened())
    cancelled.cancel()
    go.signal()
    #expect(await eventually { queue.operationCount == 0 })
    queue.addTask(other)
    #expect(await other.outcome() == .success)
    #expect(other.success == 6)
  }

  @Test("Handlers of one context, some with the context and some without: run in their order")
  func orderOfHandlers() async {
    let serial = DispatchQueue(label: "serial")
    let log = Log<Int>()
    let first = BlockProducerTask<Int, Never> { _ in 1 }
    first.receive(on: .inline) { _ in log.append(1) }
    first.receive { _ in log.append(2) }
    TaskQueue().addTask(first)
    #expect(await first.outcome() == .success)
    #expect(await eventually { log.count == 2 })
    let second = BlockProducerTask<Int, Never> { _ in 1 }.receive(on: serial)
    second.receive(on: serial) { _ in log.append(3) }
    second.receive { _ in log.append(4) }
    TaskQueue().addTask(second)
    #expect(await second.outcome() == .success)
    #expect(await eventually { log.count == 4 })
    #expect(log.entries == [1, 2, 3, 4])
  }

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

  private final class Telling: GroupProducerTask<Void, Never>, @unchecked Sendable {
    // Sendable: adds only a log, which never changes.
    let log = Log<String>()
    override func taskDidFinish<T: ProducerTaskProtocol>(_ task: T) { log.append(task.name ?? "") }
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

  private final class Rejections: TaskQueueDelegate {
    let count = Counter()
    func taskQueue<T: ProducerTaskProtocol>(
      _ queue: TaskQueue, didReject task: T, error: ProducerTaskError
    ) { count.add() }
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

  @Test(
    "A running task waits for a barrier, or for what is behind it: throws with any number of slots",
    arguments: [1, 3, OperationQueue.defaultMaxConcurrentOperationCount], [false, true])
  func behindBarrier(limit: Int, isInGroup: Bool) async throws {
    for waitsForBarrier in [false, true] {
      let queue = TaskQueue(maxConcurrentTaskCount: limit)
      let (begun, target) = (Event(), Promise<Future<Int>>())
      let task = BlockProducerTask<String, Never> { _ in
        begun.signal()
        do {
          return "\(try target.wait().wait())"
        } catch {
          return "\(error)"
        }
      }
      if isInGroup {
        queue.addTask(GroupProducerTask<Void, Never>(tasks: [task]))
      } else {
        queue.addTask(task)
      }
      #expect(await begun.opened())
      let barrier = queue.run(barrier: true) { () async in 2 }
      let behind = BlockProducerTask<Int, Never> { _ in 1 }
      queue.addTask(behind)
      target.succeed(with: waitsForBarrier ? barrier : behind)
      #expect(await task.outcome() == .success)
      #expect(try #require(task.success).contains("wouldDeadlock"))
      #expect(try await barrier.value == 2)
      #expect(await behind.outcome() == .success)
    }
  }

  @Test("An async task awaits what is behind a barrier of its queue: throws")
  func awaitsBehindBarrier() async throws {
    let (queue, target) = (TaskQueue(), Promise<Future<Int>>())
    let begun = Event()
    let task = AsyncBlockProducerTask<String, Never> { _ in
      begun.signal()
      do {
        return "\(try await target.value.value)"
      } catch {
        return "\(error)"
      }
    }
    queue.addTask(task)
    #expect(await begun.opened())
    let barrier = queue.run(barrier: true) { () async in 2 }
    target.succeed(with: barrier)
    #expect(await task.outcome() == .success)
    #expect(try #require(task.success).contains("wouldDeadlock"))
    #expect(try await barrier.value == 2)
  }
}
