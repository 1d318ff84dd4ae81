import Foundation
import Futures
import TestSupport
import Testing
import Workflows

@Suite("Names that have been replaced", .timeLimit(.minutes(5)), .oneAtATime)
struct DeprecatedNamesTests {
  @available(*, deprecated)
  @Test("run(on:) sets the context of a task")
  func context() async throws {
    let workflow = Workflow(name: "w")
    let queue = OperationQueue()
    let task = BlockWorkflowTask<Bool>(name: "task") { run in
      run.finish(with: OperationQueue.current === queue)
    }
    task.run(on: queue)
    try workflow.add(task)
    #expect(try await workflow.run().isFinished)
    #expect(task.result == true && task.operationQueue === queue)
  }

  @available(*, deprecated)
  @Test("OperationWorkflowTask(on:) runs the operation in the queue, in both forms")
  func operations() async throws {
    let workflow = Workflow(name: "w")
    let queue = OperationQueue()
    let seen = Counter()
    let first = OperationWorkflowTask<BlockOperation, Void>(name: "first", on: queue) { _ in
      BlockOperation { if OperationQueue.current === queue { seen.add() } }
    }
    let second = OperationWorkflowTask(name: "second", on: queue) { (_: TaskWork<Int>) in
      BlockOperation { if OperationQueue.current === queue { seen.add() } }
    } result: { operation in
      operation.isFinished ? 5 : 0
    }
    try workflow.add(first)
    try workflow.add(second)
    #expect(try await workflow.run().isFinished)
    #expect(seen.value == 2 && second.result == 5)
  }

  @available(*, deprecated)
  @Test("exponential(from:factor:cap:) is exponential(_:factor:maximum:)")
  func delays() {
    let policy = TaskRetryPolicy(
      attempts: 3, delay: .exponential(from: .seconds(1), factor: 2, cap: .seconds(3)),
      if: { _ in true })
    #expect(policy.attempts == 3)
  }
}
