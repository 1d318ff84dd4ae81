import Foundation
import Futures
import OperationBridge
import TestSupport
import Testing
import TypedTasks

private enum Printer {}
private enum Scanner {}

/// Closures of tasks that block their slots, and wait for tasks that need them.
@Suite("Waiting in a closure that has a slot", .timeLimit(.minutes(5)), .oneAtATime)
struct SlotCycleTests {
  /// How often a wait was refused.
  private let refused = Counter()

  /// Waits in a closure, and counts the waits that are refused.
  ///
  /// (Bounded, in case a wait hangs.)
  private static func wait(for task: Sample<Int>, _ refused: Counter) {
    do {
      try task.wait(timeout: Event.patience)
    } catch ProperationsError.wouldDeadlock {
      refused.add()
    } catch ProperationsError.cycle {
      refused.add()
    } catch {}
  }

  /// A task that waits in its closure for another one, when all of them have begun.
  private func waiting(for task: Sample<Int>, _ all: Barrier) -> Sample<Int> {
    Sample { [refused] _, finish in
      all.meet()
      Self.wait(for: task, refused)
      finish(.success(1))
    }
  }

  /// Everything ends, and some of so many waits are refused.
  private func expectRefusal(
    of waits: Int, _ tasks: [Sample<Int>], sourceLocation: SourceLocation = #_sourceLocation
  ) async {
    for task in tasks {
      #expect(await task.outcome() == .success, sourceLocation: sourceLocation)
    }
    #expect((1...waits).contains(refused.value), sourceLocation: sourceLocation)
  }

  @Test(
    "Serial queues whose closures wait for each other's next tasks: one is refused",
    arguments: [2, 3])
  func crosswise(_ count: Int) async {
    let all = Barrier(count)
    let queues = (0..<count).map { TaskQueue(name: "\($0)", maxConcurrentTaskCount: 1) }
    let next = queues.map { _ in succeeding(1) as Sample<Int> }
    let first = queues.indices.map { waiting(for: next[($0 + 1) % count], all) }
    for (queue, task) in zip(queues, first) { queue.addTask(task) }
    for (queue, task) in zip(queues, next) { queue.addTask(task) }
    await expectRefusal(of: count, first + next)
  }

  @Test("The same, where the next tasks are added while the closures wait")
  func crosswiseLate() async {
    let all = Barrier(2)
    let queues = (0..<2).map { TaskQueue(name: "\($0)", maxConcurrentTaskCount: 1) }
    let next = queues.map { _ in succeeding(1) as Sample<Int> }
    let first = queues.indices.map { waiting(for: next[1 - $0], all) }
    for (queue, task) in zip(queues, first) { queue.addTask(task) }
    #expect(await eventually { first.allSatisfy(\.isExecuting) })
    for (queue, task) in zip(queues, next) { queue.addTask(task) }
    await expectRefusal(of: 2, first + next)
  }

  @Test(
    "Closures that fill a queue, each waiting for a task of its own there: one is refused",
    arguments: [1, 2, 4])
  func full(_ limit: Int) async {
    let all = Barrier(limit)
    let queue = TaskQueue(maxConcurrentTaskCount: limit)
    let next = (0..<limit).map { _ in succeeding(1) as Sample<Int> }
    let first = next.map { waiting(for: $0, all) }
    queue.addAll(first)
    queue.addAll(next)
    await expectRefusal(of: limit, first + next)
  }

  @Test(
    "The member of a group waits for a task that needs the slot of the group: it is refused",
    arguments: [1, 2])
  func member(_ depth: Int) async {
    let queue = TaskQueue(maxConcurrentTaskCount: 1)
    let next: Sample<Int> = succeeding(1)
    let member = waiting(for: next, Barrier(1))
    var group = GroupTask<TestError>(tasks: [member] as [any ProducerTaskProtocol])
    if depth == 2 { group = GroupTask(tasks: [group]) }
    queue.addTask(group)
    queue.addTask(next)
    await expectRefusal(of: 1, [member, next])
    #expect(await group.outcome() == .success)
  }

  @Test("Groups that fill a queue, their members waiting for a task of it: one is refused")
  func members() async {
    let queue = TaskQueue(maxConcurrentTaskCount: 2)
    let next: Sample<Int> = succeeding(1)
    let all = Barrier(2)
    let members = (0..<2).map { _ in waiting(for: next, all) }
    queue.addAll(members.map { GroupTask<TestError>(tasks: [$0]) })
    queue.addTask(next)
    await expectRefusal(of: 2, members + [next])
  }

  @Test("A slot against a category: one of two closures that wait for each other's is refused")
  func slotAndCategory() async {
    let (serial, queue) = (TaskQueue(maxConcurrentTaskCount: 1), TaskQueue())
    let needsCategory = exclusive(Printer.self)
    let needsSlot: Sample<Int> = succeeding(1)
    let all = Barrier(2)
    let hasSlot = waiting(for: needsCategory, all)
    let hasCategory = waiting(for: needsSlot, all)
    hasCategory.addCondition(Conditions.MutuallyExclusive(Printer.self))
    serial.addTask(hasSlot)
    queue.addTask(hasCategory)
    #expect(await eventually { hasSlot.isExecuting && hasCategory.isExecuting })
    serial.addTask(needsSlot)
    queue.addTask(needsCategory)
    await expectRefusal(of: 2, [hasSlot, hasCategory, needsCategory, needsSlot])
  }

  @Test("Closures of two categories that wait for tasks of each other's: one gets the cycle")
  func categories() async {
    let queue = TaskQueue()
    let (printing, scanning) = (exclusive(Printer.self), exclusive(Scanner.self))
    let all = Barrier(2)
    let (printer, scanner) = (waiting(for: scanning, all), waiting(for: printing, all))
    printer.addCondition(Conditions.MutuallyExclusive(Printer.self))
    scanner.addCondition(Conditions.MutuallyExclusive(Scanner.self))
    queue.addAll([printer, scanner])
    #expect(await eventually { printer.isExecuting && scanner.isExecuting })
    queue.addAll([printing, scanning])
    // (A task that closes the cycle later fails with it; a wait that does is refused.)
    for task in [printer, scanner] { #expect(await task.outcome() == .success) }
    _ = await (printing.outcome(), scanning.outcome())
    let isCircular = [printing, scanning].contains { $0.success == nil }
    #expect(refused.value > 0 || isCircular)
  }

  @Test("Two closures that wait for each other's tasks: one gets the cycle")
  func eachOther() async {
    let queue = TaskQueue()
    let box = Box<Sample<Int>?>(nil)
    let all = Barrier(2)
    let first = Sample<Int> { [refused] _, finish in
      all.meet()
      if let second = box.value { Self.wait(for: second, refused) }
      finish(.success(1))
    }
    let second = waiting(for: first, all)
    box.value = second
    queue.addAll([first, second])
    await expectRefusal(of: 2, [first, second])
    box.value = nil
  }

  // MARK: What is not refused

  @Test("A full queue, one closure of which waits for a promise: the other one gets its task")
  func wayOut() async {
    let queue = TaskQueue(maxConcurrentTaskCount: 2)
    let gate = Promise<Int>()
    let next: Sample<Int> = succeeding(1)
    let all = Barrier(3)
    let first = Sample<Int> { _, finish in
      all.meet()
      _ = try? gate.wait(timeout: Event.patience)
      finish(.success(1))
    }
    let second = waiting(for: next, all)
    queue.addAll([first, second, next])
    all.meet()
    // (Long enough for the second to look again and again.)
    #expect(!(await eventually(within: .milliseconds(100)) { refused.value > 0 }))
    gate.succeed(with: 1)
    for task in [first, second, next] { #expect(await task.outcome() == .success) }
    #expect(refused.value == 0)
  }

  @Test("Two serial queues, the closure of the second of which waits for a promise: both go on")
  func wayOutOfAnotherQueue() async {
    let (one, two) = (TaskQueue(maxConcurrentTaskCount: 1), TaskQueue(maxConcurrentTaskCount: 1))
    let gate = Promise<Int>()
    let next: Sample<Int> = succeeding(1)
    let all = Barrier(3)
    let first = waiting(for: next, all)
    let second = Sample<Int> { _, finish in
      all.meet()
      _ = try? gate.wait(timeout: Event.patience)
      finish(.success(1))
    }
    one.addTask(first)
    two.addAll([second, next])
    all.meet()
    #expect(!(await eventually(within: .milliseconds(100)) { refused.value > 0 }))
    gate.succeed(with: 1)
    for task in [first, second, next] { #expect(await task.outcome() == .success) }
    #expect(refused.value == 0)
  }

  @Test("The first of two tasks, one of which needs the slot of the closure that waits: the other")
  func race() async {
    let serial = TaskQueue(maxConcurrentTaskCount: 1)
    let needsSlot: Sample<Int> = succeeding(1)
    let manual = Manual<Int>()
    let race = Tasks.firstOf([needsSlot, manual] as [ProducerTask<Int, TestError>])
    let first = Sample<Int> { [refused] _, finish in
      do {
        finish(.success(try race.wait(timeout: Event.patience)))
      } catch {
        refused.add()
        finish(.success(0))
      }
    }
    serial.addTask(first)
    serial.addTask(needsSlot)
    TaskQueue().addTask(race)
    #expect(!(await eventually(within: .milliseconds(100)) { refused.value > 0 }))
    await manual.started.opened()
    manual.finish(with: .success(2))
    #expect(await first.outcome() == .success)
    #expect(first.success == 2)
    #expect(refused.value == 0)
  }

  @Test("A queue filled by a closure and a task that finishes later: the closure gets its task")
  func slotOfTaskThatFinishesLater() async {
    let queue = TaskQueue(maxConcurrentTaskCount: 2)
    let manual = Manual<Int>()
    let next: Sample<Int> = succeeding(1)
    let first = waiting(for: next, Barrier(1))
    queue.addTask(manual)
    queue.addAll([first, next])
    await manual.started.opened()
    #expect(!(await eventually(within: .milliseconds(100)) { refused.value > 0 }))
    manual.finish(with: .success(1))
    for task in [first, next] { #expect(await task.outcome() == .success) }
    #expect(refused.value == 0)
  }

  @Test("A closure that waits for queues which block each other gets its task when one is refused")
  func bystander() async {
    let all = Barrier(2)
    let queues = (0..<2).map { _ in TaskQueue(maxConcurrentTaskCount: 1) }
    let next = queues.map { _ in succeeding(1) as Sample<Int> }
    let first = queues.indices.map { waiting(for: next[1 - $0], all) }
    let refusals = Counter()
    let bystander = Sample<Int> { _, finish in
      Self.wait(for: next[0], refusals)
      finish(.success(1))
    }
    for (queue, task) in zip(queues, first) { queue.addTask(task) }
    for (queue, task) in zip(queues, next) { queue.addTask(task) }
    TaskQueue(maxConcurrentTaskCount: 1).addTask(bystander)
    await expectRefusal(of: 2, first + next)
    #expect(await bystander.outcome() == .success)
    #expect(refusals.value == 0)
  }

  @Test("A task finishes and then waits for itself in its own closure: its handlers have run")
  func waitInTheOwnClosure() async {
    let (log, handlers) = (Log<Int>(), Counter())
    let task = BlockProducerTask<Int, TestError> { task, finish in
      finish(.success(1))
      _ = try? task.wait(timeout: Event.patience)
      log.append(handlers.value)
    }
    task.receive(on: .inline) { _ in handlers.add() }
    TaskQueue().addTask(task)
    #expect(await eventually { log.entries == [1] })
  }
}
