import Foundation
import Futures
import TestSupport
import Testing
import TypedTasks

@Suite("Conditions", .timeLimit(.minutes(5)), .oneAtATime)
struct ConditionTests {
  private let queue = TaskQueue()

  private func errors<O, F>(_ task: ProducerTask<O, F>) -> [TestError] {
    guard case .failure(.internal(let error)) = task.produced,
      case .conditionsFailure(let errors)? = error as? ProducerTaskError
    else { return [] }
    return errors.compactMap { $0 as? TestError }
  }

  @Test("52. A task runs if all conditions are met; otherwise it fails with all errors, in order")
  func all() async {
    let met = succeeding(1).addCondition(Conditions.Empty())
      .addCondition(BlockCondition { _ in true })
    #expect(met.conditions.count == 2)
    let log = Log<String>()
    let late = ManualCondition()
    let unmet = Manual<Int>().addCondition(late).addCondition(Conditions.Empty())
      .addCondition(Unmet(error: .second)).addObserver(Recorder(log))
    queue.addAll([met, unmet])
    await late.asked.opened()
    late.answer(.failure(.first))
    #expect(await met.outcome() == .success)
    #expect(await unmet.outcome() == .conditions)
    #expect(errors(unmet) == [.first, .second])
    #expect(unmet.executions.value == 0)
    #expect(log.entries == ["finish"])
  }

  @Test("53. Conditions are asked when all dependencies have finished")
  func afterDependencies() async {
    let log = Log<String>()
    let gate = Manual<Int>().receive { _ in log.append("gate") }
    let task = succeeding(1).addDependency(gate).addCondition(
      BlockCondition { _ in
        log.append("asked")
        return true
      })
    queue.addAll([task, gate])
    await gate.started.opened()
    #expect(log.entries == [])
    gate.finish(with: .success(1))
    #expect(await task.outcome() == .success)
    #expect(log.entries == ["gate", "asked"])
  }

  struct Prepared: TaskCondition {
    let log: Log<String>
    let task: NonFailTask
    func dependency<T: ProducerTaskProtocol>(for other: T) -> NonFailTask? { task }
    func evaluate<T: ProducerTaskProtocol>(
      for other: T, completion: @escaping @Sendable (Result<Void, Never>) -> Void
    ) {
      log.append(task.isFinished ? "asked" : "too early")
      completion(.success)
    }
  }

  @Test("54. What a condition depends on is enqueued and runs first, in the group too")
  func conditionDependency() async {
    for inGroup in [false, true] {
      let log = Log<String>()
      let prepare = NonFailBlockTask { _, finish in
        log.append("prepared")
        finish(.success)
      }
      let task = Sample<Int> { _, finish in
        log.append("task")
        finish(.success(1))
      }.addCondition(Prepared(log: log, task: prepare))
      if inGroup {
        let group = GroupTask<TestError>(tasks: [task])
        queue.addTask(group)
        #expect(await group.outcome() == .success)
      } else {
        queue.addTask(task)
        #expect(await task.outcome() == .success)
      }
      #expect(log.entries == ["prepared", "asked", "task"])
    }
  }

  @Test("54. A circle through a condition's dependency is found out")
  func conditionCycle() async {
    let prepare = NonFailBlockTask(name: "prepare") { _, finish in finish(.success) }
    let task = Sample<Int>(name: "task") { _, finish in finish(.success(1)) }
      .addCondition(Prepared(log: Log(), task: prepare))
    prepare.addDependency(task)
    queue.addTask(task)
    #expect(await prepare.outcome() == .cycle(["prepare", "task", "prepare"]))
    #expect(await task.outcome() == .success)
  }

  @Test("55. A second answer counts for nothing; without an answer the task can be cancelled")
  func answers() async {
    let condition = ManualCondition()
    let other = ManualCondition()
    let task = Manual<Int>().addCondition(condition).addCondition(other)
    queue.addTask(task)
    await condition.asked.opened()
    await other.asked.opened()
    condition.answer(.success)
    condition.answer(.success)
    condition.answer(.failure(.first))
    #expect(task.executions.value == 0)
    other.answer(.success)
    #expect(await task.started.opened())
    task.finish(with: .success(1))
    #expect(task.executions.value == 1)

    let silent = ManualCondition()
    let stuck = Manual<Int>().addCondition(silent)
    queue.addTask(stuck)
    await silent.asked.opened()
    stuck.cancel()
    #expect(stuck.kind == .cancelled)
    await queue.finished()
  }

  enum Category {}
  enum Other {}

  @Test("56. The conditions of the library can be made by anybody")
  func constructible() async {
    let task = succeeding(1).addConditions {
      Conditions.Empty()
      Conditions.MutuallyExclusive<Category>()
      Conditions.MutuallyExclusive(Other.self)
      Conditions.NoCancelledDependencies()
      Conditions.Silent(Conditions.Empty())
      Conditions.Negated(BlockCondition { _ in false })
      Conditions.Delay(.milliseconds(1))
      if queue.isSuspended { Unmet(error: .first) }
      for _ in 0..<2 { AnyCondition(Conditions.Empty()) }
    }
    #expect(task.conditions.count == 9)
    queue.addTask(task)
    #expect(await task.outcome() == .success)
  }

  @Test("57. Tasks of one category run one after the other, in order, across queues")
  func exclusion() async {
    let running = Counter()
    let log = Log<Int>()
    let queues = [TaskQueue(), TaskQueue(maxConcurrentTaskCount: 3), queue]
    let tasks = (0..<60).map { index in
      BlockTask<TestError> { _, finish in
        running.add()
        log.append(index)
        DispatchQueue.global().async {
          running.add(-1)
          finish(.success)
        }
      }.addCondition(Conditions.MutuallyExclusive<Category>())
    }
    for (index, task) in tasks.enumerated() { queues[index % 3].addTask(task) }
    for queue in queues { await queue.finished() }
    #expect(running.highest == 1)
    #expect(log.entries == Array(0..<60))
  }

  @Test(
    "57. Different categories are independent, one waits for all of its own, and none for a slot")
  func severalCategories() async {
    let serial = TaskQueue(maxConcurrentTaskCount: 1)
    let holder = Manual<Int>().addCondition(Conditions.MutuallyExclusive<Category>())
    let other = Manual<Int>().addCondition(Conditions.MutuallyExclusive<Other>())
    let both = Manual<Int>().addCondition(Conditions.MutuallyExclusive<Category>())
      .addCondition(Conditions.MutuallyExclusive<Other>())
    queue.addAll([holder, other])
    #expect(await holder.started.opened())
    #expect(await other.started.opened())
    serial.addTask(both)
    // It waits, and takes no slot.
    let free = succeeding(1)
    serial.addTask(free)
    #expect(await free.outcome() == .success)
    holder.finish(with: .success(1))
    #expect(both.executions.value == 0)
    other.finish(with: .success(1))
    #expect(await both.started.opened())
    both.finish(with: .success(1))
    // Two that want the same two, the other way round.
    let tasks = (0..<50).map { index in
      let task = succeeding(index)
      if index.isMultiple(of: 2) {
        task.addCondition(Conditions.MutuallyExclusive<Category>())
        task.addCondition(Conditions.MutuallyExclusive<Other>())
      } else {
        task.addCondition(Conditions.MutuallyExclusive<Other>())
        task.addCondition(Conditions.MutuallyExclusive<Category>())
      }
      return task
    }
    queue.addAll(tasks)
    await queue.finished()
    #expect(tasks.allSatisfy { $0.kind == .success })
  }

  enum One { enum Same {} }
  enum Two { enum Same {} }

  private func erased<C: TaskCondition>(_ condition: C) -> AnyCondition {
    AnyCondition(AnyCondition(condition))
  }

  @Test("58. A category is its type, survives erasure, and is free when its task has ended")
  func identity() async {
    let one = Manual<Int>().addCondition(erased(Conditions.MutuallyExclusive<One.Same>()))
    let two = Manual<Int>().addCondition(Conditions.MutuallyExclusive<Two.Same>())
    let again = Manual<Int>().addCondition(
      Conditions.Silent(erased(Conditions.MutuallyExclusive<One.Same>())))
    queue.addTask(one)
    #expect(await one.started.opened())
    queue.addAll([two, again])
    #expect(await two.started.opened())
    #expect(again.executions.value == 0)
    // Cancelled while it waits, failed, finished: all of them let go.
    let waiting = Manual<Int>().addCondition(Conditions.MutuallyExclusive<One.Same>())
    let last = Manual<Int>().addCondition(Conditions.MutuallyExclusive<One.Same>())
    queue.addAll([waiting, last])
    waiting.cancel()
    one.finish(with: .failure(.provided(.first)))
    #expect(await again.started.opened())
    again.cancel()
    again.finish(with: .failure(.internal(ProducerTaskError.cancelled)))
    #expect(await last.started.opened())
    last.finish(with: .success(1))
    two.finish(with: .success(1))
    // One that is never enqueued holds nothing; nor does a chain or a group.
    let idle = succeeding(1).addCondition(Conditions.MutuallyExclusive<Category>())
    let chain = idle.map { $0 }
    let group = GroupTask<TestError>(
      tasks: [succeeding(1).addCondition(Conditions.MutuallyExclusive<Category>())])
    let free = succeeding(1).addCondition(Conditions.MutuallyExclusive<Category>())
    queue.addTask(free)
    #expect(await free.outcome() == .success)
    withExtendedLifetime((idle, chain, group)) {}
  }

  @Test("58. A group and its own member in one category: the member says so, with the way round")
  func groupAndMember() async {
    let member = Manual<Int>(name: "member").addCondition(
      Conditions.MutuallyExclusive<Category>())
    let middle = GroupTask<TestError>(name: "middle", tasks: [member])
    let group = GroupTask<TestError>(name: "group", tasks: [middle]).addCondition(
      Conditions.MutuallyExclusive<Category>())
    queue.addTask(group)
    #expect(await member.outcome() == .cycle(["member", "group", "middle", "member"]))
    _ = await group.completion
    #expect(group.isFinished)
  }

  @Test("58. A category named twice by the conditions of one task is one")
  func categoryNamedTwice() async {
    let task = succeeding(1)
      .addCondition(Conditions.MutuallyExclusive<Category>())
      .addCondition(Conditions.MutuallyExclusive<Category>())
      .addCondition(Conditions.Silent(Conditions.MutuallyExclusive<Category>()))
    queue.addTask(task)
    #expect(await task.outcome() == .success)
  }

  @Test("A condition that answers twice has answered once")
  func secondAnswer() async {
    let (hasty, slow) = (ManualCondition(), ManualCondition())
    let task = succeeding(1).addCondition(hasty).addCondition(slow)
    queue.addTask(task)
    #expect(await hasty.asked.opened())
    #expect(await slow.asked.opened())
    hasty.answer(.success)
    hasty.answer(.failure(.first))
    #expect(task.kind == nil)
    slow.answer(.failure(.second))
    #expect(task.kind == .conditions)
  }

  @Test(
    "A condition that keeps its task is released when the task has ended, and the task with it",
    arguments: ["met", "unmet", "async", "negated", "cancelled", "cancelled in no queue"])
  func conditionThatKeepsItsTask(_ kind: String) async {
    let (tracker, gate) = (LifetimeTracker(), Promise<Int>())
    weak var weak: ProducerTask<Int, TestError>?
    do {
      let (task, object): (Sample<Int>, Tracked) = (succeeding(1), tracker.make())
      switch kind {
      case "async":
        task.addCondition(
          BlockCondition { _ in
            await Task.yield()
            object.touch()
            return !task.isFinished
          })
      case "negated":
        task.addCondition(
          Conditions.Negated(
            BlockCondition { _ in
              object.touch()
              return task.isFinished
            }))
      default:
        task.addCondition(
          BlockCondition { _ in
            object.touch()
            return kind == "met" && !task.isFinished
          })
      }
      if kind == "cancelled" { task.addDependency(gate) }
      if kind != "cancelled in no queue" { queue.addTask(task) }
      if kind.hasPrefix("cancelled") { task.cancel() }
      let isMet = ["met", "async", "negated"].contains(kind)
      #expect(
        await task.outcome()
          == (isMet ? .success : kind == "unmet" ? .conditions : .cancelled))
      weak = task
    }
    #expect(await eventually { weak == nil && tracker.alive == 0 })
    withExtendedLifetime(gate) {}
  }

  @Test("A cancelled task does not stay for the answer of a condition that keeps the question")
  func keptQuestion() async {
    let condition = ManualCondition()
    weak var task: ProducerTask<Int, TestError>?
    do {
      let asking = succeeding(1).addCondition(condition)
      queue.addTask(asking)
      #expect(await condition.asked.opened())
      asking.cancel()
      task = asking
    }
    #expect(await eventually { task == nil })
    // Too late.
    condition.answer(.success)
  }

  @Test("58. A task whose turn comes while it waits for one behind it in the line is passed")
  func lateDependencyInLine() async {
    func make(_ name: String) -> Manual<Int> {
      Manual<Int>(name: name).addCondition(Conditions.MutuallyExclusive<Category>())
    }
    let (first, middle, last) = (make("first"), make("middle"), make("last"))
    queue.addAll([first, middle])
    #expect(await first.started.opened())
    middle.addDependency(last)
    queue.addTask(last)
    // As long as the first executes, nobody is at fault.
    #expect(middle.kind == nil && last.kind == nil)
    first.finish(with: .success(1))
    #expect(await last.started.opened())
    #expect(middle.kind == nil)
    last.finish(with: .success(1))
    #expect(await middle.started.opened())
    middle.finish(with: .success(1))
  }

  @Test("59. A cancelled direct dependency is what NoCancelledDependencies minds")
  func noCancelledDependencies() async {
    let cancelled = Manual<Int>()
    cancelled.cancel()
    let failed = failing()
    let minds = Manual<Int>().addDependency(cancelled)
      .addCondition(Conditions.NoCancelledDependencies())
    let fine = succeeding(1).addDependency(failed)
      .addCondition(Conditions.NoCancelledDependencies())
    queue.addAll([failed, minds, fine])
    #expect(await minds.outcome() == .conditions)
    #expect(await fine.outcome() == .success)
  }

  @Test("60. Negated turns round and keeps the dependency, Silent suppresses it")
  func composition() async {
    let log = Log<String>()
    func prepare() -> NonFailTask {
      NonFailBlockTask { _, finish in
        log.append("prepared")
        finish(.success)
      }
    }
    let first = prepare()
    let negated = Manual<Int>().addCondition(
      Conditions.Negated(Prepared(log: log, task: first)))
    queue.addTask(negated)
    #expect(await negated.outcome() == .conditions)
    #expect(log.entries == ["prepared", "asked"])
    if case .failure(.internal(let error)) = negated.produced,
      case .conditionsFailure(let errors)? = error as? ProducerTaskError
    {
      #expect(
        errors.first as? Conditions.Negated<Prepared>.Error == .reverseFailure)
    }
    let second = prepare()
    let silent = succeeding(1).addCondition(
      Conditions.Silent(Prepared(log: log, task: second)))
    queue.addTask(silent)
    #expect(await silent.outcome() == .success)
    #expect(second.produced == nil)
    let turned = succeeding(1).addCondition(Conditions.Negated(Unmet(error: .first)))
    queue.addTask(turned)
    #expect(await turned.outcome() == .success)
  }

  @Test("61. Any condition can be erased; closures are conditions, and may throw or answer later")
  func blocks() async {
    let erased = failing().addCondition(AnyCondition(Unmet(error: .second)))
    let thrown = Manual<Int>().addCondition(BlockCondition { _ in throw TestError.first })
    let no = Manual<Int>().addCondition(BlockCondition(name: "space") { _ in false })
    let later = succeeding(1).addCondition(
      BlockCondition(evaluate: { _, completion in
        DispatchQueue.global().async { completion(.success) }
      }))
    queue.addAll([erased, thrown, no, later])
    #expect(await erased.outcome() == .conditions)
    #expect(errors(erased) == [.second])
    #expect(await thrown.outcome() == .conditions)
    #expect(errors(thrown) == [.first])
    #expect(await no.outcome() == .conditions)
    #expect(await later.outcome() == .success)
    #expect("\(no.anyErrorDescription)".contains("space"))
  }

  @Test("62. A condition that comes too late is an error of the task")
  func tooLate() async {
    let gate = Manual<Int>()
    let task = Manual<Int>().addDependency(gate)
    queue.addTask(task)
    task.addCondition(Conditions.Empty())
    #expect(await task.outcome() == .conditionTooLate)
    queue.addTask(gate)
    await gate.started.opened()
    gate.addCondition(Unmet(error: .first))
    gate.finish(with: .success(1))
    #expect(gate.success == 1)
  }

  @Test("A delay holds a task back without a slot, and ends with a cancellation")
  func delay() async {
    let (serial, clock) = (TaskQueue(maxConcurrentTaskCount: 1), ManualClock())
    let delayed = succeeding(1).addCondition(Conditions.Delay(.milliseconds(30), clock: clock))
    let free = succeeding(1)
    let cancelled = Manual<Int>().addCondition(Conditions.Delay(.seconds(1000)))
    serial.addAll([delayed, cancelled, free])
    #expect(await free.outcome() == .success)
    #expect(await eventually { clock.sleeping == 1 })
    clock.advance(by: .milliseconds(29))
    #expect(delayed.produced == nil)
    clock.advance(by: .milliseconds(1))
    #expect(await delayed.outcome() == .success)
    cancelled.cancel()
    await serial.finished()
  }
}

extension ProducerTask {
  var anyErrorDescription: String {
    guard case .failure(let error) = produced else { return "" }
    return error.errorDescription ?? ""
  }
}

@Suite("Observers", .timeLimit(.minutes(5)), .oneAtATime)
struct ObserverTests {
  private let queue = TaskQueue()

  @Test("63. Observers hear of each event as often as it happens, in the order they were added")
  func events() async {
    let log = Log<String>()
    let task = Sample<Int> { task, finish in
      task.produce(new: EmptyTask())
      task.produce(new: EmptyTask())
      task.cancel()
      finish(.success(1))
    }.addObserver(Recorder(log, "a ")).addObserver(Observers.Empty())
      .addObserver(Recorder(log, "b "))
    #expect(task.observers.count == 3)
    queue.addTask(task)
    _ = await task.completion
    #expect(
      log.entries == [
        "a start", "b start", "a produce", "b produce", "a produce", "b produce", "a cancel",
        "b cancel", "a finish", "b finish",
      ])
  }

  @Test("64. The start comes before the work, the end after the handlers, when it has finished")
  func order() async {
    let log = Log<String>()
    let task = Sample<Int> { _, finish in
      log.append("work")
      finish(.success(1))
    }.addObserver(Recorder(log)).receive { _ in log.append("handler") }
    queue.addTask(task)
    _ = await task.completion
    #expect(log.entries == ["start", "work", "handler", "finish"])
  }

  @Test("65. A timeout cancels and ends a task that is late, and nothing else")
  func timeout() async {
    let clock = ManualClock()
    let limit = Observers.Timeout(.milliseconds(20), clock: clock)
    let stubborn = Manual<Int>().addObserver(limit)
    let answering = Manual<Int>().addObserver(limit)
    answering.onCancellationRequest { [weak answering] in
      answering?.finish(with: .failure(.provided(.second)))
    }
    let asked = Manual<Int>().addObserver(
      Observers.Timeout(.milliseconds(20), endsTask: false, clock: clock))
    let quick = succeeding(1).addObserver(Observers.Timeout(.seconds(100)))
    queue.addAll([stubborn, answering, asked, quick])
    #expect(await quick.outcome() == .success)
    #expect(!quick.isCancelled)
    for task in [stubborn, answering, asked] { await task.started.opened() }
    #expect(await eventually { clock.sleeping == 3 })
    clock.advance(by: .milliseconds(20))
    #expect(await stubborn.outcome() == .timeout)
    #expect(stubborn.isCancelled)
    #expect(await answering.outcome() == .provided)
    #expect(await eventually { asked.isCancelled })
    #expect(!asked.isFinished)
    asked.finish(with: .success(1))
    let group = GroupTask<TestError>(tasks: [Manual<Int>()]).addObserver(
      Observers.Timeout(.milliseconds(20)))
    queue.addTask(group)
    #expect(await group.outcome() == .timeout)
  }

  @Test(
    "65. A timeout ends a stage that is late, too, and asks what it waits for to cancel",
    arguments: ["flatMap", "catch", "retry", "delay", "stubborn"])
  func timeoutOfStage(_ kind: String) async {
    let (inner, log, clock) = (Manual<Int>(), Log<String>(), ManualClock())
    let stage: ProducerTask<Int, TestError> =
      switch kind {
      case "flatMap": succeeding(1).flatMap { _ in inner }
      case "catch": failing().catch { _ in inner }
      case "retry": failing().retry(1) { _ in inner }
      case "delay": succeeding(1).delay(for: .seconds(1000))
      default: succeeding(1).flatMap { _ in inner }
      }
    stage.addObserver(Recorder(log))
    stage.addObserver(
      Observers.Timeout(.milliseconds(20), endsTask: kind != "stubborn", clock: clock))
    let below = stage.map { $0 }
    queue.addTask(below)
    if kind != "delay" { await inner.started.opened() }
    #expect(await eventually { clock.sleeping == 1 })
    clock.advance(by: .milliseconds(20))
    #expect(await below.outcome() == (kind == "stubborn" ? .cancelled : .timeout))
    #expect(stage.kind == below.kind)
    #expect(stage.isCancelled)
    #expect(log.entries == ["start", "cancel", "finish"])
    if kind != "delay" {
      #expect(await eventually { inner.isCancelled })
      inner.finish(with: .success(1))
    }
    await queue.finished()
  }

  @Test("65. A stage that is cancelled before its time is up ends as cancelled")
  func cancelledBeforeTimeout() async {
    let stage = succeeding(1).flatMap { _ in Manual<Int>() }
      .addObserver(Observers.Timeout(.seconds(1000)))
    queue.addTask(stage)
    stage.cancel()
    #expect(await stage.outcome() == .cancelled)
  }

  @Test("65. A timeout lets go of a task that has finished")
  func timeoutRelease() async {
    let observer = Observers.Timeout(.seconds(1000))
    weak var weak: Manual<Int>?
    do {
      let task = Manual<Int>().addObserver(observer)
      weak = task
      queue.addTask(task)
      await task.started.opened()
      task.finish(with: .success(1))
    }
    #expect(await eventually { weak == nil })
  }

  @Test("66. Closures can observe, and progress is counted")
  func blocks() async {
    let log = Log<String>()
    let task = Sample<Int> { task, finish in
      task.produce(new: EmptyTask())
      task.cancel()
      finish(.success(1))
    }.addObserver(
      BlockObserver(
        didStart: { _ in log.append("start") }, didProduce: { _, _ in log.append("produce") },
        didCancel: { _ in log.append("cancel") }, didFinish: { _ in log.append("finish") }))
    queue.addTask(task)
    _ = await task.completion
    #expect(log.entries == ["start", "produce", "cancel", "finish"])
    let steps = Counter()
    let progress = Observers.Progress(totalUnitCount: 20) { _, _ in steps.add() }
    queue.addAll((0..<20).map { succeeding($0).addObserver(progress) })
    await queue.finished()
    #expect(progress.progress.completedUnitCount == 20)
    #expect(progress.progress.isFinished)
    #expect(steps.value == 20)
  }
}
