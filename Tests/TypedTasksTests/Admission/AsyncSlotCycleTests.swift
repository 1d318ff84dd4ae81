import Foundation
import Futures
import TestSupport
import Testing
import TypedTasks

private typealias Awaiting = AsyncBlockProducerTask<Int, any Error>

/// Async tasks that await tasks which need the slots that the async tasks hold.
@Suite("Awaiting in an async task", .timeLimit(.minutes(5)), .oneAtATime)
struct AsyncSlotCycleTests {
  /// How often an await was refused.
  private let refused = Counter()
  /// The number of tasks that have begun.
  private let begun = Counter()

  /// A task that awaits another one, when so many have begun.
  private func awaiting(_ task: Sample<Int>, when count: Int) -> Awaiting {
    Awaiting { [refused, begun] _ in
      begun.add()
      #expect(await eventually { begun.value >= count })
      do {
        return try await task.value
      } catch ProperationsError.wouldDeadlock, ProperationsError.cycle {
        refused.add()
        return 0
      }
    }
  }

  private func expectRefusal(
    of awaits: Int, _ tasks: [Awaiting], _ next: [Sample<Int>]
  ) async {
    for task in tasks { #expect((await task.completion.successValue ?? 2) < 2) }
    for task in next { #expect(await task.outcome() == .success) }
    #expect((1...awaits).contains(refused.value))
  }

  @Test(
    "Serial queues whose tasks await each other's next tasks: one is refused", arguments: [1, 2, 3])
  func crosswise(_ count: Int) async {
    let queues = (0..<count).map { TaskQueue(name: "\($0)", maxConcurrentTaskCount: 1) }
    let next = queues.map { _ in succeeding(1) as Sample<Int> }
    let first = queues.indices.map { awaiting(next[($0 + 1) % count], when: count) }
    for (queue, task) in zip(queues, first) { queue.addTask(task) }
    for (queue, task) in zip(queues, next) { queue.addTask(task) }
    await expectRefusal(of: count, first, next)
  }

  @Test("Tasks that fill a queue, each awaiting a task of its own there: one is refused")
  func full() async {
    let queue = TaskQueue(maxConcurrentTaskCount: 3)
    let next = (0..<3).map { _ in succeeding(1) as Sample<Int> }
    let first = next.map { awaiting($0, when: 3) }
    for task in first { queue.addTask(task) }
    for task in next { queue.addTask(task) }
    await expectRefusal(of: 3, first, next)
  }

  @Test("An inline handler of an async task that waits for the slot of the task: refused")
  func handler() async {
    let queue = TaskQueue(maxConcurrentTaskCount: 1)
    let next = succeeding(1) as Sample<Int>
    let (gate, hasReturned) = (Event(), Event())
    let first = Awaiting { _ in
      #expect(await gate.opened())
      return 1
    }
    let handled = first.future.onSuccess(on: .inline) { [refused] _ in
      do {
        _ = try next.wait()
      } catch {
        if case .wouldDeadlock? = error as? ProperationsError { refused.add() }
      }
      hasReturned.signal()
    }
    queue.addTask(first)
    queue.addTask(next)
    gate.signal()
    #expect(await hasReturned.opened())
    #expect(refused.value == 1)
    #expect(await next.outcome() == .success)
    withExtendedLifetime(handled) {}
  }

  @Test("A task beside one that blocks its thread, each waiting for a third: one is refused")
  func besideBlockingTask() async {
    let queue = TaskQueue(maxConcurrentTaskCount: 2)
    let next: Sample<Int> = succeeding(1)
    let blocking = Sample<Int> { [refused, begun] _, finish in
      begun.add()
      do { _ = try next.waitAnywhere() } catch { refused.add() }
      finish(.success(1))
    }
    let first = awaiting(next, when: 2)
    queue.addTasks(blocking, first, next)
    await expectRefusal(of: 2, [first], [blocking, next])
  }

  @Test("The member of a group awaits a task that needs the slot of the group", arguments: [1, 2])
  func member(_ depth: Int) async {
    let queue = TaskQueue(maxConcurrentTaskCount: 1)
    let next: Sample<Int> = succeeding(1)
    let member = awaiting(next, when: 1)
    var group = GroupTask<any Error>(tasks: [member] as [any ProducerTaskProtocol])
    if depth == 2 { group = GroupTask(tasks: [group]) }
    queue.addTask(group)
    queue.addTask(next)
    await expectRefusal(of: 1, [member], [next])
    #expect(await group.outcome() == .success)
  }

  @Test("A task that awaits a task which depends on it: a cycle", arguments: [false, true])
  func dependent(isInPlainQueue: Bool) async {
    let next: Sample<Int> = succeeding(1)
    let first = awaiting(next, when: 2)
    next.addDependency(first)
    let queue = isInPlainQueue ? OperationQueue() : TaskQueue()
    queue.addOperation(first)
    queue.addOperation(next)
    // The first task awaits only now: of two that close a cycle, the later one is refused.
    begun.add()
    guard isInPlainQueue else { return await expectRefusal(of: 1, [first], [next]) }
    // A plain queue takes its tasks on another thread, so the second task may begin to wait
    // at the same time, or later: then it is refused, perhaps both are.
    let outcome = await next.outcome()
    switch outcome {
    case .success: #expect(await first.completion.successValue == 0)
    case .cycle: #expect(await first.completion.successValue != 1)
    default: Issue.record("\(String(describing: outcome))")
    }
  }

  // MARK: What is not refused

  @Test("A full queue, one task of which awaits a promise: the other one gets its task")
  func wayOut() async throws {
    let queue = TaskQueue(maxConcurrentTaskCount: 2)
    let gate = Promise<Int>()
    let next: Sample<Int> = succeeding(1)
    let other = Awaiting { [begun] _ in
      begun.add()
      return try await gate.value
    }
    let first = awaiting(next, when: 2)
    queue.addTasks(other, first, next)
    #expect(await eventually { begun.value == 2 })
    // (Long enough for several looks.)
    #expect(!(await eventually(within: .milliseconds(100)) { refused.value > 0 }))
    gate.succeed(with: 2)
    #expect(try await (other.value, first.value) == (2, 1))
    #expect(refused.value == 0)
  }

  @Test("A free slot, and tasks that the closure starts itself: no mistake")
  func freeSlot() async throws {
    let queue = TaskQueue(maxConcurrentTaskCount: 2)
    let outer = Awaiting { [queue] _ in
      let inner: Sample<Int> = succeeding(1)
      queue.addTask(inner)
      return try await inner.value
    }
    queue.addTask(outer)
    #expect(try await outer.value == 1)
  }
}
