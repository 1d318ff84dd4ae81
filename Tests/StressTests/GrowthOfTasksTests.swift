import Foundation
import Futures
import TestSupport
import Testing
import TypedTasks

private enum Held {}

/// Adding tasks takes time in proportion to their number, whatever else the process does.
@Suite(.enabled(if: isStressing && isFullSize), .timeLimit(.minutes(3)), .serialized)
struct GrowthOfTasksTests {
  private static let bound = 8.0

  private typealias Sample = BlockProducerTask<Int, TestError>

  private static func sample() -> Sample { Sample { _, finish in finish(.success(1)) } }

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
    return try await SmallStackThread.running(within: .seconds(150)) {
      Growth.ratio(from: 64, below: bound, of: body)
    }
  }

  @Test func `tasks added behind a pending promise`() async throws {
    let ratio = try await Self.ratio { count in
      let (queue, gate) = (TaskQueue(), Promise<Void>())
      let tasks = (0..<count).map { _ in Self.sample() }
      return {
        for task in tasks {
          task.addDependency(gate)
          queue.addTask(task)
        }
        queue.cancelAllTasks()
      }
    }
    #expect(ratio < Self.bound)
  }

  @Test func `tasks added behind a task that is in no queue`() async throws {
    let ratio = try await Self.ratio { count in
      let (queue, gate) = (TaskQueue(), Self.sample())
      let tasks = (0..<count).map { _ in Self.sample() }
      return {
        for task in tasks {
          task.addDependency(gate)
          queue.addTask(task)
        }
        queue.cancelAllTasks()
      }
    }
    #expect(ratio < Self.bound)
  }

  @Test func `tasks in a row, each behind the one before`() async throws {
    let ratio = try await Self.ratio { count in
      let (queue, gate) = (TaskQueue(), Promise<Void>())
      let tasks = (0..<count).map { _ in Self.sample() }
      return {
        tasks[0].addDependency(gate)
        for (task, last) in zip(tasks.dropFirst(), tasks) { task.addDependency(last) }
        for task in tasks { queue.addTask(task) }
        queue.cancelAllTasks()
      }
    }
    #expect(ratio < Self.bound)
  }

  @Test func `tasks in a row, added from the far end`() async throws {
    let ratio = try await Self.ratio { count in
      let (queue, gate) = (TaskQueue(), Promise<Void>())
      let tasks = (0..<count).map { _ in Self.sample() }
      return {
        tasks[0].addDependency(gate)
        for (task, last) in zip(tasks.dropFirst(), tasks) { task.addDependency(last) }
        for task in tasks.reversed() { queue.addTask(task) }
        queue.cancelAllTasks()
      }
    }
    #expect(ratio < Self.bound)
  }

  @Test func `stages that go on with another task, behind a pending promise`() async throws {
    let ratio = try await Self.ratio { count in
      let (queue, gate) = (TaskQueue(), Promise<Void>())
      let stages = (0..<count).map { _ in
        Self.sample().addDependency(gate).flatMap { _ in Self.sample() }
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
      let members = (0..<count).map { _ in Self.sample() }
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
        let task = Self.sample()
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

  @Test func `tasks that wait for one category, and are cancelled`() async throws {
    let ratio = try await Self.ratio { count in
      let queue = TaskQueue()
      let tasks = (0..<count).map { _ in
        Self.sample().addCondition(Conditions.MutuallyExclusive(Held.self))
      }
      return {
        for task in tasks { queue.addTask(task) }
        queue.cancelAllTasks()
      }
    }
    #expect(ratio < Self.bound)
  }

  @Test func `queues made and suspended while tasks of many categories ask for slots`() async throws
  {
    let ratio = try await Self.ratio { count in
      let suspended = TaskQueue(startSuspended: true)
      let tasks = (0..<count).map { number in
        Self.sample().addCondition(Conditions.MutuallyExclusive(Held.self, key: "\(number)"))
      }
      return {
        for task in tasks { suspended.addTask(task) }
        for _ in 0..<count { TaskQueue(maxConcurrentTasks: 1).isSuspended = true }
        suspended.cancelAllTasks()
      }
    }
    #expect(ratio < Self.bound)
  }

  @Test func `tasks added behind a barrier`() async throws {
    let ratio = try await Self.ratio { count in
      let (queue, gate) = (TaskQueue(), Promise<Void>())
      let front = Self.sample().addDependency(gate)
      let tasks = (0..<count).map { _ in Self.sample() }
      return {
        queue.addTask(front)
        queue.addBarrierBlock {}
        for task in tasks { queue.addTask(task) }
        queue.cancelAllTasks()
      }
    }
    #expect(ratio < Self.bound)
  }
}
