import Foundation
import Futures
import TestSupport
import Testing
import TypedTasks

private enum Printer {}
private enum Scanner {}

/// A task of a category that executes until it is told to finish.
private func manual<Category>(_ category: Category.Type) -> Manual<Int> {
  let task = Manual<Int>()
  task.addCondition(Conditions.MutuallyExclusive(category))
  return task
}

/// The same, in a queue, when it executes.
private func holder<Category>(
  of category: Category.Type, in queue: TaskQueue
) async -> Manual<Int> {
  let task = manual(category)
  queue.addTask(task)
  await task.started.opened()
  return task
}

@Suite("Admission: slots, categories and barriers", .timeLimit(.minutes(5)), .oneAtATime)
struct AdmissionTests {
  // MARK: Barriers

  @Test("An operation added beside a barrier, with another barrier pending: both run")
  func operationBesideBarrier() async {
    struct Subject: Sendable {
      let queue = TaskQueue()
      let gate = Promise<Int>()
      let ran = Counter()
    }
    let stuck = Counter()
    let isOver = await RaceHarness(threads: 2, rounds: 300).run { _ in
      let subject = Subject()
      let front: Sample<Int> = succeeding(1)
      front.addDependency(subject.gate)
      subject.queue.addTask(front)
      subject.queue.addBarrierBlock { subject.ran.add() }
      return subject
    } act: { subject, thread in
      if thread == 0 {
        subject.queue.addOperation(BlockOperation { subject.ran.add() })
      } else {
        subject.queue.addBarrierBlock { subject.ran.add() }
      }
    } check: { subject, _ in
      subject.gate.succeed(with: 1)
      if stuck.value == 0, !eventuallyBlocking({ subject.ran.value == 3 }) {
        stuck.add()
      }
    }
    #expect(isOver)
    #expect(stuck.value == 0)
  }

  @Test("An operation that executes when a barrier is added has finished before it runs")
  func barrierWaitsForOperation() async {
    let queue = TaskQueue()
    let (started, goOn) = (Event(), Event())
    let log = Log<String>()
    queue.addOperation(
      BlockOperation {
        started.signal()
        goOn.wait()
        log.append("operation")
      })
    await started.opened()
    queue.addBarrierBlock { log.append("barrier") }
    let behind: Sample<Int> = succeeding(1)
    queue.addTask(behind)
    goOn.signal()
    #expect(await behind.outcome() == .success)
    #expect(log.entries == ["operation", "barrier"])
  }

  @Test(
    "A task behind a barrier takes its category when the barrier has run: one in front goes first",
    arguments: ["task", "stage", "flatMap", "dependency"])
  func categoryBehindBarrier(_ kind: String) async {
    let queue = TaskQueue()
    let gate = Promise<Int>()
    let front = exclusive(Printer.self)
    front.addDependency(gate)
    queue.addTask(front)
    queue.addBarrierBlock {}
    let behind: ProducerTask<Int, TestError> =
      switch kind {
      case "task": exclusive(Printer.self)
      case "dependency": exclusive(Printer.self).addDependency(gate)
      case "stage":
        succeeding(1).map { $0 }.addCondition(Conditions.MutuallyExclusive(Printer.self))
      default: succeeding(1).flatMap { _ in exclusive(Printer.self) }
      }
    queue.addTask(behind)
    gate.succeed(with: 1)
    #expect(await front.outcome() == .success)
    #expect(await behind.outcome() == .success)
  }

  @Test("A condition behind a barrier is asked when the barrier has run")
  func conditionBehindBarrier() async {
    let queue = TaskQueue()
    let log = Log<String>()
    let gate = Manual<Int>()
    queue.addTask(gate)
    queue.addBarrierBlock { log.append("barrier") }
    let behind: Sample<Int> = succeeding(1)
    behind.addCondition(
      BlockCondition { _ in
        log.append("asked")
        return true
      })
    queue.addTask(behind)
    await gate.started.opened()
    gate.finish(with: .success(1))
    #expect(await behind.outcome() == .success)
    #expect(log.entries == ["barrier", "asked"])
  }

  @Test("A slow condition does not block the thread that adds its task")
  func slowCondition() async {
    let queue = TaskQueue()
    let goOn = Event()
    let task: Sample<Int> = succeeding(1)
    task.addCondition(BlockCondition { _ in goOn.wait() })
    // (It would wait for itself here.)
    queue.addTask(task)
    goOn.signal()
    #expect(await task.outcome() == .success)
  }

  @Test("A barrier in the queue of a group that has not begun comes after the members before it")
  func barrierInGroup() async {
    let log = Log<String>()
    let group = GroupTask<TestError>(tasks: [
      Sample<Int> { _, finish in
        log.append("member")
        finish(.success(1))
      }
    ])
    group.innerQueue.addBarrierBlock { log.append("barrier") }
    TaskQueue().addTask(group)
    #expect(await group.outcome() == .success)
    #expect(await eventually { log.entries.count == 2 })
    #expect(log.entries == ["member", "barrier"])
  }

  // MARK: Categories and slots

  @Test("A task that waits for a slot holds no category: one in an idle queue runs")
  func categoryWithoutSlot() async {
    let (busy, idle) = (TaskQueue(maxConcurrentTaskCount: 1), TaskQueue())
    let blocker = Manual<Int>()
    let waiting = exclusive(Printer.self)
    busy.addAll([blocker, waiting])
    await blocker.started.opened()
    let other = exclusive(Printer.self)
    idle.addTask(other)
    #expect(await other.outcome() == .success)
    #expect(!waiting.isFinished)
    blocker.finish(with: .success(1))
    #expect(await waiting.outcome() == .success)
  }

  @Test("A task that waits in a suspended queue holds no category")
  func categoryInSuspendedQueue() async {
    let (suspended, queue) = (TaskQueue(startSuspended: true), TaskQueue())
    let waiting = exclusive(Printer.self)
    suspended.addTask(waiting)
    let other = exclusive(Printer.self)
    queue.addTask(other)
    #expect(await other.outcome() == .success)
    suspended.isSuspended = false
    #expect(await waiting.outcome() == .success)
  }

  @Test("A queue that is suspended when its task could take a category blocks no other queue")
  func suspendedAfterCategoryWasFree() async {
    let (first, second) = (TaskQueue(), TaskQueue())
    let holder = await holder(of: Printer.self, in: TaskQueue())
    let (a, b) = (exclusive(Printer.self), exclusive(Printer.self))
    first.addTask(a)
    second.addTask(b)
    first.isSuspended = true
    holder.finish(with: .success(1))
    #expect(await b.outcome() == .success)
    first.isSuspended = false
    #expect(await a.outcome() == .success)
  }

  @Test("Groups that fill all slots, members that need a category: all finish", arguments: [1, 4])
  func groupsAndCategory(_ limit: Int) async {
    let queue = TaskQueue(maxConcurrentTaskCount: limit)
    let gate = Promise<Int>()
    let groups = (0..<limit).map { _ in
      let member = exclusive(Printer.self)
      member.addDependency(gate)
      return GroupTask<TestError>(tasks: [member])
    }
    let others = (0..<limit).map { _ in exclusive(Printer.self) }
    queue.addAll(groups)
    queue.addAll(others)
    gate.succeed(with: 1)
    for group in groups { #expect(await group.outcome() == .success) }
    for other in others { #expect(await other.outcome() == .success) }
  }

  @Test("A task of two categories lets one pass that needs only the free one, and keeps its place")
  func twoCategories() async {
    let queue = TaskQueue()
    let holder = await holder(of: Printer.self, in: queue)
    let both = exclusive(Printer.self)
    both.addCondition(Conditions.MutuallyExclusive(Scanner.self))
    let later = exclusive(Scanner.self)
    queue.addAll([both, later])
    #expect(await later.outcome() == .success)
    #expect(!both.isFinished)
    let behind = exclusive(Printer.self)
    let order = Log<String>()
    both.receive { _ in order.append("both") }
    behind.receive { _ in order.append("behind") }
    queue.addTask(behind)
    holder.finish(with: .success(1))
    #expect(await both.outcome() == .success)
    #expect(await behind.outcome() == .success)
    #expect(order.entries == ["both", "behind"])
  }

  @Test("The one that waits for a category is cancelled: those behind it go on")
  func cancelledInLine() async {
    let queue = TaskQueue()
    let holder = await holder(of: Printer.self, in: queue)
    let (second, third) = (exclusive(Printer.self), exclusive(Printer.self))
    queue.addAll([second, third])
    second.cancel()
    #expect(await second.outcome() == .cancelled)
    holder.finish(with: .success(1))
    #expect(await third.outcome() == .success)
  }

  @Test("A member that needs the category of its group fails with the cycle")
  func groupOfItsMembersCategory() async {
    let member = exclusive(Printer.self)
    let group = GroupTask<TestError>(name: "group", tasks: [member])
    group.addCondition(Conditions.MutuallyExclusive(Printer.self))
    TaskQueue().addTask(group)
    guard case .cycle = await member.outcome() else {
      Issue.record("\(String(describing: member.produced))")
      return
    }
    _ = await group.outcome()
  }

  @Test("A dependency, a priority and a category that is given back come at once: both tasks run")
  func everythingAtOnce() async {
    struct Subject: Sendable {
      let queue = TaskQueue()
      let gate = Promise<Int>()
      let holder = manual(Printer.self)
      let runs = Counter()
      let waiting: Sample<Int>
      let next: Sample<Int>

      init() {
        func counted(_ runs: Counter) -> Sample<Int> {
          let task = Sample<Int> { _, finish in
            runs.add()
            finish(.success(1))
          }
          task.addCondition(Conditions.MutuallyExclusive(Printer.self))
          return task
        }
        waiting = counted(runs)
        next = counted(runs)
        queue.addAll([holder, waiting, next])
        holder.started.waitBlocking()
      }
    }
    let stuck = Counter()
    let isOver = await RaceHarness(threads: 4, rounds: 400).run { _ in
      Subject()
    } act: { subject, thread in
      switch thread {
      case 0: subject.holder.finish(with: .success(1))
      case 1: subject.waiting.addDependency(subject.gate)
      case 2: subject.waiting.queuePriority = .high
      default: subject.gate.succeed(with: 1)
      }
    } check: { subject, _ in
      let isDone = eventuallyBlocking {
        subject.waiting.isFinished && subject.next.isFinished
      }
      if !isDone || subject.runs.value != 2 { stuck.add() }
    }
    #expect(isOver)
    #expect(stuck.value == 0)
  }

  // MARK: Given back when the work has returned

  @Test("A timeout ends a task whose work goes on: the next of its category waits for `finish`")
  func timeoutKeepsCategory() async {
    let (queue, clock) = (TaskQueue(), ManualClock())
    let finishLater = Box<BlockProducerTask<Int, TestError>.Finish?>(nil)
    let first = Sample<Int> { _, finish in finishLater.value = finish }
    first.addCondition(Conditions.MutuallyExclusive(Printer.self))
    first.addObserver(Observers.Timeout(.milliseconds(10), clock: clock))
    let second = exclusive(Printer.self)
    queue.addAll([first, second])
    #expect(await eventually { finishLater.value != nil && clock.sleeping == 1 })
    clock.advance(by: .milliseconds(10))
    #expect(await first.outcome() == .timeout)
    let other = exclusive(Scanner.self)
    queue.addTask(other)
    #expect(await other.outcome() == .success)
    #expect(!second.isFinished)
    finishLater.value?(.success(1))
    finishLater.value = nil
    #expect(await second.outcome() == .success)
  }

  @Test("A timeout ends a task whose closure runs: the slot is free when the closure has returned")
  func timeoutKeepsSlot() async {
    let (queue, clock) = (TaskQueue(maxConcurrentTaskCount: 1), ManualClock())
    let goOn = Event()
    let running = Counter()
    let first = Sample<Int> { _, finish in
      running.add()
      goOn.wait()
      running.add(-1)
      finish(.success(1))
    }
    first.addObserver(Observers.Timeout(.milliseconds(10), clock: clock))
    let second = Sample<Int> { _, finish in
      running.add()
      running.add(-1)
      finish(.success(1))
    }
    queue.addAll([first, second])
    #expect(await eventually { running.value == 1 && clock.sleeping == 1 })
    clock.advance(by: .milliseconds(10))
    #expect(await first.outcome() == .timeout)
    #expect(!second.isFinished)
    goOn.signal()
    #expect(await second.outcome() == .success)
    #expect(running.highest == 1)
  }

  @Test("A stage is cancelled while its closure runs: its category is free when that returns")
  func cancelledStageKeepsCategory() async {
    let queue = TaskQueue()
    let (started, goOn) = (Event(), Event())
    let stage = succeeding(1).map { value in
      started.signal()
      goOn.wait()
      return value
    }.addCondition(Conditions.MutuallyExclusive(Printer.self))
    queue.addTask(stage)
    await started.opened()
    let second = exclusive(Printer.self)
    queue.addTask(second)
    stage.cancel()
    #expect(await stage.outcome() == .cancelled)
    let other = exclusive(Scanner.self)
    queue.addTask(other)
    #expect(await other.outcome() == .success)
    #expect(!second.isFinished)
    goOn.signal()
    #expect(await second.outcome() == .success)
  }

  @Test("A barrier waits for work that goes on after its task was ended by a timeout")
  func barrierWaitsForWork() async {
    let (queue, clock) = (TaskQueue(), ManualClock())
    let (begun, goOn) = (Event(), Event())
    let log = Log<String>()
    let first = Sample<Int> { _, finish in
      begun.signal()
      goOn.wait()
      log.append("work")
      finish(.success(1))
    }
    first.addObserver(Observers.Timeout(.milliseconds(10), clock: clock))
    queue.addTask(first)
    queue.addBarrierBlock { log.append("barrier") }
    #expect(await eventually { begun.isOpen && clock.sleeping == 1 })
    clock.advance(by: .milliseconds(10))
    #expect(await first.outcome() == .timeout)
    goOn.signal()
    await queue.finished()
    #expect(log.entries == ["work", "barrier"])
  }

  @Test("A group keeps its category while a member works on that was ended by a timeout")
  func groupKeepsCategoryForWork() async {
    let (queue, clock) = (TaskQueue(), ManualClock())
    let finishLater = Box<BlockProducerTask<Int, TestError>.Finish?>(nil)
    let member = Sample<Int> { _, finish in finishLater.value = finish }
    member.addObserver(Observers.Timeout(.milliseconds(5), clock: clock))
    let group = GroupTask<TestError>(tasks: [member])
    group.addCondition(Conditions.MutuallyExclusive(Printer.self))
    let second = exclusive(Printer.self)
    queue.addAll([group, second])
    #expect(await eventually { finishLater.value != nil && clock.sleeping == 1 })
    clock.advance(by: .milliseconds(5))
    #expect(await group.outcome() != nil)
    let other = exclusive(Scanner.self)
    queue.addTask(other)
    #expect(await other.outcome() == .success)
    #expect(!second.isFinished)
    finishLater.value = nil
    #expect(await second.outcome() == .success)
  }

  @Test("A timeout as short as the start of the work: no two tasks of a category work at once")
  func shortestTimeouts() async {
    let queue = TaskQueue()
    let working = Counter()
    var tasks: [any ProducerTaskProtocol] = []
    for round in 0..<300 {
      let task = Sample<Int> { _, finish in
        working.add()
        DispatchQueue.global().async {
          working.add(-1)
          finish(.success(1))
        }
      }
      task.addCondition(Conditions.MutuallyExclusive(Printer.self))
      task.addObserver(Observers.Timeout(.microseconds(round % 80)))
      tasks.append(task)
    }
    queue.addAll(tasks)
    await queue.finished()
    #expect(working.highest <= 1)
    #expect(working.value == 0)
  }

  @Test("A group with a barrier inside is cancelled, or times out: it ends, and its slot is free")
  func cancelledGroupWithBarrier() async {
    for isTimeout in [false, true] {
      let (queue, clock) = (TaskQueue(maxConcurrentTaskCount: 1), ManualClock())
      let member = Manual<Int>()
      let group = GroupTask<TestError>(tasks: [member])
      group.innerQueue.addBarrierBlock {}
      group.addTask(succeeding(1) as Sample<Int>)
      if isTimeout { group.addObserver(Observers.Timeout(.milliseconds(5), clock: clock)) }
      let next: Sample<Int> = succeeding(1)
      queue.addAll([group, next])
      await member.started.opened()
      if isTimeout {
        #expect(await eventually { clock.sleeping == 1 })
        clock.advance(by: .milliseconds(5))
      } else {
        group.cancel()
      }
      #expect(await eventually { member.isCancelled })
      member.finish(with: .failure(.internal(ProducerTaskError.cancelled)))
      _ = await group.completion
      #expect(await next.outcome() == .success)
    }
  }

  @Test("Tasks that are cancelled behind a barrier are released under no lock of the queue")
  func releasedBehindBarrier() async {
    final class Looking: ProducerTask<Int, TestError>, @unchecked Sendable {
      private let queue: TaskQueue
      init(_ queue: TaskQueue) {
        self.queue = queue
        super.init()
      }
      deinit { _ = queue.taskCount }
      override func execute() { finish(with: .success(1)) }
    }
    let queue = TaskQueue()
    let gate = Promise<Int>()
    let front: Sample<Int> = succeeding(1)
    front.addDependency(gate)
    queue.addTask(front)
    queue.addBarrierBlock {}
    for _ in 0..<300 {
      let task = Looking(queue)
      queue.addTask(task)
      task.cancel()
    }
    gate.succeed(with: 1)
    await queue.finished()
    #expect(queue.taskCount == 0)
  }

  // MARK: The operations of a queue

  #if os(Linux) || os(macOS)
    @Test("A task that a plain queue has, too, finishes in both")
    func taskInTwoQueues() async {
      await #expect(processExitsWith: .success) {
        let plain = OperationQueue()
        for isSuspended in [true, false] {
          plain.isSuspended = isSuspended
          for _ in 0..<50 {
            let queue = TaskQueue()
            let goOn = Event()
            let task = BlockProducerTask<Int, TestError> { _, finish in
              goOn.wait()
              finish(.success(1))
            }
            queue.addTask(task)
            plain.addOperation(task)
            goOn.signal()
            guard await eventually({ task.isFulfilled }) else { fatalError("it has no result") }
          }
          plain.isSuspended = false
          guard await eventually({ plain.operationCount == 0 }) else { fatalError("it stays") }
        }
      }
    }
  #endif

  @Test("Cancelling the operation that a queue shows for a task that waits for a slot cancels it")
  func cancelShownOperation() async {
    let queue = TaskQueue(startSuspended: true)
    let task: Sample<Int> = succeeding(1)
    queue.addTask(task)
    #expect(queue.operations.count == 1)
    queue.operations.first?.cancel()
    #expect(await task.outcome() == .cancelled)
    queue.isSuspended = false
  }

  @Test("A priority that is set while tasks wait for a slot counts", arguments: [1, 20])
  func latePriority(_ count: Int) async {
    let queue = TaskQueue(maxConcurrentTaskCount: 1)
    let blocker = Manual<Int>()
    queue.addTask(blocker)
    await blocker.started.opened()
    let log = Log<String>()
    func logged(_ name: String) -> Sample<Int> {
      Sample { _, finish in
        log.append(name)
        finish(.success(1))
      }
    }
    let tasks = (0..<count).map { _ in logged("normal") } + [logged("urgent")]
    queue.addAll(tasks)
    tasks.last?.queuePriority = .veryHigh
    blocker.finish(with: .success(1))
    await queue.finished()
    #expect(log.entries.first == "urgent")
  }
}

/// A task that gets no thread for half a second lets the next one pass, so no other test may
/// take the threads meanwhile.
@Suite("Admission in order", .timeLimit(.minutes(5)), .alone)
struct AdmissionOrderTests {
  @Test("Tasks of one category run in the order in which they were added, one at a time")
  func order() async {
    let queue = TaskQueue()
    let log = Log<Int>()
    let running = Counter()
    let tasks = (0..<200).map { number in
      let task = Sample<Int> { _, finish in
        running.add()
        log.append(number)
        running.add(-1)
        finish(.success(number))
      }
      task.addCondition(Conditions.MutuallyExclusive(Printer.self))
      return task
    }
    queue.addAll(tasks)
    for task in tasks { #expect(await task.outcome() == .success) }
    #expect(log.entries == Array(0..<200))
    #expect(running.highest == 1)
  }
}
