import Foundation
import Futures
import TestSupport
import Testing
import TypedTasks

private typealias Sample = BlockProducerTask<Int, TestError>

private func sample() -> Sample { Sample { _, finish in finish(.success(1)) } }

/// A group that executes until it is asked to cancel, and holds a category.
private final class Holder: @unchecked Sendable {
  // Sendable: nothing changes after init.
  enum Category {}

  let group: GroupTask<TestError>
  let queue = TaskQueue()
  private let promise = Promise<Void>()

  init() {
    let first = sample().addDependency(promise)
    group = GroupTask(tasks: [first]).addCondition(.mutuallyExclusive(Category.self))
    queue.addTask(group)
    while !group.isExecuting { usleep(100) }
  }

  func end() {
    group.cancel()
    promise.fail(with: TestError.first)
  }
}

/// A search for a cycle reads no more than the smaller of its two ends.
@Suite(.enabled(if: isStressing && isFullSize), .timeLimit(.minutes(5)), .serialized)
struct GrowthOfCycleSearchesTests {
  private static let bound = 8.0

  @Test func `members are added to a group for whose category as many tasks wait`() async throws {
    let ratio = try await Growth.ratioOnSmallStack(below: Self.bound) { count in
      let (holder, gate) = (Holder(), Promise<Void>())
      for _ in 0..<count {
        holder.queue.addTask(sample().addCondition(.mutuallyExclusive(Holder.Category.self)))
      }
      let members = (0..<count).map { _ in sample().addDependency(gate) }
      return {
        for member in members { holder.group.addTask(member) }
        holder.queue.cancelAllTasks()
        withExtendedLifetime(gate) { holder.end() }
      }
    }
    #expect(ratio < Self.bound)
  }

  @Test func `tasks wait for the category of a group with as many members`() async throws {
    let ratio = try await Growth.ratioOnSmallStack(below: Self.bound) { count in
      let (holder, gate) = (Holder(), Promise<Void>())
      for _ in 0..<count { holder.group.addTask(sample().addDependency(gate)) }
      let tasks = (0..<count).map { _ in
        sample().addCondition(.mutuallyExclusive(Holder.Category.self))
      }
      return {
        for task in tasks { holder.queue.addTask(task) }
        holder.queue.cancelAllTasks()
        withExtendedLifetime(gate) { holder.end() }
      }
    }
    #expect(ratio < Self.bound)
  }
}
