import Foundation
import Futures
import TestSupport
import Testing
import TypedTasks

private enum Held {}
private enum Own {}

private typealias Sample = BlockProducerTask<Int, TestError>

private func sample() -> Sample { Sample { _, finish in finish(.success(1)) } }

/// Adding tasks takes time in proportion to their number, whatever else the process does.
@Suite(.enabled(if: isStressing && isFullSize), .timeLimit(.minutes(5)), .serialized)
struct GrowthOfTasksTests {
  private static let bound = 8.0

  /// How something grows while a task waits for a category that another one holds, and
  /// one has got a dependency since it was added.
  private static func ratio(_ body: @escaping @Sendable (Int) -> () -> Void) async throws -> Double
  {
    let queue = TaskQueue()
    let holding = Event()
    let finish = Box<Sample.Finish?>(nil)
    let holder = Sample { _, end in
      finish.value = end
      holding.signal()
    }
    holder.addCondition(Conditions.MutuallyExclusive(Held.self))
    let waiting = sample()
    waiting.addCondition(Conditions.MutuallyExclusive(Held.self))
    let late = sample()
    queue.addTask(holder)
    queue.addTask(waiting)
    queue.addTask(late)
    late.addDependency(waiting)
    await holding.opened()
    defer {
      finish.value?(.success(1))
      finish.value = nil
    }
    return try await Growth.ratioOnSmallStack(below: bound, of: body)
  }

  /// What never comes.
  enum Gate: CaseIterable, Sendable {
    case promise, taskInNoQueue

    func make() -> AnyFuture {
      switch self {
      case .promise: Promise<Void>()
      case .taskInNoQueue: sample()
      }
    }
  }

  @Test(arguments: Gate.allCases)
  func `tasks added behind what does not come`(_ gate: Gate) async throws {
    let ratio = try await Self.ratio { count in
      let (queue, gate) = (TaskQueue(), gate.make())
      let tasks = (0..<count).map { _ in sample() }
      return {
        for task in tasks {
          task.addDependencies([gate])
          queue.addTask(task)
        }
        queue.cancelAllTasks()
      }
    }
    #expect(ratio < Self.bound)
  }

  @Test(arguments: [false, true])
  func `tasks in a row, each behind the one before`(_ isFromFarEnd: Bool) async throws {
    let ratio = try await Self.ratio { count in
      let (queue, gate) = (TaskQueue(), Promise<Void>())
      let tasks = (0..<count).map { _ in sample() }
      return {
        tasks[0].addDependency(gate)
        for (task, last) in zip(tasks.dropFirst(), tasks) { task.addDependency(last) }
        queue.addTasks(isFromFarEnd ? tasks.reversed() : tasks)
        queue.cancelAllTasks()
      }
    }
    #expect(ratio < Self.bound)
  }

  @Test func `stages that go on with another task, behind a pending promise`() async throws {
    let ratio = try await Self.ratio { count in
      let (queue, gate) = (TaskQueue(), Promise<Void>())
      let stages = (0..<count).map { _ in
        sample().addDependency(gate).flatMap { _ in sample() }
      }
      return {
        for stage in stages { queue.addTask(stage) }
        queue.cancelAllTasks()
      }
    }
    #expect(ratio < Self.bound)
  }

  @Test func `members of a group that waits`() async throws {
    let ratio = try await Self.ratio { count in
      let (queue, gate) = (TaskQueue(), Promise<Void>())
      let members = (0..<count).map { _ in sample() }
      return {
        let group = GroupTask<TestError>(tasks: [])
        group.addDependency(gate)
        queue.addTask(group)
        for member in members { group.addTask(member) }
        group.cancel()
      }
    }
    #expect(ratio < Self.bound)
  }

  @Test func `dependencies of one task, added and removed`() async throws {
    let ratio = try await Self.ratio { count in
      let (queue, gate) = (TaskQueue(), Promise<Void>())
      let promises = (0..<count).map { _ in Promise<Void>() }
      return {
        let task = sample()
        task.addDependency(gate)
        queue.addTask(task)
        for promise in promises { task.addDependency(promise) }
        for promise in promises { task.removeDependency(promise) }
        task.cancel()
        for promise in promises { promise.cancel() }
      }
    }
    #expect(ratio < Self.bound)
  }

  @Test func `dependencies of one task for which a stage waits`() async throws {
    let ratio = try await Self.ratio { count in
      let (queue, gate) = (TaskQueue(), Promise<Void>())
      let promises = (0..<count).map { _ in Promise<Void>() }
      return {
        let task = sample()
        task.addDependency(gate)
        let stage = task.map { $0 }
        queue.addTask(stage)
        for promise in promises { task.addDependency(promise) }
        task.cancel()
        for promise in promises { promise.cancel() }
      }
    }
    #expect(ratio < Self.bound)
  }

  @Test func `members that run elsewhere, added to a group for which a stage waits`() async throws {
    let ratio = try await Self.ratio { count in
      let (queue, other, gate) = (TaskQueue(), TaskQueue(), Promise<Void>())
      let group = GroupTask<TestError>(tasks: [sample().addDependency(gate)])
      let stage = group.map { _ in 1 }
      queue.addTask(stage)
      precondition(eventuallyBlocking { group.isExecuting })
      let members = (0..<count).map { _ in sample().addDependency(gate) }
      for member in members { other.addTask(member) }
      return {
        for member in members { group.addTask(member) }
        group.cancel()
        other.cancelAllTasks()
      }
    }
    #expect(ratio < Self.bound)
  }

  @Test func `members in a row, added to a group for which as many tasks wait`() async throws {
    let ratio = try await Self.ratio { count in
      let (queue, gate) = (TaskQueue(), Promise<Void>())
      var last = sample().addDependency(gate)
      let group = GroupTask<TestError>(tasks: [last])
      queue.addTask(group)
      for _ in 0..<count { queue.addTask(sample().addDependency(group)) }
      precondition(eventuallyBlocking { group.isExecuting })
      return {
        for _ in 0..<count {
          let member = sample().addDependency(last)
          group.addTask(member)
          last = member
        }
        group.cancel()
      }
    }
    #expect(ratio < Self.bound)
  }

  @Test func `members in a row, each behind a promise too, of a group with the only slot`()
    async throws
  {
    let ratio = try await Self.ratio { count in
      let (queue, gate) = (TaskQueue(maxConcurrentTaskCount: 1), Promise<Void>())
      var last = sample().addDependency(gate)
      let group = GroupTask<TestError>(tasks: [last])
      queue.addTask(group)
      precondition(eventuallyBlocking { group.isExecuting })
      let promises = (0..<count).map { _ in Promise<Void>() }
      return {
        for promise in promises {
          let member = sample().addDependency(last).addDependency(promise)
          group.addTask(member)
          last = member
        }
        group.cancel()
      }
    }
    #expect(ratio < Self.bound)
  }

  @Test func `tasks for which others wait, beside as many groups that wait`() async throws {
    let ratio = try await Self.ratio { count in
      let (queue, gate) = (TaskQueue(), Promise<Void>())
      let groups = (0..<count).map { _ in
        GroupTask<TestError>(tasks: [sample().addDependency(gate)])
      }
      for group in groups { queue.addTask(group) }
      precondition(eventuallyBlocking { groups.allSatisfy(\.isExecuting) })
      let stages = (0..<count).map { _ in sample().map { $0 } }
      return {
        for stage in stages { queue.addTask(stage) }
        queue.cancelAllTasks()
      }
    }
    #expect(ratio < Self.bound)
  }

  @Test func `tasks that wait for one category, and are cancelled`() async throws {
    let ratio = try await Self.ratio { count in
      let queue = TaskQueue()
      let tasks = (0..<count).map { _ in
        sample().addCondition(Conditions.MutuallyExclusive(Held.self))
      }
      return {
        for task in tasks { queue.addTask(task) }
        queue.cancelAllTasks()
      }
    }
    #expect(ratio < Self.bound)
  }

  @Test func `tasks that wait for one category, and are cancelled in any order`() async throws {
    let ratio = try await Growth.ratioOnSmallStack(from: 8_192, below: 6) { count in
      let queue = TaskQueue(startSuspended: true)
      let tasks = (0..<count).map { _ in
        sample().addCondition(Conditions.MutuallyExclusive(Own.self))
      }
      for task in tasks { queue.addTask(task) }
      var generator = SeededGenerator(seed: 1)
      let shuffled = tasks.shuffled(using: &generator)
      return { for task in shuffled { task.cancel() } }
    }
    #expect(ratio < 6)
  }

  @Test func `tasks of one category behind tasks that also wait for one that stays held`()
    async throws
  {
    enum Free {}
    let ratio = try await Self.ratio { count in
      let queue = TaskQueue(startSuspended: true)
      let both = (0..<count).map { _ in
        sample().addCondition(Conditions.MutuallyExclusive(Free.self))
          .addCondition(Conditions.MutuallyExclusive(Held.self))
      }
      let free = (0..<count).map { _ in
        sample().addCondition(Conditions.MutuallyExclusive(Free.self))
      }
      return {
        for task in both + free { queue.addTask(task) }
        for task in free + both { task.cancel() }
      }
    }
    #expect(ratio < Self.bound)
  }

  @Test func `queues made and suspended while tasks of many categories ask for slots`() async throws
  {
    let ratio = try await Self.ratio { count in
      let suspended = TaskQueue(startSuspended: true)
      let tasks = (0..<count).map { number in
        sample().addCondition(Conditions.MutuallyExclusive(Held.self, key: "\(number)"))
      }
      return {
        for task in tasks { suspended.addTask(task) }
        for _ in 0..<count { TaskQueue(maxConcurrentTaskCount: 1).isSuspended = true }
        suspended.cancelAllTasks()
      }
    }
    #expect(ratio < Self.bound)
  }

  @Test func `looks at who holds the slots of a queue, and at what its barriers hold back`()
    async throws
  {
    let ratio = try await Self.ratio { count in
      let (queue, gate) = (TaskQueue(maxConcurrentTaskCount: 1), Promise<Void>())
      for _ in 0..<count { queue.addTask(sample().addDependency(gate)) }
      queue.addBarrierBlock {}
      let behind = (0..<count).map { _ in sample() }
      for task in behind { queue.addTask(task) }
      return {
        let isHeldBack = behind.allSatisfy { task in
          _ = (queue.slotHolders, queue.futuresHeldByBarriers)
          return queue.hasBarriers && queue.holdsBack(task)
        }
        #expect(isHeldBack)
        withExtendedLifetime(gate) { queue.cancelAllTasks() }
      }
    }
    #expect(ratio < Self.bound)
  }

  @Test func `members whose handlers wait for a queue, beside those that wait for another`()
    async throws
  {
    let ratio = try await Self.ratio { count in
      let (first, second) = (SteppedQueue(), SteppedQueue())
      let members = (0..<count * 2).map { number in
        sample().receive(on: number < count ? first : second).receive { _ in }
      }
      let group = GroupProducerTask<Void, TestError>(tasks: members)
      let queue = TaskQueue()
      queue.addTask(group)
      while first.waiting < count || second.waiting < count { usleep(100) }
      return {
        first.run()
        second.run()
      }
    }
    #expect(ratio < Self.bound)
  }

  @Test func `tasks added behind a barrier`() async throws {
    let ratio = try await Self.ratio { count in
      let (queue, gate) = (TaskQueue(), Promise<Void>())
      let front = sample().addDependency(gate)
      let tasks = (0..<count).map { _ in sample() }
      return {
        queue.addTask(front)
        queue.addBarrierBlock {}
        for task in tasks { queue.addTask(task) }
        queue.cancelAllTasks()
      }
    }
    #expect(ratio < Self.bound)
  }

  @Test func `barriers of a suspended queue`() async throws {
    let ratio = try await Self.ratio { count in
      let queue = TaskQueue(startSuspended: true)
      return {
        for _ in 0..<(count * 8) { queue.addBarrierBlock {} }
        queue.cancelAllTasks()
        queue.isSuspended = false
      }
    }
    #expect(ratio < Self.bound)
  }

  @Test func `operators and groups of one category, each with a task inside`() async throws {
    let ratio = try await Self.ratio { count in
      let queue = TaskQueue(startSuspended: true)
      let operators = (0..<count).map { _ in
        sample().flatMap { _ in sample() }.addCondition(Conditions.MutuallyExclusive(Own.self))
      }
      let groups = (0..<count).map { _ in
        GroupProducerTask<Void, Never>(tasks: [sample().map { $0 }])
          .addCondition(Conditions.MutuallyExclusive(Own.self))
      }
      let end = sample().addDependencies(operators + groups)
      return {
        for task in operators { queue.addTask(task) }
        for task in groups { queue.addTask(task) }
        queue.addTask(end)
        queue.isSuspended = false
        _ = try? end.wait()
      }
    }
    #expect(ratio < Self.bound)
  }
}

/// A queue that runs what it has when the caller says so, on the calling thread.
private final class SteppedQueue: OperationQueue, @unchecked Sendable {
  // Sendable: `steps` has a lock.
  private let steps = TestLock<[Operation]>([])

  var waiting: Int { steps.withLock { $0.count } }

  override func addOperation(_ operation: Operation) { steps.withLock { $0.append(operation) } }

  func run() {
    let all = steps.withLock { steps in
      defer { steps = [] }
      return steps
    }
    for step in all { step.start() }
  }
}
