import Foundation
import Futures
import TestSupport
import Testing
import TypedTasks

private enum Folder {}

@Suite("Tasks that exclude each other", .timeLimit(.minutes(5)), .oneAtATime)
struct MutualExclusionTests {
  private let queue = TaskQueue(maxConcurrentTaskCount: 4)

  @Test("tasks that have ended leave nothing behind in the table of categories")
  func noClaimsLeft() async throws {
    enum Category {}
    for _ in 0..<100 {
      let queue = TaskQueue()
      let late = EmptyTask()
      let chain = succeeding(1).flatMap { succeeding($0 + 1) }.map { $0 }
      let failed = failing().catch { _ in succeeding(2) }.retry(1) { _ in succeeding(3) }
      let waiting = succeeding(4).addDependency(late)
      let group = GroupTask<TestError>(tasks: [])
      group.addTask(succeeding(5).addCondition(Conditions.MutuallyExclusive(Category.self)))
      let consumed = Sample<Int> { _, finish in finish(.success(6)) }
      let consumer = BlockConsumerProducerTask<Int, Int, TestError>(producing: consumed) {
        _, consumed, finish in finish(consumed)
      }
      for task: AnyFuture in [chain, failed, waiting, group, late, consumer, consumed] {
        queue.addOperation(task)
      }
      for task in [chain, failed, waiting, consumer] { _ = try await task.value }
      try await group.value
      // Never run.
      let dropped = succeeding(7)
      dropped.addDependency(EmptyTask())
      GroupTask<TestError>(tasks: []).addTask(succeeding(8))
    }
    #expect(await eventually { noCategoryIsClaimed() })
  }

  @Test("57. Tasks of one type exclude each other only for the same key")
  func keys() async {
    let (a, b, other) = (Manual<Int>(), Manual<Int>(), Manual<Int>())
    let plain = Manual<Int>()
    a.addCondition(Conditions.MutuallyExclusive(Folder.self, key: "x"))
    b.addCondition(AnyCondition(Conditions.MutuallyExclusive(Folder.self, key: "x")))
    other.addCondition(Conditions.MutuallyExclusive(Folder.self, key: "y"))
    plain.addCondition(Conditions.MutuallyExclusive(Folder.self))
    for task in [a, b, other, plain] { queue.addTask(task) }
    for task in [a, other, plain] { #expect(await task.started.opened()) }
    #expect(!b.isExecuting)
    a.finish(with: .success(1))
    #expect(await b.started.opened())
    for task in [b, other, plain] { task.finish(with: .success(1)) }
  }

  @Test("58. Categories are told apart by type and key, and say which they are")
  func categories() {
    #expect(TaskCategory(Folder.self, key: "x") == TaskCategory(Folder.self, key: "x"))
    #expect(TaskCategory(Folder.self, key: "x") != TaskCategory(Folder.self, key: "y"))
    #expect(TaskCategory(Folder.self, key: "x") != TaskCategory(Folder.self))
    #expect(TaskCategory(Folder.self, key: "x") != TaskCategory(Int.self, key: "x"))
    #expect(TaskCategory(Folder.self, key: "x").description == "Folder(x)")
    #expect(TaskCategory(Folder.self).description == "Folder")
  }
}
