import Foundation
import Futures
import TestSupport
import Testing
import TypedTasks

@Suite("Explanations of tasks", .timeLimit(.minutes(5)), .oneAtATime)
struct TaskExplanationTests {
  @Test("A task that depends on a promise leads to the promise")
  func dependency() async throws {
    let queue = TaskQueue()
    let promise = Promise<Int>()
    let task = BlockProducerTask<Int, any Error> { _, finish in finish(.success(1)) }
    task.addDependency(promise)
    queue.addTask(task)
    let explanation = task.explain()
    #expect(explanation.roots.map { explanation.steps[$0].createdAt } == [promise.createdAt])
    promise.succeed(with: 1)
    #expect(try await task.value == 1)
  }

  @Test("A task in no queue, and one in a suspended queue, say so")
  func queues() async throws {
    let queue = TaskQueue()
    queue.name = "held"
    queue.isSuspended = true
    let task = BlockProducerTask<Int, any Error> { _, finish in finish(.success(1)) }
    #expect(task.explain().steps.first?.reasons.map(\.kind) == [.notStarted])
    queue.addTask(task)
    #expect(await eventually { task.explain().steps.first?.reasons.map(\.kind) == [.queue] })
    #expect(task.debugTree.contains("\"held\", which is suspended"))
    queue.isSuspended = false
    #expect(try await task.value == 1)
  }
}
