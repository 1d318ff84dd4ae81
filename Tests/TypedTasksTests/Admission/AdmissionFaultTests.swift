import Foundation
import Futures
import TestSupport
import Testing
import TypedTasks

private enum Printer {}

@Suite("What a reading of the admission of tasks found", .timeLimit(.minutes(5)), .oneAtATime)
struct AdmissionFaultTests {
  // MARK: The place in the line of a category

  @Test("A task of a category that gets several slots at once, because of its priority, runs")
  func slotsAtOnce() async {
    struct Subject: Sendable {
      let queue = TaskQueue(startSuspended: true)
      let task = exclusive(Printer.self)
    }
    let stuck = Counter()
    let isOver = await RaceHarness(threads: 1, rounds: 4_000).run { _ in
      let subject = Subject()
      subject.queue.addTask(subject.task)
      subject.task.queuePriority = .high
      subject.task.queuePriority = .veryHigh
      return subject
    } act: { subject, _ in
      subject.queue.isSuspended = false
    } check: { subject, _ in
      let isDone = { subject.task.isFinished }
      if stuck.value == 0, !eventuallyBlocking(isDone) { stuck.add() }
      subject.task.cancel()
    }
    #expect(isOver)
    #expect(stuck.value == 0)
  }

  @Test("A task of a plain queue, given a category on another thread, holds no other task up")
  func categoryOfForeignTask() async {
    let (queue, plain, gate) = (TaskQueue(), OperationQueue(), Promise<Int>())
    let (finish, hasRun) = (Box<Sample<Int>.Finish?>(nil), Event())
    let holder = Sample<Int> { _, end in finish.value = end }
    holder.addCondition(Conditions.MutuallyExclusive(Printer.self))
    holder.addCondition(Conditions.MutuallyExclusive(Printer.self, key: "other"))
    let foreign = Sample<Int> { _, end in
      end(hasRun.wait() ? .success(1) : .failure(.provided(.first)))
    }
    foreign.addCondition(Conditions.MutuallyExclusive(Printer.self))
    let next = Sample<Int> { _, end in
      hasRun.signal()
      end(.success(1))
    }
    next.addCondition(Conditions.MutuallyExclusive(Printer.self, key: "other"))
    // The queue starts it, and it has something to wait for again.
    plain.isSuspended = true
    plain.addOperation(foreign)
    #expect(await eventually { foreign.isReady })
    foreign.addDependency(gate)
    plain.isSuspended = false
    #expect(await eventually { !foreign.isReady })
    queue.addTask(holder)
    #expect(await eventually { finish.value != nil })
    gate.succeed(with: 1)
    queue.addTask(next)
    await Task.detached {
      finish.value?(.success(1))
      finish.value = nil
    }.value
    #expect(await foreign.outcome() == .success)
  }

  // MARK: Work that goes on

  @Test("A task that is finished before its block begins keeps its category until the block ends")
  func finishedBeforeBlock() async {
    let (queue, other) = (TaskQueue(), TaskQueue(maxConcurrentTaskCount: 1))
    let finish = Box<Sample<Int>.Finish?>(nil)
    let (isConcluding, mayConclude) = (Event(), Event())
    let task = Sample<Int> { _, end in finish.value = end }
    task.addCondition(Conditions.MutuallyExclusive(Printer.self))
    task.receive { _ in
      isConcluding.signal()
      mayConclude.waitBlocking()
    }
    task.addObserver(
      BlockObserver(didStart: { _ in
        Thread { task.finish(with: .success(1)) }.start()
        isConcluding.waitBlocking()
      }))
    queue.addTask(task)
    #expect(await eventually { finish.value != nil && hasReturned(task) })
    let next = exclusive(Printer.self)
    other.addTask(next)
    mayConclude.signal()
    #expect(await task.outcome() == .success)
    let last = succeeding(1)
    other.addTask(last)
    #expect(await last.outcome() == .success)
    #expect(!next.isFinished)
    finish.value?(.success(2))
    finish.value = nil
    #expect(await next.outcome() == .success)
  }

  // MARK: Groups

  @Test("A group that is cancelled with a barrier in its queue ends")
  func cancelledGroupWithBarrier() async {
    let member = Manual<Int>()
    let group = GroupTask<TestError>(tasks: [member])
    member.onCancellationRequest { [weak member] in
      member?.finish(with: .failure(.internal(ProducerTaskError.cancelled)))
    }
    let ran = Counter()
    group.innerQueue.addBarrierBlock { ran.add() }
    TaskQueue().addTask(group)
    await member.started.opened()
    group.cancel()
    #expect(await eventually { group.isFinished })
    #expect(group.kind == .cancelled)
    #expect(ran.value == 0)
  }

  @Test("A group ends although the queue of a member's handlers was cancelled")
  func cancelledHandlers() async {
    let handlers = OperationQueue()
    handlers.isSuspended = true
    let member = succeeding(1).receive(on: handlers).receive { _ in }
    let group = GroupTask<TestError>(tasks: [member])
    TaskQueue().addTask(group)
    #expect(await member.outcome() == .success)
    handlers.cancelAllOperations()
    handlers.isSuspended = false
    #expect(await eventually { group.isFinished })
  }

  @Test("A group gives its category back when a member is added just as the last one ends")
  func memberAtTheEnd() async {
    let stuck = Counter()
    let isOver = await RaceHarness(threads: 2, rounds: 4_000).run { _ in
      let (queue, member, late) = (TaskQueue(), Manual<Int>(), EmptyTask())
      let group = GroupTask<TestError>(tasks: [member])
      group.addCondition(Conditions.MutuallyExclusive(Printer.self))
      // (The conclusion of the group mostly comes after the end of the late member.)
      group.receive { _ in for _ in 0..<2_000 where !late.isFinished {} }
      queue.addTask(group)
      member.started.waitBlocking()
      return (queue, member, group, late)
    } act: { subject, thread in
      if thread == 0 {
        subject.1.finish(with: .success(1))
      } else {
        for _ in 0..<Int.random(in: 0..<60) { _ = subject.0.taskCount }
        subject.2.addTask(subject.3)
      }
    } check: { subject, _ in
      let next = exclusive(Printer.self)
      subject.0.addTask(next)
      if stuck.value == 0, !eventuallyBlocking({ next.isFinished }) {
        stuck.add()
      }
      next.cancel()
    }
    #expect(isOver)
    #expect(stuck.value == 0)
  }

  // MARK: Dependencies

  /// A task that gets a dependency when it is put in a queue.
  private final class Preparing: ProducerTask<Int, TestError>, @unchecked Sendable {
    // Sendable: adds nothing that changes.
    let gate = Promise<Int>()
    override func willEnqueue() { addDependency(gate) }
    override func execute() { finish(with: .success(1)) }
  }

  @Test("A dependency that was added in `willEnqueue` and is taken back holds the task up no more")
  func removedDependencyOfPreparation() async {
    let task = Preparing()
    TaskQueue().addTask(task)
    task.removeDependency(task.gate as Operation)
    #expect(await eventually { task.isFinished })
  }

  @Test("A dependency that is taken back while its task is put in a queue holds it up no more")
  func removedDependencyWhileEnqueued() async {
    struct Subject: Sendable {
      let queue = TaskQueue()
      let gates = (0..<20).map { _ in Promise<Int>() }
      let task = succeeding(1)
    }
    let stuck = Counter()
    let isOver = await RaceHarness(threads: 2, rounds: 2_000).run { _ in
      let subject = Subject()
      subject.task.addDependencies(subject.gates)
      return subject
    } act: { subject, thread in
      if thread == 0 {
        subject.queue.addTask(subject.task)
      } else {
        for gate in subject.gates.reversed() { subject.task.removeDependency(gate as Operation) }
      }
    } check: { subject, _ in
      if stuck.value == 0, !eventuallyBlocking({ subject.task.isFinished }) {
        stuck.add()
      }
      subject.task.cancel()
    }
    #expect(isOver)
    #expect(stuck.value == 0)
  }

  // MARK: Barriers

  #if os(Linux) || os(macOS)
    @Test("Tasks that were cancelled behind a barrier and dropped are released outside of any lock")
    func droppedBehindBarrier() async {
      await #expect(processExitsWith: .success) {
        let queue = TaskQueue()
        let running = Manual<Int>()
        queue.addTask(running)
        await running.started.opened()
        queue.addBarrierBlock {}
        for _ in 0..<200 {
          let task = succeeding(1)
          queue.addTask(task)
          task.cancel()
        }
        running.finish(with: .success(1))
        await queue.finished()
      }
    }
  #endif
}
